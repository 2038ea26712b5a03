"""How much each feature moved one decision: one row of a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.results import html, tables, text
from illume.results.decided import DecidedRow
from illume.results.numbers import short
from illume.results.refinement import AGREED, NOT_FAITHFUL, REFINED
from illume.results.trust import Trust

if TYPE_CHECKING:
    from illume.results.attributions import Attributions

SURE = 1.96  # standard errors


class Line(NamedTuple):
    """One feature of one row: its name, its value as text, its contribution and standard error, or NaN."""

    name: str
    value: str
    contribution: float
    standard_error: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(DecidedRow):
    """How much each feature moved one decision: a view of one row of a batch."""

    batch: Attributions

    @property
    def values(self) -> FloatArray:
        """Contributions, (n_features,) or (n_features, n_classes)."""
        return self.batch.values[0]

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the contributions, shaped like `values`."""
        return self.batch.standard_errors[0]

    @property
    def base_value(self) -> FloatArray:
        """The mean log-odds of the background rows (`pullback`: the surrogate's of the average row)."""
        return self.batch.base_values[0]

    @property
    def score(self) -> FloatArray:
        """The explained log-odds, the model's (`pullback`: the surrogate's): a number, or one per class."""
        return self.batch.scores[0]

    @property
    def slopes(self) -> FloatArray:
        """What one scaled unit more of an input would add."""
        return self.batch.slopes[0]

    @property
    def slopes_per_unit(self) -> FloatArray:
        """What one original unit more of an input would add."""
        return self.batch.slopes_per_unit[0]

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The row itself."""
        return self.batch.data[0]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of `values`."""
        return self.batch.feature_names

    @property
    def status(self) -> str:
        """`agreed`, `refined` or `not faithful`."""
        return str(self.batch.refinement.status[0])

    @property
    def verdict(self) -> str:
        """How the surrogate stands to the black box, in a word or two."""
        if self.batch.kind == "shapley":  # whatever the surrogate decides, contributions are the model's
            return "agrees" if self.agreed else "decides otherwise"
        words = {AGREED: "agrees", REFINED: "disagreed, refined", NOT_FAITHFUL: "DISAGREES"}
        return words[self.status]

    @property
    def imputed(self) -> tuple[str, ...]:
        """The features whose value was missing and filled with the mean."""
        return tuple(self.feature_names[j] for j in np.flatnonzero(self.batch.imputed[0]))

    @property
    def trust(self) -> Trust:
        """How the surrogate did on the held-out rows around this one, and how far off contributions are."""
        return self.batch.trust[0]

    @property
    def outside(self) -> bool:
        """Whether the row is outside of what the explainer was fitted on."""
        return bool(self.batch.outside[0])

    @property
    def outside_reasons(self) -> tuple[str, ...]:
        """Why it is: features with values not seen while fitting, or far from all fitted rows."""
        return self.batch.novelty.reasons()

    @property
    def output(self) -> int:
        """Which output to read first: the only one, or that of the decided class."""
        return 0 if self.batch.values.ndim == 2 else int(self.batch.decisions[0])

    @property
    def output_name(self) -> str:
        """The name of that output."""
        return self.batch.output_names[self.output]

    def position(self, output: int | str | None = None) -> int:
        """Return the position of an output, given by its name or position; by default `output`."""
        return self.output if output is None else self.batch.output(output)

    def contributions(self, output: int | str | None = None) -> FloatArray:
        """Contributions to an output, by default to `output_name`, (n_features,)."""
        return self.batch.contributions(self.position(output))[0]

    def errors(self, output: int | str | None = None) -> FloatArray:
        """Return standard errors of `contributions(output)`, (n_features,); NaN where not known."""
        errors = self.standard_errors
        return errors if errors.ndim == 1 else errors[:, self.position(output)]

    def sure(self, output: int | str | None = None) -> BoolArray:
        """Return of which contributions the sign is sure, beyond 1.96 standard errors, (n_features,)."""
        return np.abs(self.contributions(output)) > SURE * self.errors(output)

    def lines(self, n_features: int, output: int | str | None = None) -> list[Line]:
        """Return the strongest features with value and contribution, and the rest in one line.

        With the base value, the contributions of all lines add up to the score.
        """
        i = self.position(output)
        top = self.top(n_features, i)
        errors = top.errors(i)
        shown = zip(top.feature_names, map(short, top.data), top.contributions(i), errors, strict=True)
        lines = [Line(*line) for line in shown]
        offset = float(np.ravel(self.batch.offset[0])[i])
        if offset:
            lines.append(Line("offset of the refinement", "", offset))
        others, rest = len(self.values) - len(top.values), float(np.ravel(top.batch.rest[0])[i])
        if others or rest:
            lines.append(Line(f"{others} other features" if others else "left out", "", rest))
        return lines

    def top(self, n_features: int, output: int | str | None = None) -> Attribution:
        """Keep the features that moved the decision most, or another output, strongest first."""
        order = np.argsort(-np.abs(self.contributions(output)), kind="stable")[:n_features]
        return Attribution(self.batch._features(order))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return tables.row_dict(self)

    def style(self, n: int = 10) -> Any:
        """Return a styled pandas table: a line per feature, the n strongest, with coloured bars."""
        from illume.results import styles

        return styles.attribution(self, n)

    def to_shap(self, offset: str = "base") -> Any:
        """Return a one-row `shap.Explanation` of the decided class, as `shap.plots.waterfall` wants it."""
        return self.batch.to_shap(self.output, offset)[0]

    def __repr__(self) -> str:
        return text.row(self)

    def _repr_html_(self) -> str:
        return html.row(self)

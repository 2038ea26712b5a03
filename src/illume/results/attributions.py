"""Additive feature attributions of a batch of rows, and of one row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.frames import Origin
from illume.data.number_outputs import TOLERANCE
from illume.data.number_text import count
from illume.results import frames, interop, styles, text
from illume.results.diagnostics import Calibration, ClassAgreement, Residuals, calibration, class_agreement
from illume.results.display import Table
from illume.results.lazy import keep, later, lazy_fields
from illume.results.predictions import LabelledBatch, LabelledRow, Labels, row_entry
from illume.results.reasons import SURE, BatchReasons, Line, Reasons
from illume.results.trust import AGREED, NOT_FAITHFUL, REFINED, Novelty, Refinement, Trust


class Attribution(LabelledRow):
    """How much each feature moved one decision: one row of a batch."""

    batch: Attributions
    values: FloatArray = row_entry("values")
    """Contributions, (n_features,) or (n_features, n_outputs)."""
    standard_errors: FloatArray = row_entry("standard_errors")
    """Standard errors of the contributions, shaped like `values`."""
    base_value: Any = row_entry("base_values")
    """The mean score of the background rows (`pullback`: the surrogate's of the average row)."""
    score: Any = row_entry("scores")
    """The explained score, the model's (`pullback`: the surrogate's): a number, or one per output."""
    slopes: FloatArray = row_entry("slopes")
    """Change of the score per scaled unit of an input."""
    slopes_per_unit: FloatArray = row_entry("slopes_per_unit")
    """Change of the score per original unit of an input."""
    trust: Trust = row_entry("trust")
    """How far the contributions can be trusted."""

    @property
    def verdict(self) -> str:
        """Whether the latent surrogate agrees with the model, in a word or two."""
        if self.batch.kind == "shapley":  # contributions are the model's, whether or not the surrogate agrees
            return "agrees" if self.agreed else self.batch.outputs.disagreement
        return {AGREED: "agrees", REFINED: "disagreed, refined", NOT_FAITHFUL: "DISAGREES"}[self.status]

    @property
    def imputed(self) -> tuple[str, ...]:
        """The features whose value was missing and filled with the mean."""
        return tuple(self.feature_names[j] for j in np.flatnonzero(self.batch.imputed[0]))

    def contributions(self, output: int | str | None = None) -> FloatArray:
        """Contributions to an output, by default to `output_name`, (n_features,)."""
        return self.batch.contributions(self.position(output))[0]

    def errors(self, output: int | str | None = None) -> FloatArray:
        """Return standard errors of `contributions(output)`, (n_features,); NaN where not known."""
        errors = self.standard_errors
        return errors if errors.ndim == 1 else errors[:, self.position(output)]

    def sure(self, output: int | str | None = None) -> BoolArray:
        """Return which contributions have a sure sign, beyond 1.96 standard errors, (n_features,)."""
        return np.abs(self.contributions(output)) > SURE * self.errors(output)

    def lines(self, n_features: int, output: int | str | None = None) -> list[Line]:
        """Return the strongest features with value and contribution, and the rest in one line.

        With the base value, the contributions of all lines add up to the score.
        """
        i = self.position(output)
        top = self.top(n_features, i)
        names, labels = top.feature_names, top.batch.feature_labels
        values = map(self.batch.dictionary.show, names, top.data)
        lines = list(map(Line, names, values, top.contributions(i), top.errors(i), labels))
        offset = float(np.ravel(self.batch.offset[0])[i])
        if offset:
            lines.append(Line.rest(text.OFFSET, offset))
        others, rest = len(self.values) - len(top.values), float(np.ravel(top.batch.rest[0])[i])
        if others or rest:
            lines.append(Line.rest(count(others, "other feature") if others else text.LEFT_OUT, rest))
        return lines

    def reasons(self, n: int = 5, threshold: float | None = None, output: int | str | None = None) -> Reasons:
        """Return the features that pushed the row to its side, strongest first, at most n.

        For a number with a threshold: those that raised it if it is at least the threshold, or lowered it if
        it is below. For a class: those that speak for the decision, which may be that of another threshold.
        Else: those that pushed the number away from the base value. `unsure` ones may have the other sign,
        and `ties` says which are too close to the next one to be ranked.
        """
        i, answer = self.position(output), self.batch.predictions[0]
        outputs = self.batch.outputs.with_threshold(threshold)
        side = outputs.side(answer, i, threshold, float(np.ravel(self.base_value)[i]))
        lines = self.lines(len(self.values), i)[: len(self.values)]
        found = [line for line in lines if line.contribution * side > 0]
        show = partial(text.format_contribution, outputs=outputs, i=i)
        return Reasons(tuple(found[:n]), outputs.headline(answer), show, next(iter(found[n:]), None))

    def top(self, n_features: int, output: int | str | None = None) -> Attribution:
        """Keep the features that moved the decision, or another output, most, strongest first."""
        return replace(self, batch=self.batch.top(n_features, self.position(output)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return frames.attribution_dict(self)

    def style(self, n: int = 10) -> Any:
        """Return a styled pandas table: a line per feature, the n strongest, with coloured bars."""
        return styles.style_attribution(self, n)

    def to_shap(self, offset: str = "base") -> Any:
        """Return a one-row `shap.Explanation` of the decided class, for `shap.plots.waterfall`."""
        return self.batch.to_shap(self.output, offset)[0]

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the strongest features as a chart."""
        return text.describe_attribution(self)


LAZY = ("slopes", "surrogate_predictions", "refinement", "trust", "novelty")


@lazy_fields(*LAZY)
@dataclass(frozen=True, eq=False, repr=False)
class Attributions(LabelledBatch[Attribution]):
    """Additive attributions of a batch: `base_values + values.sum(1) + offset + rest` is the score.

    By default they are interventional Shapley values of the black box's score, and add up to it. Of kind
    `pullback` they are the surrogate's, refined where it would decide otherwise than the black box.

    The score of a number is the number itself, or with `link="log"` its logarithm. For two classes it is the
    log-odds of the positive one, and there is no last axis; for more, it is each class's logarithm of the
    probability less the mean over all classes, on the last axis; several numbers have a last axis, too.

    Parameters
    ----------
    values
        Contributions, (n, n_features) or (n, n_features, n_outputs).
    base_values
        The mean score of the background rows (for `pullback`, the surrogate's of the average row), (n,) or
        (n, n_outputs); the same for all rows.
    offset, rest
        The part that refinement added beside the changed slopes (0 for Shapley values), and the contributions
        of features that `top` left out, (n,) or (n, n_outputs).
    slopes
        Change of the score per scaled unit of an input (a standard deviation, or having a category),
        (n, n_inputs) or (n, n_inputs, n_outputs), in single precision.
    predictions, surrogate_predictions
        Answers of the black box, and of the surrogate before any refinement, (n, c): probabilities, which are
        `probabilities` and `surrogate_probabilities` too, or numbers.
    imputed
        Where a missing number was filled with the mean for the surrogate, (n, n_features).
    trust, refinement, novelty
        Per-row figures of trust: see `Trust`, `Refinement` and `Novelty`.
    stand_in
        Whether there was no model: its answers are then those of its twin.
    standard_errors
        Shaped like `values`: the error on similar held-out rows or, where values were refined, the remaining
        error. NaN where it was not measured.
    kind, fell_back
        `shapley` or `pullback`; whether the surrogate is the global one, because a local one was no better.
    """

    values: FloatArray
    base_values: FloatArray
    offset: FloatArray
    rest: FloatArray
    slopes: FloatArray
    data: np.ndarray[Any, Any]
    predictions: FloatArray
    surrogate_predictions: FloatArray
    imputed: BoolArray
    trust: Trust
    refinement: Refinement
    novelty: Novelty
    labels: Labels
    origin: Origin
    stand_in: bool
    standard_errors: FloatArray
    kind: str
    fell_back: bool = False

    ROW: ClassVar[type[Any]] = Attribution
    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("values", "base_values", "offset", "rest", "slopes", "data", "predictions"),
        *("surrogate_predictions", "imputed", "trust", "refinement", "novelty", "standard_errors"),
    )

    @property
    def scale(self) -> str:
        """The scale that contributions add up on: `log-odds`, or what the model's number is."""
        return self.outputs.scale_name

    @property
    def scores(self) -> FloatArray:
        """The explained scores, (n,) or (n, n_outputs): the model's; for `pullback` the surrogate's."""
        return self.base_values + self.values.sum(1) + self.offset + self.rest

    @property
    def slopes_per_unit(self) -> FloatArray:
        """Slopes per original unit of numeric features; those of categories are as in `slopes`."""
        unit = self.labels.unit
        return self.slopes / (unit if self.slopes.ndim == 2 else unit[:, None])

    @property
    def agreed(self) -> BoolArray:
        """Whether the latent surrogate and the model decide alike, before any refinement."""
        return self.refinement.agreed

    @property
    def faithful(self) -> BoolArray:
        """Whether the explained score decides like the black box; Shapley values always do."""
        return np.ones(len(self), dtype=bool) if self.kind == "shapley" else self.refinement.faithful

    @property
    def importance(self) -> FloatArray:
        """Global importance: mean absolute contribution, (n_features,) or (n_features, n_classes)."""
        return np.abs(self.values).mean(0) if len(self) else np.zeros(self.values.shape[1:])

    @property
    def strength(self) -> FloatArray:
        """Global importance as one number per feature, summed over outputs, (n_features,).

        Numbers in different units are summed in standard deviations of each.
        """
        return (
            self.importance if self.values.ndim == 2 else (self.importance / self.outputs.common_unit).sum(1)
        )

    @property
    def typical_error(self) -> float:
        """Root mean square of all standard errors; NaN where they are not known."""
        errors = self.trust.contribution_error
        return float(np.sqrt(np.mean(np.square(errors)))) if len(errors) else math.nan

    @property
    def class_agreement(self) -> ClassAgreement:
        """Agreement with the surrogate by decision, before any refinement."""
        return class_agreement(self.decisions, self.surrogate_decisions, self.class_names)

    def __iter__(self) -> Iterator[Attribution]:
        _ = self.trust  # computed for all rows at once
        return super().__iter__()

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields; those of the latent surrogate only if they were read."""
        return {field.name: keep(self, field.name) for field in fields(self)}

    def contributions(self, output: int | str | None = None) -> FloatArray:
        """Contributions to one output, by name or position, by default the leading one, (n, n_features)."""
        i = self.output(output)
        return self.values if self.values.ndim == 2 else self.values[:, :, i]

    def column(self, feature: int | str) -> frames.Column:
        """Return one feature's values, by name or position: numbers, or positions among its categories."""
        return frames.feature_column(self.data, self.labels, self.labels.feature(feature))

    def calibration(self, output: int | str | None = None, n_bins: int = 10) -> Calibration:
        """Compare the surrogate's probabilities of a class with the black box's, in groups of rows."""
        name = self.output_names[self.output(output)]
        c = self.outputs.names.index(name)
        return calibration(self.predictions[:, c], self.surrogate_predictions[:, c], name, n_bins)

    def residuals(self, output: int | str | None = None) -> Residuals:
        """Compare the surrogate's predictions of a number with the black box's."""
        c = self.output(output)
        P, Q = self.predictions[:, c], self.surrogate_predictions[:, c]
        return Residuals(self.output_names[c], P, Q, TOLERANCE * float(self.outputs.unit[c]))

    def top(self, n_features: int, output: int | str | None = None) -> Attributions:
        """Keep the features of largest importance, strongest first; the others go into `rest`.

        Importance is summed over outputs, unless one is chosen.
        """
        strength = self.strength if output is None else np.abs(self.contributions(output)).sum(0)
        order = np.argsort(-strength, kind="stable")[:n_features]
        owned = [np.flatnonzero(self.labels.owner == j) for j in order]
        inputs = np.concatenate([*owned, np.empty(0, dtype=np.intp)])
        labels = replace(
            self.labels,
            features=tuple(self.feature_names[j] for j in order),
            inputs=tuple(self.input_names[j] for j in inputs),
            owner=np.repeat(np.arange(len(order)), [len(each) for each in owned]),
            unit=self.labels.unit[inputs],
        )
        left_out = np.setdiff1d(np.arange(len(self.feature_names)), order)
        by_feature = ("values", "standard_errors", "data", "imputed")
        own = {name: vars(self)[name] for name in LAZY}  # not computed for this
        own["slopes"] = later(self, "slopes", lambda slopes: slopes[:, inputs])
        return replace(
            self,
            rest=self.rest + self.values[:, left_out].sum(1),
            **own,
            labels=labels,
            **{name: getattr(self, name)[:, order] for name in by_feature},
        )

    def reasons(
        self, n: int = 5, threshold: float | None = None, output: int | str | None = None
    ) -> BatchReasons:
        """Return the reasons of every row, see `Attribution.reasons`."""
        find = partial(_row_reasons, self, n, threshold, output)  # a lambda could not be pickled
        return BatchReasons(find, self.row_labels, self.origin)

    def to_frame(self, layout: str = "wide") -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy), with the same index.

        `wide` has a line per row and a column per feature: contributions to the explained output, or with
        more than two classes to the positive or else the decided one, or to the first of several numbers.
        `base_value`, `offset`, `rest` (only after `top`) and contributions add up to the score. The columns
        never depend on the rows. `long` has a line per row, feature and output, with the feature's value.
        """
        return frames.attributions_frame(self, layout)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return frames.attributions_dict(self)

    def style(self, n: int = 10) -> Any:
        """Return a styled pandas table: a line per row, the n strongest features as coloured bars."""
        return styles.style_attributions(self, n)

    def to_shap(self, output: int | str | None = None, offset: str = "base") -> Any:
        """Return a `shap.Explanation`, for everything in `shap.plots`.

        Most of these plots take one output: of more than two classes, or of several numbers, name one.
        The offset of a row goes into its base value; plots with one base value for all rows
        (`decision`, and `force` of many) need `offset="feature"`, which makes it a column of its own.
        """
        return interop.shap_explanation(self, None if output is None else self.output(output), offset)

    def to_shapash(self, output: int | str | None = None) -> dict[str, Any]:
        """Return arguments for shapash: `SmartExplainer(model).compile(x=rows, **arguments)`.

        `rows` are the explained ones, with the columns of `feature_names`. The offset of a row goes
        into their base values. Of several numbers, name one.
        """
        return interop.shapash_contributions(self, output)

    def to_explainerdashboard(
        self, dashboard: Any = None, output: int | str | None = None
    ) -> interop.DashboardValues:
        """Return the arguments of explainerdashboard's `set_shap_values`; call it if `dashboard` is given.

        `dashboard` is a `ClassifierExplainer(model, rows, y, shap="kernel")`, or a `RegressionExplainer`, of
        the explained rows; of several numbers, name one. Turn off what shap would compute anew:
        `ExplainerDashboard(dashboard, whatif=False, shap_interaction=False)`.
        """
        return interop.dashboard_values(self, dashboard, output)

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and global importance as a chart."""
        return text.describe_attributions(self)


def _row_reasons(
    batch: Attributions, n: int, threshold: float | None, output: int | str | None, row: int
) -> Reasons:
    return batch[row].reasons(n, threshold, output)

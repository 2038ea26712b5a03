"""Decision rules of a batch of rows, and of one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin, as_frame
from illume.data.schema import Feature, require_columns
from illume.metrics.fidelity import wilson
from illume.results.conditions import Bounds, Interval, Membership, ObliqueCondition, ObliqueRules
from illume.results.predictions import SavesResult, positions
from illume.results.trust import Novelty, Refinement


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Conditions under which the black box decides alike, most of the time: a view of one row of a batch."""

    batch: Rules

    @property
    def conditions(self) -> tuple[Interval | Membership, ...]:
        """The rule itself, in the features' own units and categories."""
        return self.batch.bounds.conditions(0)

    @property
    def box(self) -> tuple[Interval | Membership, ...]:
        """The sound form: inside this box every oblique condition holds, with the row's own map."""
        return self.batch.box.conditions(0)

    @property
    def oblique(self) -> tuple[ObliqueCondition, ...]:
        """The oblique form: the leaf's conditions on weighted sums of features."""
        return self.batch.oblique.conditions(0)

    @property
    def decision(self) -> str:
        """The decision that the rule is for."""
        return self.batch.class_names[int(self.batch.decisions[0])]

    @property
    def probability(self) -> float:
        """The black box's probability of that decision, for the row itself."""
        return float(self.batch.probabilities[0, int(self.batch.decisions[0])])

    @property
    def precision(self) -> float:
        """Share of the covered report rows that the black box decides alike; NaN where none is covered."""
        return float(self.batch.precision[0])

    @property
    def precision_interval(self) -> tuple[float, float]:
        """95 % interval of the precision (Wilson's)."""
        low, high = self.batch.precision_interval
        return float(low[0]), float(high[0])

    @property
    def coverage(self) -> float:
        """Share of the report rows that the rule covers."""
        return float(self.batch.coverage[0])

    @property
    def coverage_interval(self) -> tuple[float, float]:
        """95 % interval of the coverage (Wilson's)."""
        low, high = self.batch.coverage_interval
        return float(low[0]), float(high[0])

    @property
    def n_covered(self) -> int:
        """How many report rows the precision rests on."""
        return int(self.batch.n_covered[0])

    @property
    def polished(self) -> bool:
        """Whether the bounds were chosen for precision; otherwise they are the tree's own."""
        return bool(self.batch.polished[0])

    @property
    def status(self) -> str:
        """`agreed`, `refined` or `not faithful`: whether the tree decides like the black box."""
        return str(self.batch.refinement.status[0])

    @property
    def outside_reasons(self) -> tuple[str, ...]:
        """Why the row is outside of what the explainer was fitted on; nothing if it is not."""
        novelty = self.batch.novelty
        return () if novelty is None else novelty.reasons()

    def value(self, name: str) -> Any:
        """Return the row's own value of a feature."""
        if self.batch.data is None:
            raise ValueError("the rule of a counterfactual has no row of its own")
        return self.batch.data[0, self.batch.feature_names.index(name)]

    def feature(self, name: str) -> Feature:
        """Return what was seen of a feature while fitting: its range or its categories."""
        return self.batch.bounds.features[self.batch.feature_names.index(name)]

    def covers(self, frame: Any) -> BoolArray:
        """Return which rows of a frame satisfy the rule.

        A value that was never seen satisfies no condition on its column.
        """
        rows = as_frame(frame)
        named = isinstance(frame, np.ndarray)
        wanted = self.batch.columns if named else [condition.name for condition in self.conditions]
        inside = np.ones(len(rows), dtype=bool)
        rows = require_columns(rows, wanted)
        for condition in self.conditions:
            inside &= condition.covers(rows)
        return inside

    def to_sql(self) -> str:
        """Return what goes after WHERE to select exactly the covered rows.

        Columns are quoted by double quotes; a missing value is NULL; booleans are TRUE and FALSE.
        """
        return " AND ".join(condition.to_sql() for condition in self.conditions) or "1 = 1"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        known = self.n_covered > 0
        return {
            "decision": self.decision,
            "probability": self.probability,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "text": self.text,
            "precision": self.precision if known else None,
            "precision_interval": list(self.precision_interval),
            "coverage": self.coverage,
            "n_covered": self.n_covered,
            "n_rows": self.batch.n_rows,
            "polished": self.polished,
            "status": self.status,
            "outside": bool(self.batch.outside[0]),
            "outside_reasons": list(self.outside_reasons),
            "stand_in": self.batch.stand_in,
            "box": [condition.to_dict() for condition in self.box],
            "oblique": [condition.to_dict() for condition in self.oblique],
        }

    @property
    def text(self) -> str:
        """The rule in one line."""
        premise = " and ".join(map(str, self.conditions)) or "always"
        return f"{premise} → {self.decision}"

    @property
    def measured(self) -> str:
        """What was measured of the rule, in one line."""
        if not self.n_covered:
            return f"covers none of {self.batch.n_rows} held-out rows, so its precision is not known"
        low, high = self.precision_interval
        short = f", below the wanted {self.batch.wanted:g}" if self.precision < self.batch.wanted else ""
        return (
            f"precision {self.precision:.2f} ({low:.2f} to {high:.2f}{short})  coverage {self.coverage:.2f}  "
            f"(on {self.n_covered} of {self.batch.n_rows} held-out rows)"
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "\n  ".join([self.text, self.measured, *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to know: how the row was refined, and whether the black box was there."""
        batch = self.batch
        odd = "" if batch.novelty is None else batch.novelty.note()
        said = (batch.refinement.note(), STAND_IN if batch.stand_in else "", odd)
        return tuple(note for note in said if note)

    def _repr_html_(self) -> str:
        lines = [f"<b>{escape(self.text)}</b>", escape(self.measured), *map(escape, self.notes)]
        return f"<p>{'<br>'.join(lines)}</p>"


SHOWN = 5
STAND_IN = "without the black box: the decisions are the surrogate's own"


@dataclass(frozen=True, eq=False, repr=False)
class Rules(SavesResult):
    """One rule per row, for the black box's decision on it; the row itself always satisfies it.

    Parameters
    ----------
    bounds
        The rules: conditions on features.
    box
        Their sound form: boxes inside which every oblique condition holds with the row's own map.
    oblique
        Their oblique form: the leaf's conditions on weighted sums of inputs.
    decisions
        The decision that each rule is for, as a position in `class_names`.
    probabilities
        What the black box answers, (n, n_classes).
    n_covered, n_correct
        How many report rows each rule covers, and how many of these the black box decides alike.
    n_rows
        How many report rows there are.
    wanted
        The precision that rules were polished to; 0 where they were not.
    polished
        Which rules have bounds chosen for precision; the others' are the tree's own.
    refinement
        Whether the tree agreed with the black box at once, was refined, or is not faithful.
    source
        Which tree the rules come from: `local`, on the rows' own latents, or `global`, on the inputs.
    columns
        The columns that the explainer was fitted with.
    data
        The rows themselves, (n, n_features); None for rules of counterfactuals.
    stand_in
        Whether there was no black box: the decisions are then the surrogate's own.
    novelty
        What of each row is outside of what the explainer was fitted on; None for rules of counterfactuals.
    """

    bounds: Bounds
    box: Bounds
    oblique: ObliqueRules
    decisions: IntArray
    probabilities: FloatArray
    n_covered: IntArray
    n_correct: IntArray
    n_rows: int
    wanted: float
    polished: BoolArray
    refinement: Refinement
    source: str
    class_names: tuple[str, ...]
    columns: tuple[str, ...]
    origin: Origin
    data: np.ndarray[Any, Any] | None = None
    stand_in: bool = False
    novelty: Novelty | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of the bounds."""
        return tuple(feature.name for feature in self.bounds.features)

    @property
    def precision(self) -> FloatArray:
        """Share of covered report rows that the black box decides alike, (n,); NaN where none is covered."""
        known = np.maximum(self.n_covered, 1)
        return np.where(self.n_covered > 0, self.n_correct / known, np.nan)

    @property
    def precision_interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the precision (Wilson's)."""
        return wilson(np.nan_to_num(self.precision), self.n_covered)

    @property
    def coverage(self) -> FloatArray:
        """Share of report rows that each rule covers, (n,)."""
        return self.n_covered / max(self.n_rows, 1)

    @property
    def coverage_interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the coverage (Wilson's)."""
        return wilson(self.coverage, np.full(len(self), self.n_rows))

    @property
    def n_conditions(self) -> IntArray:
        """On how many features each rule has a condition, (n,)."""
        return self.bounds.conditioned.sum(1)

    @property
    def faithful(self) -> BoolArray:
        """Which rows' leaves decide like the black box, at once or after refinement."""
        return self.refinement.faithful

    @property
    def outside(self) -> BoolArray:
        """Which rows are outside of what the explainer was fitted on, (n,)."""
        return np.zeros(len(self), dtype=bool) if self.novelty is None else self.novelty.outside

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Rule]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Rule: ...
    @overload
    def __getitem__(self, rows: slice | IntArray | BoolArray | Sequence[int]) -> Rules: ...
    def __getitem__(self, rows: Any) -> Rule | Rules:
        """Take one rule by its row's position, or several by a slice, positions or a mask."""
        taken, single = positions(rows, len(self))
        per_row = "bounds box oblique decisions probabilities n_covered n_correct polished refinement"
        fields = {name: getattr(self, name)[taken] for name in per_row.split()}
        data = None if self.data is None else self.data[taken]
        novelty = None if self.novelty is None else self.novelty[taken]
        batch = replace(self, **fields, origin=self.origin.take(taken), data=data, novelty=novelty)
        return Rule(batch) if single else batch

    def to_frame(self, layout: str = "wide") -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy).

        `wide` has a line per row, with the rule as text, and the rows' index; `long` has a line per row and
        condition, with its bounds or its categories.
        """
        from illume.results import rule_tables

        return rule_tables.frame(self, layout)

    def style(self) -> Any:
        """Return a styled pandas table: a line per row, with precision and coverage as bars."""
        from illume.results import html

        return html.rules(self)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain Python values, ready for JSON, one dictionary per rule."""
        return [rule.to_dict() for rule in self]

    def __repr__(self) -> str:
        n = len(self)
        head = f"Rules of {n} rows, from the {self.source} tree"
        if not n:
            return head
        mean = float(np.nanmean(self.precision)) if (self.n_covered > 0).any() else float("nan")
        lines = [
            f"{head}; on {self.n_rows} held-out rows: mean precision {mean:.3f}, "
            f"mean coverage {self.coverage.mean():.3f}, {self.n_conditions.mean():.1f} conditions",
            f"tree and {'surrogate' if self.stand_in else 'black box'}: {_statuses(self.refinement)}",
        ]
        lines += [STAND_IN] * self.stand_in
        lines += [f"  {self[i].text}" for i in range(min(n, SHOWN))]
        return "\n".join(lines + ([f"  … and {n - SHOWN} more"] if n > SHOWN else []))


def _statuses(refinement: Refinement) -> str:
    status, counts = np.unique(refinement.status.astype(str), return_counts=True)
    return ", ".join(f"{count} {name}" for name, count in zip(status, counts, strict=True))

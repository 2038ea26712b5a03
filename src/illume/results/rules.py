"""Decision rules of a batch of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.metrics.fidelity import wilson
from illume.results.bounds import Bounds
from illume.results.novelty import Novelty
from illume.results.oblique import ObliqueRules
from illume.results.refinement import Refinement
from illume.results.rule import Rule
from illume.results.saves import SavesResult
from illume.results.take import positions

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
        from illume.results import styles

        return styles.rules(self)

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

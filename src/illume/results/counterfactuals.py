"""Counterfactuals of a batch of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame, Origin
from illume.results.counterfactual import Change, Counterfactual, Example
from illume.results.decided import decisions_of
from illume.results.novelty import Novelty
from illume.results.refinement import Refinement
from illume.results.rules import Rules
from illume.results.saves import SavesResult
from illume.results.take import positions

SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactuals(SavesResult):
    """Per row, changed rows that the black box decides otherwise, and the rule behind them.

    Every example was put to the black box; one that it does not decide as desired is never returned.
    Examples of all rows stand side by side; `row` says whose they are.

    Parameters
    ----------
    row
        The row that each example belongs to, by its position, ascending, (e,).
    changed
        Which features each example changes, (e, n_features).
    before, after
        The values of the rows, (n, n_features), and of the examples, (e, n_features).
    example_probabilities
        What the black box answers to the examples, (e, n_classes).
    distance
        How far each example is from its row: Euclidean, in standard deviations; a changed category counts 1.
    plausibility
        How far each example is from the nearest training row, in the same measure.
    typical_distance
        The median of that distance for training rows themselves, to compare with.
    decisions, probabilities
        What the black box says of the rows, (n,) and (n, n_classes).
    reasons
        Why a row has no example, (n,); empty where it has.
    rules, has_rule, new
        The counterfactual rule of each row, which rows have one, and which features' conditions the row
        itself does not satisfy, (n, n_features). The rule covers the first example; its oblique form, its
        sound box and its status are the example's own.
    refinement
        Whether the tree agreed with the black box on the row at once, was refined, or is not faithful: the
        rule is pulled back through the row's map after refinement.
    n_asked
        How many changed rows were put to the black box.
    frame
        The examples as a frame with all columns, ready for the model.
    novelty
        What of each row is outside of what the explainer was fitted on.
    """

    row: IntArray
    changed: BoolArray
    before: np.ndarray[Any, Any]
    after: np.ndarray[Any, Any]
    example_probabilities: FloatArray
    distance: FloatArray
    plausibility: FloatArray
    typical_distance: float
    decisions: IntArray
    probabilities: FloatArray
    reasons: np.ndarray[Any, Any]
    rules: Rules
    has_rule: BoolArray
    new: BoolArray
    refinement: Refinement
    n_asked: int
    frame: Frame
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    origin: Origin
    novelty: Novelty

    @property
    def n_found(self) -> IntArray:
        """How many examples each row has, (n,)."""
        return np.bincount(self.row, minlength=len(self))

    @property
    def found(self) -> BoolArray:
        """Which rows have an example, (n,)."""
        return self.n_found > 0

    @property
    def outside(self) -> BoolArray:
        """Which rows are outside of what the explainer was fitted on, (n,)."""
        return self.novelty.outside

    @property
    def n_changes(self) -> IntArray:
        """How many features each example changes, (e,)."""
        return self.changed.sum(1)

    @property
    def examples(self) -> Any:
        """All examples as a frame of the same library as the rows, with all columns, ready for the model."""
        return self.frame.native

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Counterfactual]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, rows: slice | IntArray | BoolArray | Sequence[int]) -> Counterfactuals: ...
    def __getitem__(self, rows: Any) -> Counterfactual | Counterfactuals:
        """Take one row by its position, or several by a slice, positions or a mask."""
        taken, single = positions(rows, len(self))
        kept = np.arange(len(self))[taken]
        start, count = np.searchsorted(self.row, kept), self.n_found[kept]
        first = np.cumsum(count) - count
        examples = np.repeat(start - first, count) + np.arange(count.sum())
        per_example = "changed after example_probabilities distance plausibility"
        per_row = "before decisions probabilities reasons rules has_rule new refinement novelty"
        batch = replace(
            self,
            row=np.repeat(np.arange(len(kept)), count),
            frame=self.frame.take(examples),
            origin=self.origin.take(taken),
            **{name: getattr(self, name)[examples] for name in per_example.split()},
            **{name: getattr(self, name)[kept] for name in per_row.split()},
        )
        return Counterfactual(batch) if single else batch

    def example(self, e: int) -> Example:
        """Return one example by its position among all."""
        before, after = self.before[self.row[e]], self.after[e]
        P = self.example_probabilities[e]
        return Example(
            changes=tuple(
                Change(self.feature_names[j], before[j], after[j]) for j in np.flatnonzero(self.changed[e])
            ),
            decision=self.class_names[int(decisions_of(P[None])[0])],
            probability=float(P.max()),
            distance=float(self.distance[e]),
            plausibility=float(self.plausibility[e]),
        )

    def to_frame(self, layout: str = "wide") -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy).

        `wide` has a line per example and a column for every feature that changes somewhere, empty where
        it does not change; `long` has a line per example and change, with the value before and after. Rows
        are named by their index; a row without an example is in neither, see `reasons`.
        """
        from illume.results import counterfactual_tables

        return counterfactual_tables.frame(self, layout)

    def style(self) -> Any:
        """Return a styled pandas table: a line per example, with what changes from what to what."""
        from illume.results import styles

        return styles.counterfactuals(self)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain Python values, ready for JSON, one dictionary per row."""
        return [one.to_dict() for one in self]

    def __repr__(self) -> str:
        n = len(self)
        lines = [f"Counterfactuals of {n} rows: {len(self.row)} examples, for {int(self.found.sum())} rows"]
        if len(self.row):
            lines[0] += (
                f"; {np.median(self.n_changes):g} changed features and distance "
                f"{np.median(self.distance):.2f} in the median"
            )
            lines.append(
                f"distance to the nearest training row: {np.median(self.plausibility):.2f} in the median "
                f"(training rows themselves: {self.typical_distance:.2f})"
            )
        label = range(n) if self.origin.index is None else self.origin.index
        shown = range(min(len(self.row), SHOWN))
        lines += [f"  row {label[self.row[e]]}: {self.example(e)}" for e in shown]
        missing = np.flatnonzero(~self.found)
        if len(missing):
            lines.append(
                f"{len(missing)} rows have none; row {label[missing[0]]}: {self.reasons[missing[0]]}"
            )
        return "\n".join(lines)

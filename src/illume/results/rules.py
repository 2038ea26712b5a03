"""Decision rules of a batch of rows, and of one row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin, as_frame
from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.data.questions import Question
from illume.data.schema import Feature, require_columns
from illume.metrics.fidelity import wilson
from illume.results import frames
from illume.results.conditions import Bounds, Interval, Membership, ObliqueCondition, ObliqueRules
from illume.results.display import Table
from illume.results.predictions import Batch, RefinedRow, row_entry
from illume.results.tables import condition_table, rule_table
from illume.results.text import plain_value
from illume.results.trust import Novelty, Refinement

SHOWN = 5
STAND_IN = "without the black box: the decisions are the surrogate's own"


class Rule(RefinedRow):
    """Conditions under which the black box mostly answers alike: one row of a batch."""

    batch: Rules
    precision: float = row_entry("precision")
    """Share of the covered report rows for which the rule is right; NaN where none is covered."""
    coverage: float = row_entry("coverage")
    """Share of the report rows that the rule covers."""
    n_covered: int = row_entry("n_covered")
    """Number of report rows that the precision is measured on."""
    polished: bool = row_entry("polished")
    """Whether the bounds were chosen for precision; otherwise they are the tree's own."""

    @property
    def decision(self) -> str:
        """What the rule ends in: a class, a side of a threshold, or an interval of numbers."""
        batch = self.batch
        if batch.interval is not None:
            low, high = (batch.outputs.format_bound(end, batch.question.output) for end in batch.interval[0])
            several = len(batch.outputs) > 1
            name = f"{batch.outputs.names[batch.question.output]} " if several else ""
            return f"{name}{low} to {high}"
        return batch.question.names[int(batch.decisions[0])]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of numbers that the rule ends in; None for a rule that ends in a decision."""
        found = self.batch.interval
        return None if found is None else (float(found[0, 0]), float(found[0, 1]))

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
    def precision_interval(self) -> tuple[float, float]:
        """95 % interval of the precision (Wilson's)."""
        low, high = self.batch.precision_interval
        return float(low[0]), float(high[0])

    @property
    def coverage_interval(self) -> tuple[float, float]:
        """95 % interval of the coverage (Wilson's)."""
        low, high = self.batch.coverage_interval
        return float(low[0]), float(high[0])

    def value(self, name: str) -> Any:
        """Return the row's own value of a feature."""
        if self.batch.data is None:
            raise ValueError("the rule of a counterfactual has no row of its own")
        return self.batch.data[0, self.batch.feature_names.index(name)]

    def feature(self, name: str) -> Feature:
        """Return a feature's range or categories in the fitted rows."""
        return self.batch.bounds.features[self.batch.feature_names.index(name)]

    def covers(self, frame: Any) -> BoolArray:
        """Return which rows of a frame satisfy the rule.

        An unseen category satisfies no condition on its column.
        """
        named = [condition.name for condition in self.conditions]
        columns = self.batch.columns if isinstance(frame, np.ndarray) else named
        rows = as_frame(frame)
        inside, rows = np.ones(len(rows), dtype=bool), require_columns(rows, columns)
        return np.all([inside, *(condition.covers(rows) for condition in self.conditions)], axis=0)

    def to_sql(self) -> str:
        """Return the expression after WHERE that selects exactly the covered rows.

        Columns are quoted by double quotes; a missing value is NULL; booleans are TRUE and FALSE.
        """
        return " AND ".join(condition.to_sql() for condition in self.conditions) or "1 = 1"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        answers = self.batch.outputs.columns(self.batch.predictions)
        return {
            **{name: plain_value(column[0]) for name, column in answers.items()},
            "decision": self.decision,
            "interval": None if self.interval is None else list(self.interval),
            "conditions": [condition.to_dict() for condition in self.conditions],
            "text": self.text,
            "precision": self.precision if self.n_covered else None,
            "precision_interval": list(self.precision_interval),
            "coverage": self.coverage,
            "n_covered": self.n_covered,
            "n_rows": self.batch.n_rows,
            "polished": self.polished,
            "status": self.status,
            "outside": self.outside,
            "outside_reasons": list(self.outside_reasons),
            "stand_in": self.batch.stand_in,
            "box": [condition.to_dict() for condition in self.box],
            "oblique": [condition.to_dict() for condition in self.oblique],
        }

    @property
    def text(self) -> str:
        """The rule in one line."""
        return f"{self.premise} → {self.decision}"

    @property
    def premise(self) -> str:
        """The conditions in one line."""
        return " and ".join(map(str, self.conditions)) or "always"

    @property
    def measured(self) -> str:
        """Precision and coverage, in one line."""
        if not self.n_covered:
            return f"covers none of {count(self.batch.n_rows, 'held-out row')}, so its precision is not known"
        low, high = self.precision_interval
        short = f", below the wanted {self.batch.wanted:g}" if self.precision < self.batch.wanted else ""
        share = "precision" if self.batch.interval is None else "in the interval"
        return (
            f"{share} {self.precision:.2f} ({low:.2f} to {high:.2f}{short})  coverage {self.coverage:.2f}  "
            f"(on {self.n_covered} of {count(self.batch.n_rows, 'held-out row')})"
        )

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines: the rule, its measures, and notes on refinement and novelty."""
        batch, novelty = self.batch, self.batch.novelty
        notes = (
            batch.refinement.note(),
            STAND_IN * batch.stand_in,
            "" if novelty is None else novelty.note(),
        )
        yield self.text
        if self.conditions:
            yield condition_table(self)
        yield from (f"  {line}" for line in (self.measured, *notes) if line)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Batch[Rule]):
    """One rule per row, for the black box's answer to it; the row itself always satisfies it.

    Parameters
    ----------
    bounds, box, oblique
        The rules, as conditions on features; their sound form, boxes inside which every oblique condition
        holds with the row's own map; and the leaf's own conditions, on weighted sums of inputs.
    outputs, question
        What the black box answers, and how answers become the decisions that rules are for.
    decisions, predictions
        The black box's decisions, positions in `question.names`, (n,), and its answers, (n, c).
    interval
        The intervals of numbers that rules end in, (n, 2), which hold the rows' own predictions; None where
        rules end in a decision.
    n_covered, n_correct, n_rows
        Number of report rows that each rule covers, of those for which it is right (decided alike, or in the
        interval), and of all.
    wanted, polished
        The precision that rules were polished to, 0 where they were not, or the share of covered rows that
        intervals should hold; and which rules have bounds chosen for it, as the others' are the tree's own.
    refinement, novelty
        See `Refinement` and `Novelty`; the latter is None for rules of counterfactuals.
    source
        The tree that the rules come from: `local`, on the rows' own latents, or `global`, on the inputs.
    columns, data
        The columns that the explainer was fitted with, and the rows themselves, (n, n_features); None for
        rules of counterfactuals.
    stand_in
        Whether there was no black box: the decisions are then the surrogate's own.
    """

    bounds: Bounds
    box: Bounds
    oblique: ObliqueRules
    decisions: IntArray
    predictions: FloatArray
    n_covered: IntArray
    n_correct: IntArray
    n_rows: int
    wanted: float
    polished: BoolArray
    refinement: Refinement
    source: str
    outputs: Outputs
    question: Question
    columns: tuple[str, ...]
    origin: Origin
    interval: FloatArray | None = None
    data: np.ndarray[Any, Any] | None = None
    stand_in: bool = False
    novelty: Novelty | None = None

    ROW: ClassVar[type[Any]] = Rule
    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("bounds", "box", "oblique", "decisions", "predictions", "n_covered", "n_correct"),
        *("interval", "polished", "refinement", "data", "novelty"),
    )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of the bounds."""
        return tuple(feature.name for feature in self.bounds.features)

    @property
    def precision(self) -> FloatArray:
        """Share of covered report rows for which each rule is right, (n,); NaN where none is covered."""
        return np.where(self.n_covered > 0, self.n_correct / np.maximum(self.n_covered, 1), np.nan)

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
        """Number of features that each rule has a condition on, (n,)."""
        return self.bounds.has_condition.sum(1)

    @property
    def faithful(self) -> BoolArray:
        """Which rows' leaves decide like the black box, at once or after refinement."""
        return self.refinement.faithful

    @property
    def mean_width(self) -> float:
        """Mean width of the intervals; NaN where rules end in decisions."""
        return math.nan if self.interval is None or not len(self) else float(np.diff(self.interval).mean())

    @property
    def question_columns(self) -> dict[str, Any]:
        """What rules on numbers end in, as columns of a frame: an interval, or a side of a threshold."""
        return question_columns(self.question, self.decisions, self.interval)

    def to_frame(self, layout: str = "wide") -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy).

        `wide` has a line per row, with the rule as text, and the rows' index; `long` has a line per row and
        condition, with its bounds or its categories.
        """
        return frames.rules_frame(self, layout)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain Python values, ready for JSON, one dictionary per rule."""
        return [rule.to_dict() for rule in self]

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the first rules as a table."""
        n = len(self)
        head = f"Rules of {count(n, 'row')}, from the {self.source} tree"
        if not n:
            yield head
            return
        mean = float(np.nanmean(self.precision)) if (self.n_covered > 0).any() else float("nan")
        counts = sorted(Counter(self.refinement.status).items())
        share = f"mean precision {mean:.3f}"
        if self.interval is not None:
            width = self.outputs.format_bound(self.mean_width, self.question.output)
            share = f"{mean:.3f} in the interval (wanted: {self.wanted:g}), mean width {width}"
        yield (
            f"{head}; on {count(self.n_rows, 'held-out row')}: {share}, "
            f"mean coverage {self.coverage.mean():.3f}, {self.n_conditions.mean():.1f} conditions"
        )
        statuses = ", ".join(f"{count} {name}" for name, count in counts)
        if self.interval is None:
            yield f"tree and {'surrogate' if self.stand_in else 'black box'}: {statuses}"
        else:
            widened = int((~self.refinement.agreed).sum())
            were = "was" if widened == 1 else "were"
            yield f"{count(widened, 'interval')} {were} widened to hold the row's own prediction"
        if self.stand_in:
            yield STAND_IN
        yield rule_table(self, SHOWN)
        if n > SHOWN:
            yield f"  … and {n - SHOWN} more"


def question_columns(
    question: Question, decisions: IntArray, interval: FloatArray | None
) -> dict[str, np.ndarray[Any, Any]]:
    """Return what rules end in as columns of a frame: an interval of numbers, or a decision."""
    if question.intervals and interval is not None:
        return {f"interval_{end}": interval[:, k].copy() for k, end in enumerate(("low", "high"))}
    return {"decision": np.array(question.names, dtype=object)[decisions]}

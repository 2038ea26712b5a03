"""Counterfactuals of a batch of rows, and of one row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame, Origin
from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.data.questions import Question
from illume.data.schema import Feature
from illume.results import frames
from illume.results.conditions import Interval, Membership
from illume.results.dictionary import NO_LABELS, DataDictionary, quote_odd
from illume.results.display import Table
from illume.results.predictions import Batch, RefinedRow, row_entry
from illume.results.rules import Rule, Rules
from illume.results.tables import example_table, examples_table
from illume.results.text import plain_value
from illume.results.trust import Novelty, Refinement

SHOWN = 5
ANY_OTHER = "decide otherwise"


@dataclass(frozen=True)
class Change:
    """One feature of one example, before and after the change."""

    feature: str
    before: Any
    after: Any
    dictionary: DataDictionary = field(default=NO_LABELS, compare=False, repr=False)

    @property
    def label(self) -> str:
        """What the feature is called."""
        return self.dictionary.label(self.feature)

    @property
    def texts(self) -> tuple[str, str]:
        """The values before and after, as text."""
        before, after = (self.dictionary.exact(self.feature, value) for value in (self.before, self.after))
        return before, after

    @property
    def text(self) -> str:
        """The values before and after, in one text."""
        return " → ".join(map(quote_odd, self.texts))

    def __str__(self) -> str:
        return f"{self.label}: {self.text}"


@dataclass(frozen=True)
class Example:
    """A changed row that the black box decides otherwise: verified, not guessed.

    `prediction` is the black box's answer to the changed row, a class or a number, and `answer` the same with
    its probability as text; `distance` is Euclidean, in standard deviations, where a changed category counts
    1; `plausibility` is the distance to the nearest training row in the same measure: the less, the more
    plausible.
    """

    changes: tuple[Change, ...]
    prediction: Any
    answer: str
    columns: dict[str, Any]
    distance: float
    plausibility: float

    @property
    def decision(self) -> str:
        """The black box's decision on the changed row."""
        return str(self.columns["decision"])

    @property
    def probability(self) -> float:
        """The black box's probability of that decision."""
        return float(self.columns["probability"])

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.changes))} ⇒ {self.answer}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        changes = [
            {"feature": c.feature, "from": plain_value(c.before), "to": plain_value(c.after)}
            for c in self.changes
        ]
        return {
            "changes": changes,
            **self.columns,
            "distance": self.distance,
            "plausibility": self.plausibility,
        }


class Counterfactual(RefinedRow):
    """How one row would be decided otherwise: one row of a batch."""

    batch: Counterfactuals
    reason: str = row_entry("reasons")
    """Why there is no example; empty where there is one."""

    @property
    def examples(self) -> tuple[Example, ...]:
        """Changed rows that are decided as desired, best first."""
        return tuple(self.batch.example(i) for i in range(len(self.batch.row)))

    def feature(self, name: str) -> Feature:
        """Return a feature's range or categories in the fitted rows."""
        return self.batch.rules.bounds.features[self.batch.feature_names.index(name)]

    @property
    def rule(self) -> Rule | None:
        """When rows like this one are decided as desired; None where no rule is known."""
        return self.batch.rules[0] if self.batch.has_rule[0] else None

    @property
    def conditions(self) -> tuple[Interval | Membership, ...]:
        """The conditions of the rule that the row itself does not satisfy: what has to change."""
        if self.rule is None:
            return ()
        names = {name for name, new in zip(self.batch.feature_names, self.batch.new[0], strict=True) if new}
        return tuple(condition for condition in self.rule.conditions if condition.name in names)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        answers = self.batch.outputs.columns(self.batch.predictions)
        return {
            **{name: plain_value(column[0]) for name, column in answers.items()},
            "examples": [example.to_dict() for example in self.examples],
            "rule": None if self.rule is None else self.rule.to_dict(),
            "rule_beyond_wish": bool(self.batch.beyond[0]),
            "changed_conditions": [condition.to_dict() for condition in self.conditions],
            "status": self.status,
            "outside": self.outside,
            "outside_reasons": list(self.outside_reasons),
            "reason": self.reason,
        }

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the row beside its examples as a table."""
        yield f"{self.headline}; it would be otherwise with" if self.examples else self.headline
        if self.examples:
            yield from (example_table(self), self.batch.unit_note)
        else:
            yield f"  no counterfactual: {self.reason}"
        yield from self.batch.asked_for
        if self.rule is not None and self.conditions:
            yield f"rule for rows like the first example: {self.rule.text}"
            yield f"  {self.rule.measured}"
            if self.batch.beyond[0]:
                yield "  its interval goes beyond what was wished for: not all rows it covers are as desired"
            yield f"  this row does not satisfy {' and '.join(map(str, self.conditions))}"
        if self.outside:
            yield self.batch.novelty.note()


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactuals(Batch[Counterfactual]):
    """Per row, changed rows that the black box decides otherwise, and the rule behind them.

    The black box was asked about every example; one that it does not decide as desired is never returned.
    Examples of all rows are in one array; `row` tells their rows.

    Parameters
    ----------
    row
        The position of the row that each example belongs to, ascending, (e,).
    changed
        Which features each example changes, (e, n_features).
    before, after
        The values of the rows, (n, n_features), and of the examples, (e, n_features).
    outputs, question
        What the black box answers, and how answers become the decisions that rules are for.
    predictions, example_predictions
        The black box's answers to the rows (n, c) and to the examples, (e, c).
    distance, plausibility
        Distances of each example to its row and to the nearest training row, as in `Example`, (e,).
    typical_distance
        The median distance of training rows to the nearest other one, for comparison with `plausibility`.
    reasons
        Why a row has no example, (n,); empty where it has one.
    rules, has_rule, new
        The counterfactual rule of each row, which rows have one, and which features' conditions the row
        itself does not satisfy, (n, n_features). The rule covers the first example; its oblique form, its
        sound box and its status are the example's own.
    beyond
        Which rules end in an interval of numbers that goes beyond what was wished for, (n,).
    refinement, novelty
        See `Refinement` and `Novelty`; the rule is pulled back through the row's map after refinement.
    n_asked
        Number of changed rows that the black box was asked about.
    wish, constraints
        What the black box should answer, and what may change how, in words.
    frame
        The examples as a frame with all columns, ready for the model.
    """

    row: IntArray
    changed: BoolArray
    before: np.ndarray[Any, Any]
    after: np.ndarray[Any, Any]
    example_predictions: FloatArray
    distance: FloatArray
    plausibility: FloatArray
    typical_distance: float
    decisions: IntArray
    predictions: FloatArray
    reasons: np.ndarray[Any, Any]
    rules: Rules
    has_rule: BoolArray
    new: BoolArray
    beyond: BoolArray
    refinement: Refinement
    n_asked: int
    wish: str
    constraints: tuple[str, ...]
    frame: Frame
    feature_names: tuple[str, ...]
    outputs: Outputs
    question: Question
    origin: Origin
    novelty: Novelty

    ROW: ClassVar[type[Any]] = Counterfactual
    PER_ROW: ClassVar[tuple[str, ...]] = (
        *("before", "decisions", "predictions", "reasons", "rules", "has_rule", "new", "beyond"),
        *("refinement", "novelty"),
    )
    PER_EXAMPLE: ClassVar[tuple[str, ...]] = (
        *("changed", "after", "example_predictions", "distance", "plausibility"),
    )

    @property
    def dictionary(self) -> DataDictionary:
        """Labels of features and values, and units."""
        return self.rules.bounds.dictionary

    @property
    def example_probabilities(self) -> FloatArray:
        """The black box's probabilities for the examples (e, n_classes), if it answers with these."""
        return self.outputs.probabilities(self.example_predictions)

    @property
    def asked_for(self) -> Iterator[str]:
        """Yield what was asked for in one line; nothing where any other decision and any change would do."""
        if self.constraints or self.wish != ANY_OTHER:
            yield f"asked for: {'; '.join((self.wish, *self.constraints))}"

    @property
    def unit_note(self) -> str:
        """What distances are measured in, and what is usual between training rows."""
        usual = f"a training row is {self.typical_distance:.2f} from the nearest other one (median)"
        return f"distances are in standard deviations, another category counts 1; {usual}"

    @property
    def n_found(self) -> IntArray:
        """Number of examples of each row, (n,)."""
        return np.bincount(self.row, minlength=len(self))

    @property
    def found(self) -> BoolArray:
        """Which rows have an example, (n,)."""
        return self.n_found > 0

    @property
    def n_changes(self) -> IntArray:
        """Number of features that each example changes, (e,)."""
        return self.changed.sum(1)

    @property
    def examples(self) -> Any:
        """All examples as a frame of the same library as the rows, with all columns, ready for the model."""
        return self.frame.native

    def take_rows(self, rows: Any, **changes: Any) -> Counterfactuals:
        """Keep some rows and their examples."""
        kept = np.arange(len(self))[rows]
        start, count = np.searchsorted(self.row, kept), self.n_found[kept]
        first = np.cumsum(count) - count
        examples = np.repeat(start - first, count) + np.arange(count.sum())
        return super().take_rows(
            kept,
            row=np.repeat(np.arange(len(kept)), count),
            frame=self.frame.take(examples),
            **{name: getattr(self, name)[examples] for name in self.PER_EXAMPLE},
            **changes,
        )

    def example(self, e: int) -> Example:
        """Return one example by its position among all."""
        before, after, P = self.before[self.row[e]], self.after[e], self.example_predictions[e]
        changed, columns = np.flatnonzero(self.changed[e]), self.outputs.columns(P[None])
        names = self.feature_names
        return Example(
            changes=tuple(Change(names[j], before[j], after[j], self.dictionary) for j in changed),
            prediction=self.outputs.plain(P),
            answer=self.outputs.brief(P),
            columns={name: plain_value(column[0]) for name, column in columns.items()},
            distance=float(self.distance[e]),
            plausibility=float(self.plausibility[e]),
        )

    def to_frame(self, layout: str = "wide", *, only_changes: bool = False) -> Any:
        """Return a frame of the same library as the rows (pandas for NumPy).

        `wide` has a line for each row with examples (`example` is -1), and below it a line per example, with
        the values of all features; `changed` names those that differ. With `only_changes` it has the examples
        alone and the features that change somewhere, empty where they do not. `long` has a line per example
        and change, with the value before and after. Rows are named by their index; a row without an example
        is in none of them, see `reasons`.
        """
        return frames.counterfactuals_frame(self, layout, only_changes)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain Python values, ready for JSON, one dictionary per row."""
        return [one.to_dict() for one in self]

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the first examples, below their rows, as a table."""
        label, head = self.row_labels, f"Counterfactuals of {count(len(self), 'row')}"
        head += f": {count(len(self.row), 'example')}, for {count(int(self.found.sum()), 'row')}"
        if not len(self.row):
            yield head
        else:
            changes, distance, near = map(np.median, (self.n_changes, self.distance, self.plausibility))
            features = f"{changes:g} changed feature{'' if changes == 1 else 's'}"
            yield f"{head}; {features} and distance {distance:.2f} in the median"
            yield f"distance to the nearest training row: {near:.2f} in the median; {self.unit_note}"
        yield from self.asked_for
        if len(self.row):
            yield examples_table(self, SHOWN)
            if len(self.row) > SHOWN:
                yield f"… and {count(len(self.row) - SHOWN, 'more example')}; to_frame() has all"
        missing = np.flatnonzero(~self.found)
        if len(missing):
            rows = "1 row has" if len(missing) == 1 else f"{len(missing):,} rows have"
            yield f"{rows} none; row {label[missing[0]]}: {self.reasons[missing[0]]}"

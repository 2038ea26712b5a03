"""Answered rows that rules are tried on, and the conditions that separate them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.questions import Question
from illume.data.threads import row_chunks
from illume.explanations.boxes import Boxes, Layout

BOXES_AT_ONCE = 512  # boxes times rows, a byte each, stay in the processor's cache
REPORT_ROWS = 4_096  # that rules are measured on
BINS = 16  # per numeric input, of equal size
MOST_INPUTS = 256  # that rules may have conditions on


class Counts(NamedTuple):
    """How many rows each box covers, and for how many of them the rule is right, (n,) each."""

    covered: FloatArray
    correct: FloatArray


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows X (N, m) with the black box's answers P (N, c), and the question that makes these decisions."""

    layout: Layout
    X: FloatArray
    P: FloatArray
    question: Question

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def decisions(self) -> IntArray:
        """The black box's decisions, (N,)."""
        return self.question.decide(self.P)

    @cached_property
    def _right(self) -> BoolArray:
        """For which rows each decision is right, (n_decisions, N)."""
        every = [self.right(c) for c in range(len(self.question.names))]
        return np.array(every, dtype=bool).reshape(len(every), len(self))

    def right(self, decision: int) -> BoolArray:
        """Return for which rows a decision is right, (N,)."""
        return self.question.holds(self.P, decision)

    @cached_property
    def _own(self) -> BoolArray:
        return self.layout.own(self.X)

    @cached_property
    def _positions(self) -> dict[bytes, int]:
        """Where each row stands, by its bytes; the first of equal rows."""
        return {key: i for i, key in reversed(list(enumerate(_row_keys(self.X))))}

    def members(self, boxes: Boxes) -> BoolArray:
        """Return which rows are in which box, (n, N)."""
        inside = np.ones((len(boxes), len(self)), dtype=bool)
        for j in self.layout.numbers:
            low, high, x = boxes.low[:, j, None], boxes.high[:, j, None], self.X[:, j]
            for end, holds in ((low, np.greater_equal), (high, np.less_equal)):
                some = np.flatnonzero(np.isfinite(end))
                if len(some):
                    inside[some] &= holds(x, end[some])
        for inputs in self.layout.categorical:
            allowed = boxes.allowed[:, inputs]
            some = np.flatnonzero(~allowed.all(1))  # a row of no known category is in none of these
            if len(some):
                inside[some] &= (allowed[some].astype(np.float32) @ self._own[:, inputs].T) > 0
        return inside

    def iter_members(self, boxes: Boxes, but: FloatArray | None) -> Iterator[tuple[slice, BoolArray]]:
        """Yield for some boxes at a time which rows are in which.

        Each box was made for a row of `but` (n, m): where that row is in the sample, it does not count.
        """
        itself = np.full(len(boxes), -1)
        if but is not None:
            itself = np.array([self._positions.get(key, -1) for key in _row_keys(but)], dtype=np.intp)
        for rows in row_chunks(len(boxes), BOXES_AT_ONCE):
            inside = self.members(boxes[rows])
            known = np.flatnonzero(itself[rows] >= 0)
            inside[known, itself[rows][known]] = False
            yield rows, inside

    def counts(
        self,
        boxes: Boxes,
        wanted: IntArray,
        but: FloatArray | None = None,
        interval: FloatArray | None = None,
    ) -> Counts:
        """Count covered rows, and those for which the decision, or the interval (n, 2), is right."""
        result = Counts(np.empty(len(boxes)), np.empty(len(boxes)))
        for rows, inside in self.iter_members(boxes, but):
            result.covered[rows] = np.count_nonzero(inside, axis=1)
            if interval is None:
                right = self._right[wanted[rows]]
            else:
                y = self.P[:, getattr(self.question, "output", 0)]
                right = (y >= interval[rows, :1]) & (y <= interval[rows, 1:])
            result.correct[rows] = np.count_nonzero(inside & right, axis=1)
        return result


def _row_keys(X: FloatArray) -> list[bytes]:
    rows = np.ascontiguousarray(X + 0.0, dtype=np.float64)  # + 0.0 makes one of the two zeros
    return [row.tobytes() for row in rows]


def separation(X: FloatArray, decisions: IntArray) -> FloatArray:
    """Return how far apart inputs are between decisions: the variance of their means and spreads, (m,).

    >>> separation(np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 1.0], [4.0, 3.0]]), np.array([0, 0, 1, 1]))
    array([4., 0.])
    """
    groups = [X[decisions == c] for c in np.unique(decisions)]
    share = np.array([len(group) for group in groups]) / max(len(X), 1)
    total = np.zeros(X.shape[1])
    for measure in (np.mean, np.std):
        each = np.array([measure(group, axis=0) for group in groups]).reshape(len(groups), X.shape[1])
        total += share @ np.square(each - share @ each)
    return total


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions that a rule may have, numbered: K = 2 (T_n + T_c).

    A sample is split in two at T_n thresholds of numeric inputs and by T_c categories; each split gives two
    conditions. First come all upper bounds, then all lower bounds, then each category excluded, then each
    category alone.

    Parameters
    ----------
    thresholds
        Where numeric inputs are split, (T_n,): between values that occur, at round numbers.
    column
        The input that each split is about, (T_n + T_c,), ascending within either kind.
    truth
        Which rows are at most the threshold, or have the category, (T_n + T_c, N).
    split, side
        Which split a condition is about, and on which side of it rows satisfy the condition, (K,).
    """

    sample: Sample
    thresholds: FloatArray
    column: IntArray
    truth: BoolArray
    split: IntArray
    side: BoolArray

    @classmethod
    def of(cls, sample: Sample) -> Conditions:
        """Split numeric inputs at quantiles; of very many inputs, those that tell decisions apart best."""
        layout = sample.layout
        kept = np.zeros(layout.n_inputs, dtype=bool)
        kept[np.argsort(-separation(sample.X, sample.decisions), kind="stable")[:MOST_INPUTS]] = True
        numbers, onehot = np.flatnonzero(kept & ~layout.onehot), np.flatnonzero(kept & layout.onehot)
        found = [_thresholds(sample.X[:, j], layout.mean[j], layout.scale[j]) for j in numbers]
        thresholds = np.concatenate([*found, []])
        column = np.append(np.repeat(numbers, [len(each) for each in found]), onehot).astype(np.intp)
        numbers, categories = np.split(np.arange(len(column)), [len(thresholds)])
        return cls(
            sample,
            thresholds,
            column,
            _truth(layout, thresholds, column, sample.X).T.copy(),
            np.concatenate([numbers, numbers, categories, categories]),
            np.repeat([True, False, False, True], [len(numbers)] * 2 + [len(categories)] * 2),
        )

    @property
    def n_thresholds(self) -> int:
        """How many splits are thresholds, T_n."""
        return len(self.thresholds)

    def count_kept(self, counts: FloatArray, rows: IntArray) -> FloatArray:
        """Turn counts of rows on the true side of splits (u, T), and in all (u,), into those kept, (u, K)."""
        true = counts.take(self.split, axis=1)
        return np.where(self.side, true, rows[:, None].astype(np.float32) - true)

    def possible(self, X: FloatArray) -> BoolArray:
        """Return which conditions hold for a row, (n, K); none on a category that the row does not know."""
        layout = self.sample.layout
        holds = _truth(layout, self.thresholds, self.column, X).take(self.split, axis=1) == self.side
        known = layout.admissible(X) == layout.own(X)
        return holds & (known | ~layout.onehot).take(self.column[self.split], axis=1)

    def nearest(self, boxes: Boxes, X: FloatArray) -> BoolArray:
        """Return which conditions come nearest to those of boxes around the rows, (n, K).

        A bound goes to the nearest threshold that leaves the row inside.
        """
        upper, lower = (np.zeros((len(X), self.n_thresholds), dtype=bool) for _ in range(2))
        of_input, start, count = np.unique(
            self.column[: self.n_thresholds], return_index=True, return_counts=True
        )
        for j, first, n in zip(of_input, start, count, strict=True):  # they stand side by side
            at = np.arange(first, first + n)
            ends = self.thresholds[at]
            middle, own = (ends[1:] + ends[:-1]) / 2, np.searchsorted(ends, X[:, j])
            above = np.maximum(np.searchsorted(middle, boxes.high[:, j]), own)
            rows = np.flatnonzero(np.isfinite(boxes.high[:, j]) & (above < len(at)))
            upper[rows, at[above[rows]]] = True
            below = np.minimum(np.searchsorted(middle, boxes.low[:, j]), own - 1)
            rows = np.flatnonzero(np.isfinite(boxes.low[:, j]) & (below >= 0))
            lower[rows, at[below[rows]]] = True
        layout = self.sample.layout
        alone = boxes.allowed.copy()
        for inputs in layout.categorical:
            alone[:, inputs] &= boxes.allowed[:, inputs].sum(1, keepdims=True) == 1
        onehot = self.column[self.n_thresholds :]
        return np.hstack([upper, lower, ~boxes.allowed[:, onehot], alone[:, onehot]])

    def tighten(self, boxes: Boxes, rows: IntArray, code: IntArray) -> None:
        """Put each row's condition into its box, in place; a row occurs once among `rows`."""
        split, side = self.split[code], self.side[code]
        number, column = split < self.n_thresholds, self.column[split]
        for bound, mine, narrower in (
            (boxes.high, number & side, np.minimum),
            (boxes.low, number & ~side, np.maximum),
        ):
            at = rows[mine], column[mine]
            # Thresholds lie between values that occur, so that both ends of an interval may belong to it.
            bound[at] = narrower(bound[at], self.thresholds[split[mine]])
        boxes.allowed[rows[~number & ~side], column[~number & ~side]] = False
        owner, alone = self.sample.layout.owner, column[~number & side]
        siblings = owner == owner[alone][:, None]
        boxes.allowed[rows[~number & side]] &= ~siblings | (np.arange(len(owner)) == alone[:, None])


def _truth(layout: Layout, thresholds: FloatArray, column: IntArray, X: FloatArray) -> BoolArray:
    """Return which side of each split rows X are on, (n, T)."""
    categories = layout.own(X)[:, column[len(thresholds) :]]
    return np.hstack([X[:, column[: len(thresholds)]] <= thresholds, categories])


def _thresholds(column: FloatArray, mean: float, scale: float) -> FloatArray:
    """Return where to split a numeric input, at round numbers in its own units."""
    values = np.unique(column)
    cut = values[:-1]
    if len(values) > BINS:
        cut = np.unique(np.quantile(column, np.arange(1, BINS) / BINS, method="nearest"))
        cut = cut[cut < values[-1]]
    after = values[np.searchsorted(values, cut, side="right")]
    with np.errstate(over="ignore", invalid="ignore"):
        found = (roundest(mean + scale * cut, mean + scale * after) - mean) / scale
    return np.where((cut < found) & (found < after), found, cut + (after - cut) / 2)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def roundest(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a number of few digits strictly between two others, or their middle.

    >>> roundest(np.array([3.0, 9.87, 0.1234]), np.array([4.0, 10.2, 0.1239]))
    array([ 3.5   , 10.    ,  0.1235])
    """
    found, margin = low + (high - low) / 2, (high - low) / 100
    todo = np.isfinite(found) & (low < high)
    top = np.maximum(np.abs(low), np.abs(high))
    power = np.ceil(np.log10(np.where(top > 0, top, 1.0)))
    for digits in range(17):
        for fraction, after in ((1.0, 1), (1.0, 2), (0.5, 1), (0.5, 2)):
            step = fraction * 10.0 ** (power - digits)
            candidate = (np.floor(low / step) + after) * step
            fits = todo & (low + margin < candidate) & (candidate < high - margin)
            found, todo = np.where(fits, candidate, found), todo & ~fits
    return found

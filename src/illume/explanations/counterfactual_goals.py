"""What counterfactuals should reach: another class, or a range of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.outputs import Outputs
from illume.data.questions import Question


class Goal(Protocol):
    """What the answers to changed rows should be; `row` (k,) are positions among the rows of a task."""

    @property
    def question(self) -> Question:
        """What the rules of counterfactuals are for."""
        ...

    @property
    def text(self) -> str:
        """What the model should do, after "makes the model"."""
        ...

    @property
    def reached(self) -> BoolArray:
        """Which rows are as desired already, (n,)."""
        ...

    def is_reached(self, P: FloatArray, row: IntArray) -> BoolArray:
        """Return which answers (k, c) to changed rows are as desired, (k,)."""
        ...

    def score(self, P: FloatArray, row: IntArray) -> FloatArray:
        """Return how close answers (k, c) are to what is desired, (k,); more is closer."""
        ...

    def suits(self, P: FloatArray, row: IntArray) -> BoolArray:
        """Return which rows of a pool with answers (p, c) are as desired, (k, p)."""
        ...

    def is_beyond(self, intervals: FloatArray) -> BoolArray:
        """Return for which rows intervals of answers (n, 2) go beyond what is desired, (n,)."""
        ...

    def direction(self, slopes: FloatArray, row: IntArray) -> FloatArray:
        """Return slopes (k, m) towards what is desired, from slopes of all scores (k, s, m)."""
        ...


@dataclass(frozen=True, eq=False)
class ClassGoal:
    """A class, or any other than the row's own.

    Parameters
    ----------
    decisions, desired
        The black box's decision on each row, and the desired one, -1 for any other, (n,).
    min_probability
        How sure the black box must be of the new decision.
    """

    question: Question
    decisions: IntArray
    desired: IntArray
    min_probability: float
    text: str

    @property
    def reached(self) -> BoolArray:
        return np.asarray(self.desired == self.decisions)

    def is_reached(self, P: FloatArray, row: IntArray) -> BoolArray:
        found, desired = self.question.decide(P), self.desired[row]
        other = np.where(desired >= 0, found == desired, found != self.decisions[row])
        return other & (P[np.arange(len(P)), found] >= self.min_probability)

    def score(self, P: FloatArray, row: IntArray) -> FloatArray:
        """Return the log-odds of what is desired."""
        at = np.arange(len(row))
        desired = self.desired[row]
        share = np.where(desired >= 0, P[at, desired], 1.0 - P[at, self.decisions[row]])
        share = np.clip(share, 1e-9, 1 - 1e-9)
        return np.log(share / (1 - share))

    def suits(self, P: FloatArray, row: IntArray) -> BoolArray:
        found, desired, own = self.question.decide(P), self.desired[row, None], self.decisions[row, None]
        return np.where(desired >= 0, found == desired, found != own) & (desired != own)

    def is_beyond(self, intervals: FloatArray) -> BoolArray:
        """Return False: a class has no interval."""
        return np.zeros(len(intervals), dtype=bool)

    def direction(self, slopes: FloatArray, row: IntArray) -> FloatArray:
        if slopes.shape[1] == 1:
            slopes = np.concatenate([-slopes, slopes], axis=1)
        each, desired = np.arange(len(row)), self.desired[row]
        away, to = slopes[each, self.decisions[row]], slopes[each, desired]
        return np.where(desired[:, None] >= 0, to - away, -away)


@dataclass(frozen=True, eq=False)
class RangeGoal:
    """A range of numbers for each row, from `low` to `high` (n,), both included.

    `y` (n,) are the rows' own numbers, `unit` what differences are measured in.
    """

    question: Question
    output: int
    y: FloatArray
    low: FloatArray
    high: FloatArray
    unit: float
    text: str

    @property
    def reached(self) -> BoolArray:
        return np.asarray((self.y >= self.low) & (self.y <= self.high))

    def is_reached(self, P: FloatArray, row: IntArray) -> BoolArray:
        y = P[:, self.output]
        return np.asarray((y >= self.low[row]) & (y <= self.high[row]))

    def score(self, P: FloatArray, row: IntArray) -> FloatArray:
        """Return minus the distance to the range, in units."""
        y = P[:, self.output]
        return -np.maximum(np.maximum(self.low[row] - y, y - self.high[row]), 0.0) / self.unit

    def suits(self, P: FloatArray, row: IntArray) -> BoolArray:
        y = P[:, self.output]
        inside = (y >= self.low[row, None]) & (y <= self.high[row, None])
        return np.asarray(inside & ~self.reached[row, None])

    def is_beyond(self, intervals: FloatArray) -> BoolArray:
        return np.asarray((intervals[:, 0] < self.low) | (intervals[:, 1] > self.high))

    def direction(self, slopes: FloatArray, row: IntArray) -> FloatArray:
        return slopes[:, self.output] * np.where(self.y[row] < self.low[row], 1.0, -1.0)[:, None]


def threshold_goal(outputs: Outputs, question: Question, P: FloatArray) -> RangeGoal:
    """Return the goal of the other side of a threshold."""
    output, threshold = question.output, question.threshold  # type: ignore[attr-defined]
    y = P[:, output]
    above = y >= threshold
    low = np.where(above, -np.inf, threshold)
    high = np.where(above, np.nextafter(threshold, -np.inf), np.inf)
    unit = float(outputs.unit[output])
    return RangeGoal(question, output, y, low, high, unit, "answer on the other side of the threshold")

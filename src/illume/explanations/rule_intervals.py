"""Intervals of numbers that rules end in, conformal on validation rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray
from illume.data.questions import Bands
from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Sample

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
FEW = 4.0  # an interval of n rows is uncertain by about this many nths of its width
FLOOR = 0.01  # least width, in widths of the whole range, that margins are measured in


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """Where the numbers of the rows that a rule covers lie.

    An interval begins as the quantiles of the covered training rows. These rows chose the rule, so it is
    widened by a multiple of its width: the one at which, on average over the rules of validation rows, the
    wanted share of the other validation rows that a rule covers lies inside (split conformal prediction).

    Parameters
    ----------
    sample
        Training rows.
    margins
        The multiple for each output and level, (c, len(LEVELS)).
    """

    sample: Sample
    margins: FloatArray

    def __call__(
        self, question: Bands, boxes: Boxes, X: FloatArray, y: FloatArray, level: float
    ) -> FloatArray:
        """Return intervals (n, 2) of boxes made for rows X whose own numbers are y (n,), which lie inside."""
        margin = float(np.interp(level, LEVELS, self.margins[question.output]))
        low, high, width = self._quantiles(question, boxes, X, y, level)
        found = np.stack([low - margin * width, high + margin * width], axis=1)
        found[:, 1] = np.maximum(found[:, 1], found[:, 0])
        return np.stack([np.minimum(found[:, 0], y), np.maximum(found[:, 1], y)], axis=1)

    def calibrate(
        self, question: Bands, boxes: Boxes, X: FloatArray, y: FloatArray, validation: Sample
    ) -> FloatArray:
        """Return the multiples for all levels, from the boxes of validation rows X with numbers y."""
        margins = np.zeros(len(LEVELS))
        numbers = validation.P[:, question.output]
        for k, level in enumerate(LEVELS):
            low, high, width = self._quantiles(question, boxes, X, y, level)
            scores, weights, n_rules = [], [], 0
            for rows, inside in validation.iter_members(boxes, X):
                rule, row = np.nonzero(inside)
                below = (np.minimum(low, y)[rows][rule] - numbers[row]) / width[rows][rule]
                above = (numbers[row] - np.maximum(high, y)[rows][rule]) / width[rows][rule]
                # a number between the row's own and the quantiles is inside whatever the margin
                scores.append(np.maximum(below, above))
                weights.append(1.0 / inside.sum(1)[rule])
                n_rules += int(inside.any(1).sum())
            if n_rules:
                wanted = min(1.0, level * (1 + 1 / n_rules))
                margins[k] = weighted_quantile(np.concatenate(scores), np.concatenate(weights), wanted)
        return margins

    def _quantiles(
        self, question: Bands, boxes: Boxes, X: FloatArray, y: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quantiles of the covered rows' numbers, and the width that margins are measured in, (n,)."""
        numbers = self.sample.P[:, question.output]
        order = np.argsort(numbers, kind="stable")
        low, high = question.window(question.decide(_column(y, question.output)))
        ends = question.edges[0], question.edges[-1]
        low, high, n = np.maximum(low, ends[0]), np.minimum(high, ends[1]), np.zeros(len(boxes))
        for rows, inside in self.sample.iter_members(boxes, X):
            count = np.cumsum(inside[:, order], axis=1, dtype=np.int32)
            n[rows] = total = count[:, -1] if len(order) else np.zeros(len(inside))
            some = np.flatnonzero(total)
            tail = (1 - level) / 2 * (total[some] + 1)
            first = np.maximum(np.floor(tail), 1)
            for bound, rank in ((low, first), (high, total[some] + 1 - first)):
                at = (count[some] >= rank[:, None]).argmax(1)
                bound[np.arange(len(boxes))[rows][some]] = numbers[order[at]]
        whole = max(ends[1] - ends[0], 1e-300)
        return low, high, (high - low) * (1 + FEW / np.maximum(n, 1)) + FLOOR * whole


def _column(y: FloatArray, output: int) -> FloatArray:
    P = np.zeros((len(y), output + 1))
    P[:, output] = y
    return P


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """Return the smallest value up to which at least this share of the weight lies.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), 0.5)
    1.0
    """
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    at = min(int(np.searchsorted(share, level - 1e-12)), len(order) - 1)
    return float(values[order[at]])


def round_outward(intervals: FloatArray, decimals: int) -> FloatArray:
    """Round intervals (n, 2) to decimals, so that each still holds what it held.

    >>> round_outward(np.array([[1.23, 4.56]]), 1)
    array([[1.2, 4.6]])
    """
    unit = 10.0**-decimals
    low, high = np.floor(intervals[:, 0] / unit) * unit, np.ceil(intervals[:, 1] / unit) * unit
    rounded = np.round(np.stack([low, high], axis=1), decimals)
    return np.stack(
        [np.minimum(rounded[:, 0], intervals[:, 0]), np.maximum(rounded[:, 1], intervals[:, 1])], 1
    )

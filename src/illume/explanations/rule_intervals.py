"""Intervals of numbers that rules end in, conformal on validation rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from illume._typing import FloatArray
from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Sample

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
FEW = 25.0  # rows that what is typical of rules counts as, beside the rule's own rows
NARROWEST = -1.0  # margin, in spreads


class Starts(NamedTuple):
    """Where intervals start from, before margins: their ends, and the spread of their numbers, (n,) each."""

    low: FloatArray
    high: FloatArray
    spread: FloatArray


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """Where the numbers of the rows that a rule covers lie.

    An interval starts from quantiles of the covered training rows' numbers; of few rows, from those of a
    normal distribution. It is widened by a multiple of their spread: the one at which, on average over the
    rules of validation rows, the wanted share of the other validation rows that a rule covers lies inside
    (normalised split conformal prediction).

    Parameters
    ----------
    sample
        Training rows.
    typical
        The typical spread of a rule for each output, (c,), towards which that of few rows is shrunk.
    margins
        The multiple for each output and level, (c, len(LEVELS)).
    """

    sample: Sample
    typical: FloatArray
    margins: FloatArray

    def __call__(self, output: int, boxes: Boxes, X: FloatArray, y: FloatArray, level: float) -> FloatArray:
        """Return intervals (n, 2) of boxes made for rows X, whose own numbers are y (n,)."""
        low, high, spread = self.starts(output, boxes, X, y, level)
        margin = float(np.interp(level, LEVELS, self.margins[output])) * spread
        ends = np.stack([low - margin, high + margin], axis=1)
        return np.where(ends[:, :1] <= ends[:, 1:], ends, ends.mean(1, keepdims=True))

    def starts(self, output: int, boxes: Boxes, X: FloatArray, y: FloatArray, level: float) -> Starts:
        """Return where intervals of boxes start from; the rows' own numbers count as covered, too."""
        order = np.argsort(self.sample.P[:, output], kind="stable")
        numbers = self.sample.P[order, output]
        mean, spread, n, low, high = np.empty((5, len(boxes)))
        for rows, inside in self.sample.iter_members(boxes, X):
            own, weight = y[rows], inside[:, order]
            count = np.cumsum(weight, axis=1, dtype=np.int32)
            n[rows] = total = weight.sum(1)
            mean[rows] = (weight @ numbers + own) / (total + 1)
            apart = np.square(numbers - mean[rows, None]) * weight
            spread[rows] = np.sqrt((apart.sum(1) + np.square(own - mean[rows])) / (total + 1))
            first = np.maximum(np.floor((1 - level) / 2 * (total + 1)), 1)
            for bound, rank in ((low, first), (high, total + 1 - first)):
                bound[rows] = own
                if len(numbers):
                    at = (count >= rank[:, None]).argmax(1)
                    bound[rows] = np.where(total > 0, numbers[at], own)
        shrunk = (n * np.square(spread) + FEW * self.typical[output] ** 2) / (n + FEW)
        spread, share = np.sqrt(shrunk), n / (n + FEW)
        normal = float(ndtri((1 + level) / 2)) * spread
        low, high = share * low + (1 - share) * (mean - normal), share * high + (1 - share) * (mean + normal)
        return Starts(low, high, spread)

    def calibrate(
        self, output: int, boxes: Boxes, X: FloatArray, y: FloatArray, validation: Sample
    ) -> FloatArray:
        """Return the multiples for all levels, from the boxes of validation rows X with numbers y."""
        numbers, margins = validation.P[:, output], np.ones(len(LEVELS))
        members = [
            (rows, *np.nonzero(inside), inside.sum(1)) for rows, inside in validation.iter_members(boxes, X)
        ]
        n_rules = sum(int((total > 0).sum()) for *_, total in members)
        for k, level in enumerate(LEVELS) if n_rules else ():
            low, high, spread = self.starts(output, boxes, X, y, level)
            scores, weights = [], []
            for rows, rule, row, total in members:
                ends, own = (low[rows][rule], high[rows][rule]), y[rows][rule]
                off = np.maximum(ends[0] - numbers[row], numbers[row] - ends[1]) / spread[rows][rule]
                # an interval is widened to hold the row's own number, and with it what lies before
                middle, number = (ends[0] + ends[1]) / 2, numbers[row]
                held = (np.minimum(own, middle) <= number) & (number <= np.maximum(own, middle))
                scores.append(np.where(held, -np.inf, off))
                weights.append(1.0 / total[rule])
            wanted = np.array([min(1.0, level * (1 + 1 / n_rules))])
            found = weighted_quantiles(np.concatenate(scores), np.concatenate(weights), wanted)[0]
            margins[k] = max(found, NARROWEST)
        return margins


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the smallest values up to which at least these shares of the weight lie.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.6]))
    array([1., 2.])
    """
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return values[order[np.minimum(np.searchsorted(share, levels - 1e-12), len(order) - 1)]]


def hold(intervals: FloatArray, y: FloatArray) -> FloatArray:
    """Widen intervals (n, 2) to hold numbers y (n,).

    >>> hold(np.array([[1.0, 2.0]]), np.array([2.5]))
    array([[1. , 2.5]])
    """
    return np.stack([np.minimum(intervals[:, 0], y), np.maximum(intervals[:, 1], y)], axis=1)


def round_outward(intervals: FloatArray, decimals: int) -> FloatArray:
    """Round intervals (n, 2) to decimals, so that each still holds what it held.

    >>> round_outward(np.array([[1.23, 4.56]]), 1)
    array([[1.2, 4.6]])
    """
    unit = 10.0**-decimals
    low, high = np.floor(intervals[:, 0] / unit) * unit, np.ceil(intervals[:, 1] / unit) * unit
    rounded = np.round(np.stack([low, high], axis=1), decimals)
    low, high = np.minimum(rounded[:, 0], intervals[:, 0]), np.maximum(rounded[:, 1], intervals[:, 1])
    return np.stack([low, high], axis=1)

"""Intervals of numbers that rules end in, conformal on validation rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Sample

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
FEW = 10.0  # rows that the typical spread of a rule counts as, beside the rule's own rows


class Spreads(NamedTuple):
    """Mean and spread of the numbers that rules cover, (n,) each."""

    mean: FloatArray
    spread: FloatArray


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """Where the numbers of the rows that a rule covers lie: around their mean, by a multiple of their spread.

    The multiple is the one at which, on average over the rules of validation rows, the wanted share of the
    other validation rows that a rule covers lies inside (normalised split conformal prediction).

    Parameters
    ----------
    sample
        Training rows, whose numbers have the mean and spread.
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
        mean, spread = self.spreads(output, boxes, X, y)
        margin = float(np.interp(level, LEVELS, self.margins[output])) * spread
        return np.stack([mean - margin, mean + margin], axis=1)

    def spreads(self, output: int, boxes: Boxes, X: FloatArray, y: FloatArray) -> Spreads:
        """Return mean and spread of the training rows that boxes cover, the rows' own numbers included."""
        numbers = self.sample.P[:, output]
        shift = float(numbers.mean()) if len(numbers) else 0.0
        numbers, own = numbers - shift, y - shift
        table = np.stack([np.ones(len(numbers)), numbers, np.square(numbers)], axis=1)
        sums = np.stack([np.ones(len(y)), own, np.square(own)], axis=1)
        for rows, inside in self.sample.iter_members(boxes, X):
            sums[rows] += inside.astype(np.float64) @ table
        n, mean = sums[:, 0], sums[:, 1] / sums[:, 0]
        variance = np.maximum(sums[:, 2] / n - np.square(mean), 0.0)
        shrunk = (n * variance + FEW * self.typical[output] ** 2) / (n + FEW)
        return Spreads(mean + shift, np.sqrt(shrunk))

    def calibrate(
        self, output: int, boxes: Boxes, X: FloatArray, y: FloatArray, validation: Sample
    ) -> FloatArray:
        """Return the multiples for all levels, from the boxes of validation rows X with numbers y."""
        (mean, spread), numbers = self.spreads(output, boxes, X, y), validation.P[:, output]
        scores, weights, n_rules = [np.empty(0)], [np.empty(0)], 0
        for rows, inside in validation.iter_members(boxes, X):
            rule, row = np.nonzero(inside)
            off = np.abs(numbers[row] - mean[rows][rule]) / spread[rows][rule]
            # where the row's own number is farther off on the same side, the interval is widened to hold it
            own = (y - mean)[rows][rule] / spread[rows][rule]
            same = np.sign(own) == np.sign(numbers[row] - mean[rows][rule])
            scores.append(np.where(same & (np.abs(own) >= off), 0.0, off))
            weights.append(1.0 / inside.sum(1)[rule])
            n_rules += int(inside.any(1).sum())
        if not n_rules:
            return np.full(len(LEVELS), 3.0)
        levels = np.minimum(1.0, LEVELS * (1 + 1 / n_rules))
        return weighted_quantiles(np.concatenate(scores), np.concatenate(weights), levels)


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

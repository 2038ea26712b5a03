"""How far Shapley values are off: measured on held-out rows by unbiased estimates of the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from illume._typing import FloatArray, IntArray
from illume.results.quality import ContributionQuality, FeatureErrors
from illume.twin.shapley_model import ErrorModel

FLOOR = 1e-4  # of the mean error variance, below which no feature's goes
DRAWS = 400  # of rows, for intervals
WALK_PART = 0.03  # of the variance of a walk, that of the mean over all walks
PRIOR_SPREAD = 0.5  # of an error variance around what is expected of it
LEVEL_SPREAD = 1.0  # the same of all features together
TAILS = (1.4, 8)  # times as large as was measured, at least and over the number of rows: few hold the largest
LEAST_SHARE = 0.2  # of what is expected, below which no feature's error variance goes
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class WalkEstimates:
    """Unbiased estimates `values` (n, m, c) of the model's Shapley values, and the `variance` of each.

    `walk_variance` (m, c) is that of one walk of the model, with the network as control variate.
    """

    values: FloatArray
    variance: FloatArray
    walk_variance: FloatArray

    @classmethod
    def of_nothing(cls, values: FloatArray) -> WalkEstimates:
        """Return the estimates of no rows, like values (0, m, c)."""
        return cls(values, values, np.full(values.shape[1:], np.nan))

    @classmethod
    def from_walks(cls, walks: FloatArray, network: tuple[FloatArray, FloatArray]) -> WalkEstimates:
        """Put together the network's own values and walks (w, n, m, c) of what it misses of the model.

        The noise of two walks of one row says little; that of all rows is taken.
        """
        values, variance = network
        each = walks.var(0, ddof=1).mean(0) if len(walks) > 1 else np.full(walks.shape[2:], np.nan)
        return cls(values + walks.mean(0), variance + each / len(walks), each)


class NetworkRows(NamedTuple):
    """Rows with values (n, m, c), remainders (n, c), and the network's own values with their variances."""

    values: FloatArray
    remainder: FloatArray
    network: FloatArray
    variance: FloatArray


def fit_errors(
    values: FloatArray, remainder: FloatArray, reference: WalkEstimates, others: NetworkRows
) -> ErrorModel:
    """Learn from validation rows how far values (n, m, c) are off before `remainder` (n, c) is shared out.

    Few rows were walked on the model. How far values are from those of the network that learned the model is
    known of many `others`, without asking.
    """
    off = reference.values - values
    share = _shares(off, remainder, reference)
    square = np.square(off - remainder[:, None] * share) - reference.variance
    shared = others.remainder[:, None] * share
    own = np.square(others.network - others.values - shared) - others.variance
    mean = own.mean(0)
    variance = _pool(square, mean.clip(0), reference.walk_variance)
    size = np.maximum(np.sqrt(np.square(others.remainder).mean(0)), 1e-9)
    growth = np.broadcast_to(np.square(others.remainder / size)[:, None], own.shape)
    value = np.square(others.values + shared)
    scale = np.maximum(mean, FLOOR * max(mean.max(), TINY))
    terms = [np.ones(own.shape), growth, value / scale]
    weights, _ = nnls(np.stack([term.ravel() for term in terms], 1), (own / scale).ravel())
    by_value = min(weights[2], float((0.5 * variance / np.maximum(value.mean(0), TINY)).min()))
    by_remainder = min(weights[1] / max(weights[0] + weights[1], TINY), 0.5)
    constants = np.array([1 - by_remainder, by_remainder, by_value])
    return ErrorModel(share, variance - by_value * value.mean(0), constants, size, reference.walk_variance)


def _pool(square: FloatArray, own: FloatArray, walk: FloatArray) -> FloatArray:
    """Return error variances (m, c) from squared errors (n, m, c) that may be noisy, from few rows.

    What is expected of a feature is `own` (m, c), how far the values' network is from the network that
    learned the model, and a part of what this one misses on single walks; their level is put right by what
    was measured of all features together. The surer what was measured of one alone, the more that counts.
    """
    found, noise = square.mean(0), square.std(0) / max(len(square), 1) ** 0.5
    expected = np.maximum(own + WALK_PART * walk, FLOOR * max(own.mean(), walk.mean(), TINY))
    found = found / expected
    # each feature's own noise is largest where an error was, and so would weigh small errors most
    unsure = np.sqrt(np.square(noise / expected).mean(0))
    level = _weigh(1.0, found.mean(0), unsure / len(found) ** 0.5, LEVEL_SPREAD)
    each = _weigh(level, found, unsure, level * PRIOR_SPREAD)
    return np.asarray((TAILS[0] + TAILS[1] / len(square)) * each * expected)


def _weigh(expected: Any, found: FloatArray, noise: FloatArray, spread: Any) -> FloatArray:
    """Return the mean of what is expected and what was found, by how sure both are."""
    trust = 1 / (1 + np.square(noise / spread))
    return np.asarray(np.maximum(expected + trust * (found - expected), LEAST_SHARE * expected))


def _shares(off: FloatArray, remainder: FloatArray, reference: WalkEstimates) -> FloatArray:
    """Return which part of the remainder each feature gets, (m, c): a regression of its error on it."""
    slope = (off * remainder[:, None]).sum(0).clip(0)
    error = (np.square(off) - reference.variance).mean(0).clip(0)
    slope = slope / max(float(slope.sum()), 1e-12) * slope.shape[1]
    prior = error / max(float(error.sum()), 1e-12) * slope.shape[1]
    mixed = slope + 0.25 * prior
    totals = mixed.sum(0)
    equal = 1 / len(mixed)
    return np.where(totals > 0, mixed / np.where(totals > 0, totals, 1.0), equal)


def measure_quality(
    values: FloatArray,
    errors: FloatArray,
    reference: WalkEstimates,
    *,
    n_asked: int,
    fidelity: float,
    names: Sequence[str],
) -> ContributionQuality:
    """Compare final values (n, m, c) of report rows, with standard errors, with walks of the model."""
    n = len(values)
    if n < 2:
        nan = float("nan")
        return ContributionQuality(nan, nan, nan, nan, nan, n, n_asked, fidelity)
    square = np.square(values - reference.values) - reference.variance
    missed = square.sum((1, 2))
    inside = np.square(values - reference.values) <= 1.96**2 * (np.square(errors) + reference.variance)
    rng = np.random.default_rng(0)
    drawn = rng.integers(n, size=(DRAWS, n))
    r2 = [_r2(missed, reference, rows) for rows in drawn]
    low, high = np.quantile(r2, [0.025, 0.975])
    features = tuple(
        FeatureErrors(name, *map(float, figures))
        for name, figures in zip(
            names,
            zip(
                np.sqrt(square.mean((0, 2)).clip(0)),
                np.sqrt(np.square(errors).mean((0, 2))),
                np.where(np.isfinite(errors).all((0, 2)), inside.mean((0, 2)), np.nan),
                strict=True,
            ),
            strict=True,
        )
    )
    return ContributionQuality(
        r2=_r2(missed, reference, np.arange(n)),
        low=float(low),
        high=min(float(high), 1.0),
        error=float(np.sqrt(max(square.mean(), 0.0))),
        coverage=float(inside.mean()) if np.isfinite(errors).all() else float("nan"),
        n_rows=n,
        n_asked=n_asked,
        fidelity=fidelity,
        features=features,
    )


def _r2(missed: FloatArray, reference: WalkEstimates, rows: IntArray) -> float:
    values = reference.values[rows]
    spread = np.square(values - values.mean(0)).sum() - reference.variance[rows].sum() * (1 - 1 / len(rows))
    return float(1 - missed[rows].sum() / max(spread, 1e-12))

"""How far Shapley values are off: measured on held-out rows by unbiased estimates of the model's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from illume._typing import FloatArray, IntArray
from illume.results.quality import ContributionQuality
from illume.shapley.shapley_model import ErrorModel

FLOOR = 1e-3  # of the mean error variance, below which no feature's goes
DRAWS = 400  # of rows, for intervals
POOLED_ROWS = 10  # that the error of all features together counts as, beside the rows of one feature


@dataclass(frozen=True, eq=False)
class WalkEstimates:
    """Unbiased estimates `values` (n, m, c) of Shapley values, the variance of each, and that of one walk."""

    values: FloatArray
    variance: FloatArray
    walk_variance: FloatArray

    @classmethod
    def from_walks(cls, walks: FloatArray, network: tuple[FloatArray, FloatArray]) -> WalkEstimates:
        """Put together the network's own values and walks (w, n, m, c) of what it misses of the model."""
        values, variance = network
        each = walks.var(0, ddof=1) if len(walks) > 1 else np.full(walks.shape[1:], np.nan)
        return cls(values + walks.mean(0), variance + each / len(walks), each)


def fit_errors(values: FloatArray, remainder: FloatArray, reference: WalkEstimates) -> ErrorModel:
    """Learn from validation rows how far values (n, m, c) are off before `remainder` (n, c) is shared out."""
    off = reference.values - values
    share = _shares(off, remainder, reference)
    left = off - remainder[:, None] * share
    error = np.square(left) - reference.variance
    variance = _pool(error.mean(0), len(error))
    scale = np.maximum(np.sqrt(np.square(remainder).mean(0)), 1e-9)
    final = values + remainder[:, None] * share
    growth = np.square(remainder / scale)[:, None]
    others = _pool((error.sum(0) - error) / max(len(error) - 1, 1), len(error))
    terms = [others, growth * others, np.square(final)]
    weights, _ = nnls(np.stack([term.ravel() for term in terms], 1), error.clip(0).ravel())
    weights = _rescale(weights, terms, left, reference.variance)
    return ErrorModel(share, variance, weights, scale, reference.walk_variance.mean(0))


def _pool(variance: FloatArray, n: int) -> FloatArray:
    """Draw error variances (…, m, c), each from n rows, towards their mean: the more, the fewer rows.

    The mean of logarithms is taken, because variances of features differ by orders of magnitude. Without
    this, features that few rows happen to hit well would be called certain.
    """
    mean = np.maximum(variance.clip(0).mean((-2, -1), keepdims=True), 1e-12)
    share = n / (n + POOLED_ROWS)
    return np.asarray(mean * np.maximum(variance / mean, FLOOR) ** share)


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


def _rescale(weights: FloatArray, terms: list[FloatArray], left: FloatArray, noise: FloatArray) -> FloatArray:
    """Scale variances so that 95 % of errors lie within 1.96 standard errors; more, where there are few rows.

    The variance of a row's errors comes from the other rows, as it does for new rows.
    """
    outside = 0.05 * len(left) / (len(left) + POOLED_ROWS)
    variance = sum(w * term for w, term in zip(weights, terms, strict=True))
    if not np.any(weights > 0):
        return np.array([1.0, 0.0, 0.0])
    low, high = 0.1, 100.0
    for _ in range(40):
        factor = (low * high) ** 0.5
        inside = np.square(left) <= 1.96**2 * (factor * variance + noise)
        low, high = (low, factor) if inside.mean() > 1 - outside else (factor, high)
    return np.asarray(weights * (low * high) ** 0.5)


def measure_quality(
    values: FloatArray, errors: FloatArray, reference: WalkEstimates, *, n_asked: int, fidelity: float
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
    return ContributionQuality(
        r2=_r2(missed, reference, np.arange(n)),
        low=float(low),
        high=min(float(high), 1.0),
        error=float(np.sqrt(max(square.mean(), 0.0))),
        coverage=float(inside.mean()) if np.isfinite(errors).all() else float("nan"),
        n_rows=n,
        n_asked=n_asked,
        fidelity=fidelity,
    )


def _r2(missed: FloatArray, reference: WalkEstimates, rows: IntArray) -> float:
    values = reference.values[rows]
    spread = np.square(values - values.mean(0)).sum() - reference.variance[rows].sum() * (1 - 1 / len(rows))
    return float(1 - missed[rows].sum() / max(spread, 1e-12))

"""How close contributions are to a reference, and how the model answers to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.truth.case import Case
from benchmarks.truth.reference import Reference
from illume import metrics
from illume._typing import BoolArray, FloatArray, IntArray
from illume.metrics import cosine_score

TOP = 3
SAMPLES = 32


def errors(values: FloatArray, reference: Reference) -> dict[str, float]:
    """Compare with the reference, all arrays (n, features, outputs).

    `r2` is one minus the squared error over the variance of the reference over rows; `r2_unbiased` removes
    the noise of the reference by products of its halves; `r2_scaled` is r2 after the best common factor, for
    methods in other units.
    """
    truth = reference.values
    missed, spread = np.square(values - truth).sum(), np.square(truth - truth.mean(axis=0)).sum()
    first, second = (half - half.mean(axis=0) for half in (reference.first, reference.second))
    unbiased = ((values - reference.first) * (values - reference.second)).sum()
    factor = (values * truth).sum() / max(np.square(values).sum(), 1e-300)
    return {
        "relative_error": _ratio(missed, np.square(truth).sum()),
        "r2": 1.0 - _ratio(missed, spread),
        "r2_unbiased": 1.0 - _ratio(unbiased, (first * second).sum()),
        "r2_scaled": 1.0 - _ratio(np.square(factor * values - truth).sum(), spread),
    }


def agreement(values: FloatArray, truth: FloatArray) -> dict[str, float]:
    """Compare row by row, (n, features) each: correlation, and the common share of the strongest features."""
    centred = [each - each.mean(axis=1, keepdims=True) for each in (values, truth)]
    top = min(TOP, values.shape[1])
    both = _strongest(values, top) & _strongest(truth, top)
    return {
        "correlation": float(np.mean(cosine_score(*centred))),
        "top3": float(np.mean(both.sum(axis=1) / top)),
    }


def coverage(values: FloatArray, standard_errors: FloatArray, truth: Reference) -> float:
    """Return the share of 95 % intervals that contain the reference, whose own variance is added."""
    noise = np.square(truth.first - truth.second).mean(0) / 4
    within = 1.96 * np.sqrt(np.square(standard_errors) + noise)
    return float(np.mean(np.abs(values - truth.values) <= within))


def decided_class(values: FloatArray, decisions: IntArray) -> FloatArray:
    """Return the contributions to the decided class, (n, features)."""
    if values.shape[2] == 1:
        return values[:, :, 0] * np.where(decisions == 1, 1.0, -1.0)[:, None]
    return values[np.arange(len(values)), :, decisions]


def query_scores(case: Case, decided: FloatArray) -> dict[str, float]:
    """Return infidelity, and the prediction gaps of important and unimportant features."""
    encoding, n = case.problem.encoding, len(decided)
    X, classes = case.coding.encode(case.X[:n]), case.decisions[:n]
    first = np.unique(encoding.owner, return_index=True)[1]
    per_column = np.zeros(X.shape)
    per_column[:, first] = decided  # the whole contribution of a feature is on its first column
    call = (per_column, X, case.problem.model.predict_proba, classes)
    common: dict[str, Any] = {"background": case.coding.encode(case.B), "owner": encoding.owner}
    return {
        "infidelity": metrics.infidelity(*call, n_samples=SAMPLES, **common),
        "pgi": metrics.prediction_gap(*call, important=True, **common),
        "pgu": metrics.prediction_gap(*call, important=False, **common),
    }


def _strongest(values: FloatArray, top: int) -> BoolArray:
    found = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(found, np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top], True, axis=1)
    return found


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")

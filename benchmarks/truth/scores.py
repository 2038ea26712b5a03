"""How near contributions are to a reference, and what the model says of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.truth.case import Case
from benchmarks.truth.walks import Halves
from illume import metrics
from illume._typing import BoolArray, FloatArray, IntArray
from illume.metrics import cosine_score

SURE = 1.96  # standard errors on either side of 95 % of a normal distribution
TOP = 3
ASKED_SAMPLES = 32


def errors(values: FloatArray, reference: Halves) -> dict[str, float]:
    """Compare with the reference, all arrays (n, features, outputs).

    `r2` is one minus the squared error over the squared distances of the reference from its means over
    rows; `r2_unbiased` the same with the noise of the reference taken out, by products of its halves.
    `r2_scaled` is r2 after the one factor that suits the values best, for methods in other units.
    """
    truth = reference.values
    missed, spread = np.square(values - truth).sum(), np.square(truth - truth.mean(axis=0)).sum()
    first, second = (half - half.mean(axis=0) for half in (reference.first, reference.second))
    clean = ((values - reference.first) * (values - reference.second)).sum()
    factor = (values * truth).sum() / max(np.square(values).sum(), 1e-300)
    return {
        "relative_error": _ratio(missed, np.square(truth).sum()),
        "r2": 1.0 - _ratio(missed, spread),
        "r2_unbiased": 1.0 - _ratio(clean, (first * second).sum()),
        "r2_scaled": 1.0 - _ratio(np.square(factor * values - truth).sum(), spread),
    }


def agreement(values: FloatArray, truth: FloatArray) -> dict[str, float]:
    """Compare row by row, (n, features) each: correlation, and the share of the strongest that is found."""
    return {
        "correlation": float(np.mean(cosine_score(_centred(values), _centred(truth)))),
        "top3": float(np.mean(overlap(values, truth, min(TOP, values.shape[1])))),
    }


def overlap(values: FloatArray, truth: FloatArray, top: int) -> FloatArray:
    """Return which share of a row's strongest features both name.

    >>> overlap(np.array([[3.0, -2.0, 1.0]]), np.array([[3.0, 1.0, -2.0]]), 2)
    array([0.5])
    """
    both = _strongest(values, top) & _strongest(truth, top)
    return both.sum(axis=1) / top


def coverage(values: FloatArray, errors: FloatArray, truth: Halves) -> float:
    """Return the share of values whose 95 % interval holds the reference.

    The reference's own variance, by the difference of its two halves and a mean over rows, is added to that
    of the values: an interval cannot be blamed for noise that is not its own.
    """
    noise = np.square(truth.first - truth.second).mean(0) / 4
    return float(np.mean(np.abs(values - truth.values) <= SURE * np.sqrt(np.square(errors) + noise)))


def of_decided(values: FloatArray, decisions: IntArray) -> FloatArray:
    """Return the contributions to the decided class, (n, features)."""
    if values.shape[2] == 1:
        return values[:, :, 0] * np.where(decisions == 1, 1.0, -1.0)[:, None]
    return values[np.arange(len(values)), :, decisions]


def asked(case: Case, decided: FloatArray) -> dict[str, float]:
    """Put contributions to the model: infidelity, and gaps for features that matter and that do not."""
    encoding, n = case.problem.encoding, len(decided)
    X, classes = case.coding.encode(case.X[:n]), case.decisions[:n]
    first = np.unique(encoding.owner, return_index=True)[1]
    per_column = np.zeros(X.shape)
    per_column[:, first] = decided  # a feature's whole contribution stands on its first column
    ask = case.problem.model.predict_proba
    common: dict[str, Any] = {"background": case.coding.encode(case.B), "owner": encoding.owner}
    infidelity = metrics.infidelity(per_column, X, ask, classes, n_samples=ASKED_SAMPLES, **common)
    gaps = {
        name: metrics.prediction_gap(per_column, X, ask, classes, important=important, **common)
        for name, important in (("pgi", True), ("pgu", False))
    }
    return {"infidelity": infidelity} | gaps


def nulls(values: FloatArray, n_null: int) -> list[float]:
    """Return the mean size of the last features' contributions as shares of the strongest feature's.

    >>> nulls(np.array([[[4.0], [1.0], [0.0]]]), 2)
    [0.25, 0.0]
    """
    sizes = np.abs(values).mean(axis=(0, 2))
    return [_ratio(size, sizes[:-n_null].max()) for size in sizes[-n_null:]]


def likeness(first: FloatArray, second: FloatArray) -> dict[str, float]:
    """Compare two explanations of the same rows: the mean cosine of a row, and the difference's share."""
    flat = [values.reshape(len(values), -1) for values in (first, second)]
    middle = (first + second) / 2
    return {
        "cosine": float(np.mean(cosine_score(*flat))),
        "difference": _ratio(np.square(first - second).sum(), np.square(middle - middle.mean(axis=0)).sum()),
    }


def _strongest(values: FloatArray, top: int) -> BoolArray:
    found = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(found, np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top], True, axis=1)
    return found


def _centred(values: FloatArray) -> FloatArray:
    return values - values.mean(axis=1, keepdims=True)


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")

"""What TreeExplainer says of boosted trees and forests: exact where it can be, path dependent elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.methods.outcome import by_feature
from benchmarks.truth.case import Case
from illume._typing import FloatArray

MARGINS = ("xgb", "lgb")  # their trees add up to log-odds
SAME = 1e-6  # share of the variance by which margins and log-odds may differ
MIXED_ROWS = 2000


def exact(case: Case) -> FloatArray | None:
    """Return interventional Shapley values, (n, features, outputs); None where trees do not say them.

    They do where each feature is a numeric column and the sum of the trees is the log-odds.
    """
    if case.problem.black_box not in MARGINS or case.coding.categorical or not margins_are_log_odds(case):
        return None
    background = case.coding.encode(case.B)
    try:
        from shap import TreeExplainer

        explainer = TreeExplainer(
            _fitted(case).classifier, data=background, feature_perturbation="interventional"
        )
        values = per_output(explainer.shap_values(case.coding.encode(case.X)), case)
    except Exception as error:  # the package is not there, or refuses some versions of models
        print(f"TreeExplainer: {error}; values are walked instead")
        return None
    return values if adds_up(values, case) else None


def path_dependent(case: Case) -> Callable[[FloatArray], FloatArray]:
    """Return what explains coded rows by `TreeExplainer(model)`, columns of a category added up.

    Of a forest they are in units of probability.
    """
    from shap import TreeExplainer

    explainer = TreeExplainer(_fitted(case).classifier)
    return lambda codes: per_output(explainer.shap_values(case.coding.encode(codes)), case)


def per_output(found: Any, case: Case) -> FloatArray:
    """Return values (n, features, outputs), whatever layout the package chose: centred over classes."""
    values = np.moveaxis(np.asarray(found), 0, -1) if isinstance(found, list) else np.asarray(found)
    n_classes = len(case.problem.classes)
    if n_classes == 2:
        values = values[:, :, None] if values.ndim == 2 else values[:, :, 1:]
    else:
        every = np.zeros((*values.shape[:2], n_classes))
        every[:, :, _fitted(case).seen_] = values
        values = every - every.mean(axis=2, keepdims=True)
    owner = case.problem.encoding.owner
    return np.stack([by_feature(values[:, :, c], owner) for c in range(values.shape[2])], axis=2)


def margins_are_log_odds(case: Case) -> bool:
    """Compare both on rows mixed of explained and background rows, where Shapley values look."""
    rng = np.random.default_rng(0)
    pick = [rows[rng.integers(len(rows), size=MIXED_ROWS)] for rows in (case.X, case.B)]
    mixed = np.where(rng.random(pick[0].shape) < rng.random((MIXED_ROWS, 1)), *pick)
    truth = case.log_odds(mixed)
    margins = _margins(case, case.coding.encode(mixed))
    if margins.shape != truth.shape:
        return False
    return bool(np.square(margins - truth).mean() <= SAME * max(truth.var(), 1e-12))


def _fitted(case: Case) -> Any:
    """Return the searched model, with the library's own classifier inside."""
    return case.problem.model


def _margins(case: Case, X: FloatArray) -> FloatArray:
    classifier = _fitted(case).classifier
    option = "output_margin" if case.problem.black_box == "xgb" else "raw_score"
    margins = np.asarray(classifier.predict(X, **{option: True}), dtype=float).reshape(len(X), -1)
    return margins if margins.shape[1] == 1 else margins - margins.mean(axis=1, keepdims=True)


def adds_up(values: FloatArray, case: Case) -> bool:
    """Say whether values add up to a row's log-odds less the mean of the background."""
    gain = case.log_odds(case.X) - case.log_odds(case.B).mean(axis=0)
    missed = np.square(values.sum(axis=1) - gain).mean()
    return bool(missed <= 1e3 * SAME * max(gain.var(), 1e-12))

"""LIME and SHAP, from their own packages."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import Outcome, by_feature, explained_classes

LIME_ROWS = 100
KERNEL_ROWS = 100
BACKGROUND_ROWS = 100


def lime(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """LIME without discretising, as in the paper: the local model's weights are slopes."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(
        problem.X_train, mode="classification", discretize_continuous=False, random_state=problem.seed
    )
    rows = np.arange(min(setting.get("rows", LIME_ROWS), len(problem.X_test)))
    classes, m = explained_classes(problem)[rows], problem.X_test.shape[1]
    slopes = np.zeros((len(rows), m))
    start = time.perf_counter()
    for i, (x, c) in enumerate(zip(problem.X_test[rows], classes, strict=True)):
        found = explainer.explain_instance(
            x,
            problem.model.predict_proba,
            labels=(int(c),),
            num_features=m,
            num_samples=setting["samples"],
        )
        for j, weight in found.as_map()[int(c)]:
            slopes[i, j] = weight
    seconds = time.perf_counter() - start
    # Its weights are per standard deviation of a column, 0/1 columns included.
    return Outcome(rows, slopes=slopes / explainer.scaler.scale_, explain_s=seconds)


def shap(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Tree SHAP where the black box is an ensemble of trees, kernel SHAP otherwise."""
    import shap as package

    classes = explained_classes(problem)
    start = time.perf_counter()
    if problem.black_box in ("xgb", "lgb", "ctb", "forest"):
        rows = np.arange(len(problem.X_test))
        explainer = package.TreeExplainer(problem.model.classifier)
        ready = time.perf_counter()
        values = _per_class(explainer.shap_values(problem.X_test), problem, classes)
    else:
        rows = np.arange(min(setting.get("rows", KERNEL_ROWS), len(problem.X_test)))
        background = package.sample(problem.X_train, BACKGROUND_ROWS, random_state=problem.seed)
        np.random.seed(problem.seed)  # noqa: NPY002 -- the package draws from the global generator
        explainer = package.KernelExplainer(problem.model.predict_proba, background)
        ready = time.perf_counter()
        found = np.asarray(explainer.shap_values(problem.X_test[rows], silent=True))
        values = found[np.arange(len(rows)), :, classes[rows]]
    done = time.perf_counter()
    contributions = by_feature(values, problem.encoding.owner)
    return Outcome(rows, contributions=contributions, fit_s=ready - start, explain_s=done - ready)


def _per_class(found: Any, problem: Problem, classes: np.ndarray) -> np.ndarray:
    """Return each row's values of its class, whatever layout the package chose."""
    values = np.asarray(found)
    if isinstance(found, list):
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 2:  # the log-odds of the second of two classes
        return values * np.where(classes == 1, 1.0, -1.0)[:, None]
    seen = np.full(len(problem.classes), -1)
    seen[problem.model.seen_] = np.arange(len(problem.model.seen_))
    picked = values[np.arange(len(values)), :, np.maximum(seen[classes], 0)]
    return np.where((seen[classes] >= 0)[:, None], picked, 0.0)

"""LIME and SHAP, from their own packages."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import Outcome, by_feature, explained_classes, one_class

LIME_ROWS = 100
KERNEL_ROWS = 100
BACKGROUND_ROWS = 100


def lime(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """LIME without discretising, as in the paper: the local model's weights are slopes."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(
        problem.X_train,
        mode="classification",
        discretize_continuous=False,
        feature_selection="none",  # all features are kept; selecting them one by one would only take time
        random_state=problem.seed,
    )
    rows = np.arange(min(setting.get("rows", LIME_ROWS), len(problem.X_test)))
    classes, one, m = explained_classes(problem)[rows], one_class(problem)[rows], problem.X_test.shape[1]
    slopes, of_one = np.zeros((len(rows), m)), np.zeros((len(rows), m))
    start = time.perf_counter()
    for i, (x, c, d) in enumerate(zip(problem.X_test[rows], classes, one, strict=True)):
        found = explainer.explain_instance(
            x,
            problem.model.predict_proba,
            labels=sorted({int(c), int(d)}),
            num_features=m,
            num_samples=setting["samples"],
        )
        for values, label in ((slopes, c), (of_one, d)):
            for j, weight in found.as_map()[int(label)]:
                values[i, j] = weight
    seconds = time.perf_counter() - start
    # Its weights are per standard deviation of a column, 0/1 columns included.
    scale = explainer.scaler.scale_
    return Outcome(rows, slopes=slopes / scale, slopes_of_one=of_one / scale, explain_s=seconds)


def shap(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Tree SHAP where the black box is an ensemble of trees, kernel SHAP otherwise."""
    import shap as package

    classes, one = explained_classes(problem), one_class(problem)
    start = time.perf_counter()
    if problem.black_box in ("xgb", "lgb", "ctb", "forest"):
        rows = np.arange(len(problem.X_test))
        explainer = package.TreeExplainer(problem.model.classifier)
        ready = time.perf_counter()
        found = explainer.shap_values(problem.X_test)
        done = time.perf_counter()
        values, of_one = (_per_class(found, problem, c) for c in (classes, one))
    else:
        rows = np.arange(min(setting.get("rows", KERNEL_ROWS), len(problem.X_test)))
        background = package.sample(problem.X_train, BACKGROUND_ROWS, random_state=problem.seed)
        np.random.seed(problem.seed)  # noqa: NPY002 -- the package draws from the global generator
        explainer = package.KernelExplainer(problem.model.predict_proba, background)
        ready = time.perf_counter()
        found = np.asarray(explainer.shap_values(problem.X_test[rows], silent=True))
        done = time.perf_counter()
        values, of_one = (found[np.arange(len(rows)), :, c[rows]] for c in (classes, one))
    owner = problem.encoding.owner
    return Outcome(
        rows,
        contributions=by_feature(values, owner),
        contributions_of_one=by_feature(of_one, owner),
        fit_s=ready - start,
        explain_s=done - ready,
    )


def _per_class(found: Any, problem: Problem, classes: np.ndarray) -> np.ndarray:
    """Return each row's values of its class, whatever layout the package chose."""
    values = np.asarray(found)
    if isinstance(found, list):
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 2:  # the log-odds of the second of two classes
        return values * np.where(classes == problem.model.seen_[1], 1.0, -1.0)[:, None]
    seen = np.full(len(problem.classes), -1)
    seen[problem.model.seen_] = np.arange(len(problem.model.seen_))
    picked = values[np.arange(len(values)), :, np.maximum(seen[classes], 0)]
    return np.where((seen[classes] >= 0)[:, None], picked, 0.0)

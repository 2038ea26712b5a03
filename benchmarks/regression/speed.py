"""Attributions a second for a model that answers with a number, beside shap's on the same model and rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import throughput
from benchmarks.harness import Line
from benchmarks.packages import no_warnings, short_training
from benchmarks.regression.case import TREES, Case
from illume import DataOptions, Explainer
from illume._typing import FloatArray

ROWS, FEATURES, ROUNDS = 1_000_000, 30, 3
MANY_ROWS = 10_000  # that the time of a fit is shared by
BEHIND = 100  # background rows of shap's explainers, as many as they take by default
LIMIT_S = 20.0  # after which a slow explainer gets no more rows


def throughput_figures(threads: str) -> Line:
    """Measure rows a second without the black box, as `throughput` does, for a model of numbers."""
    import torch

    X = np.random.default_rng(0).normal(size=(ROWS, FEATURES))
    options = {"surrogate_options": short_training(8, max_epochs=3), "queries": 2000, "verbose": False}
    explainer = Explainer(cheap_model, data_options=DataOptions(task="regression"), **options).fit(X[:3000])
    n = torch.get_num_threads() if threads == "all" else int(threads)
    with throughput.limit_threads(n):
        found = throughput.measure(explainer, X, ROUNDS, cheap_model)
    return found | {"rows": ROWS, "n_features": FEATURES, "threads": n}


def cheap_model(rows: FloatArray) -> FloatArray:
    """Answer with a number at almost no cost."""
    return 100 * rows[:, 0] * rows[:, 1] + 50 * rows[:, 2]


def shap_figures(case: Case, explainer: Any, fit_s: float) -> Line:
    """Measure rows a second of illume and of shap's explainers, the black box's time included.

    illume explains the test rows repeated up to 10,000; slow methods explain as many as fit into the limit.
    """
    many = case.test.iloc[np.arange(MANY_ROWS) % len(case.test)].reset_index(drop=True)
    explainer(many.head(100))
    start = time.perf_counter()
    explainer(many)
    seconds = time.perf_counter() - start
    found: Line = {"illume_rows_per_second": MANY_ROWS / seconds}
    found["illume_with_fit_rows_per_second"] = MANY_ROWS / (seconds + fit_s)
    X = case.encoding.transform(many)
    for name, explain in shap_explainers(case).items():
        rate = rows_per_second(explain, X)
        found |= {f"{name}_rows_per_second": rate, f"times_{name}": MANY_ROWS / seconds / rate}
        found[f"times_{name}_with_fit"] = MANY_ROWS / (seconds + fit_s) / rate
    return found


def shap_explainers(case: Case) -> dict[str, Callable[[FloatArray], object]]:
    import shap

    model, behind = case.black_box.model, case.encoding.transform(case.background)[:BEHIND]
    masker = shap.maskers.Independent(behind, max_samples=BEHIND)
    permutation = shap.PermutationExplainer(model.predict, masker, seed=0)
    found: dict[str, Callable[[FloatArray], object]] = {}
    if case.model in TREES:
        tree = shap.TreeExplainer(model)
        interventional = shap.TreeExplainer(model, masker, feature_perturbation="interventional")
        found["tree"] = tree.shap_values
        found["interventional_tree"] = interventional.shap_values
    found["permutation"] = lambda X: permutation(X, silent=True)
    return found


def rows_per_second(
    explain: Callable[[FloatArray], object], X: FloatArray, limit_s: float = LIMIT_S
) -> float:
    """Explain more and more rows until the next step would take longer than the limit."""
    n = 5
    with no_warnings():
        explain(X[:2])  # some compile on their first call
        while True:
            start = time.perf_counter()
            explain(X[:n])
            seconds = time.perf_counter() - start
            if n >= len(X) or seconds / n * min(4 * n, len(X)) > limit_s:
                return n / seconds
            n = min(4 * n, len(X))

"""Methods made ready for a case: illume, shap and LIME, with a budget of queries for each row."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from math import isqrt
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Line, NotApplicableError
from benchmarks.packages import no_warnings, seed_generators
from benchmarks.truth.case import Case
from benchmarks.truth.reference import output_values
from illume import Explainer
from illume._typing import FloatArray, IntArray

SETTINGS: dict[str, Line] = {
    "illume": {"contributions": "shapley", "effort": "standard"},
    "illume-quick": {"contributions": "shapley", "effort": "quick"},
    "illume-thorough": {"contributions": "shapley", "effort": "thorough"},
    "illume-pullback": {"contributions": "pullback", "effort": "standard"},
}
REFINE = "illume-refine-"
LEAST = "least"  # the smallest budget that a method accepts
SETS_PER_FEATURE = 4  # with fewer, the equations of kernel methods are often singular
Values = tuple[FloatArray, FloatArray | None]  # contributions and standard errors, (n, features, outputs)
Peer = tuple[Callable[[IntArray], Any], Line]  # a function of row positions, and its settings


@dataclass(frozen=True, eq=False)
class Ready:
    """A method that explains rows of a case by position; `at_once` all in one call."""

    explain: Callable[[IntArray], Values]
    at_once: bool = False
    fit_s: float = 0.0
    fit_queries: int = 0
    setting: Line = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted explainer of illume, and its cost."""

    explainer: Any
    seconds: float
    queries: int


def parse_illume(method: str) -> tuple[str, int]:
    """Return the fit that a method uses, and its further queries for each row.

    >>> parse_illume("illume-refine-64"), parse_illume("illume-thorough")
    (('illume', 64), ('illume-thorough', 0))
    """
    if method.startswith(REFINE):
        return "illume", int(method.removeprefix(REFINE))
    return method, 0


def fit_illume(case: Case, name: str) -> Fit:
    """Fit on the training rows of a case and count the queries."""
    before, start = case.counting.queries, time.perf_counter()
    options = dict(SETTINGS[name])
    if options["contributions"] != "pullback":
        options["background"] = case.background
    options |= {"random_state": 0, "device": os.environ.get("ILLUME_DEVICE", "cpu")}
    explainer = Explainer(case.frame_model, unknown="ignore", verbose=False, **options)
    explainer.fit(case.problem.train)
    return Fit(explainer, time.perf_counter() - start, case.counting.queries - before)


def explain_illume(explainer: Any, frame: pd.DataFrame, refine: int = 0) -> Values:
    found = explainer(frame, refine=refine) if refine else explainer(frame)
    errors = getattr(found, "standard_errors", None)
    return with_outputs(found.values), None if errors is None else with_outputs(errors)


def with_outputs(values: Any) -> FloatArray:
    """Give values of one output an axis for it.

    >>> with_outputs(np.zeros((5, 3))).shape
    (5, 3, 1)
    """
    values = np.asarray(values, dtype=float)
    return values[:, :, None] if values.ndim == 2 else values


@dataclass(frozen=True)
class Shares:
    """A number of feature sets, each evaluated with a number of background rows."""

    sets: int
    background: int


def share_budget(
    budget: str, least: int, most_background: int, *, step: int = 1, most_sets: int | None = None
) -> Shares:
    """Split a budget evenly, with at least `least` sets and at most `most_sets`, in multiples of `step`.

    >>> share_budget("1024", 10, 500), share_budget("64", 42, 500), share_budget("least", 42, 500)
    (Shares(sets=32, background=32), Shares(sets=64, background=1), Shares(sets=42, background=1))
    """
    queries = _budget(budget, least)
    most = most_sets or queries
    sets = min(most, max(least, isqrt(queries)))
    background = max(1, min(most_background, queries // sets))
    return Shares(min(most, max(least, queries // background // step * step)), background)


def _budget(budget: str, least: int) -> int:
    queries = least if budget == LEAST else int(budget)
    if queries < least:
        raise NotApplicableError(f"needs at least {least} asks a row")
    return queries


def make_ready(case: Case, method: str) -> Ready:
    """Construct a peer such as `shap-kernel@256` and measure what that costs."""
    name, _, budget = method.partition("@")
    import_module(name.partition("-")[0])  # outside the measured time
    start, before = time.perf_counter(), case.counting.queries
    call, setting = PEERS[name](case, budget)
    cost = time.perf_counter() - start, case.counting.queries - before

    def explain(rows: IntArray) -> Values:
        with no_warnings():
            return with_outputs(call(rows)), None

    if name == "shap-permutation":
        explain(np.array([0]))  # it compiles on its first call
    return Ready(explain, name == "shap-tree", *cost, dict(setting))


def shap_tree(case: Case, budget: str) -> Peer:
    """`TreeExplainer(model)`, path dependent; of a forest in units of probability."""
    from shap import TreeExplainer

    explainer, encode = TreeExplainer(case.problem.model.classifier), case.coding.encode
    output = "probabilities" if case.problem.black_box == "forest" else "margins"
    return lambda rows: output_values(explainer.shap_values(encode(case.X[rows])), case), {"output": output}


def shap_kernel(case: Case, budget: str) -> Peer:
    """`KernelExplainer` without its selection of features."""
    import shap

    shares = _share_kernel_budget(case, budget)
    seed_generators(case.problem.seed)
    explainer = shap.KernelExplainer(case.log_odds, sample_background(case, shares.background))
    options = {"nsamples": shares.sets, "l1_reg": False, "silent": True}
    return lambda rows: explainer.shap_values(case.X[rows], **options), vars(shares)


def shap_permutation(case: Case, budget: str) -> Peer:
    """`PermutationExplainer`: whole walks and their reverses, each with all background rows."""
    import shap

    one = 2 * case.X.shape[1] + 1
    shares = share_budget(budget, one, len(case.B), step=one)
    background = sample_background(case, shares.background)
    masker = shap.maskers.Independent(background, max_samples=shares.background)
    explainer = shap.PermutationExplainer(case.log_odds, masker, seed=case.problem.seed)
    return lambda rows: explainer(case.X[rows], max_evals=shares.sets, silent=True).values, vars(shares)


def lime(case: Case, budget: str) -> Peer:
    """`LimeTabularExplainer` with its defaults: weights of bins and categories, in units of probability."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(
        case.coding.codes(case.problem.train),
        mode="classification",
        categorical_features=case.coding.categorical,
        random_state=case.problem.seed,
    )
    n_classes = len(case.problem.classes)
    labels = [1] if n_classes == 2 else list(range(n_classes))
    options = {"labels": labels, "num_features": case.X.shape[1]}

    def explain(rows: IntArray) -> Any:
        values = np.zeros((len(rows), case.X.shape[1], len(labels)))
        for i, x in enumerate(case.X[rows]):
            found = explainer.explain_instance(x, case.probabilities, **options).as_map()
            for place, label in enumerate(labels):
                for j, weight in found[label]:
                    values[i, j, place] = weight
        return values

    return explain, {"samples": 5000, "output": "probabilities"}


def _share_kernel_budget(case: Case, budget: str) -> Shares:
    n_features = case.X.shape[1]
    return share_budget(budget, SETS_PER_FEATURE * n_features, len(case.B), most_sets=2**n_features)


def sample_background(case: Case, n: int) -> FloatArray:
    return case.B[np.random.default_rng([case.problem.seed, 13]).permutation(len(case.B))[:n]]


PEERS: dict[str, Callable[[Case, str], Peer]] = {
    "shap-tree": shap_tree,
    "shap-kernel": shap_kernel,
    "shap-permutation": shap_permutation,
    "lime": lime,
}

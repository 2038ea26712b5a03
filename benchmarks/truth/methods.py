"""Methods made ready for a case: illume, shap, shapiq and LIME, with a budget of queries for each row."""

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
from illume._typing import BoolArray, FloatArray, IntArray

SETTINGS: dict[str, Line] = {
    "illume": {"contributions": "shapley", "effort": "standard"},
    "illume-quick": {"contributions": "shapley", "effort": "quick"},
    "illume-thorough": {"contributions": "shapley", "effort": "thorough"},
    "illume-pullback": {"contributions": "pullback", "effort": "standard"},
}
REFINE = "illume-refine-"
LEAST = "least"  # the smallest budget that a method accepts
SETS_PER_FEATURE = 4  # with fewer, the equations of kernel methods are often singular
ALWAYS = 1e6  # weight of the empty and the full set
Values = tuple[FloatArray, FloatArray | None]  # contributions and standard errors, (n, features, outputs)
Peer = tuple[Callable[[IntArray], Any], Line]  # a function of row positions, and its settings


@dataclass(frozen=True, eq=False)
class Ready:
    """A method that explains rows of a case by position; `at_once` all in one call."""

    explain: Callable[[IntArray], Values]
    at_once: bool = False
    fit_s: float = 0.0
    fit_queries: int = 0
    fit_processor_s: float | None = None
    setting: Line = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted explainer of illume, and its cost."""

    explainer: Any
    seconds: float
    processor_seconds: float
    queries: int


def parse_illume(method: str) -> tuple[str, int]:
    """Return the fit that a method uses, and its further queries for each row.

    >>> parse_illume("illume-refine-64"), parse_illume("illume-thorough")
    (('illume', 64), ('illume-thorough', 0))
    """
    if method.startswith(REFINE):
        return "illume", int(method.removeprefix(REFINE))
    return method, 0


def fit_illume(
    case: Case,
    name: str,
    seed: int = 0,
    train: pd.DataFrame | None = None,
    background: pd.DataFrame | None = None,
) -> Fit:
    """Fit on the training rows of a case, or on other rows, and count the queries."""
    before, start, processor = case.counting.queries, time.perf_counter(), time.process_time()
    options = dict(SETTINGS[name])
    if options["contributions"] != "pullback":
        options["background"] = case.background if background is None else background
    options |= {"random_state": seed, "device": os.environ.get("ILLUME_DEVICE", "cpu")}
    explainer = Explainer(case.frame_model, unknown="ignore", verbose=False, **options)
    explainer.fit(case.problem.train if train is None else train)
    seconds = time.perf_counter() - start, time.process_time() - processor
    return Fit(explainer, *seconds, case.counting.queries - before)


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


def shap_sampling(case: Case, budget: str) -> Peer:
    """`SamplingExplainer` over all background rows: at least two samples of two queries for each feature."""
    import shap

    samples = _budget(budget, 4 * case.X.shape[1]) // 2
    seed_generators(case.problem.seed)
    explainer = shap.SamplingExplainer(case.log_odds, case.B)

    def explain(rows: IntArray) -> Any:
        with np.errstate(all="ignore"):
            found = [explainer.explain(case.X[[row]], nsamples=samples) for row in rows]
        return np.nan_to_num(np.stack([with_outputs(one[None])[0] for one in found]))

    return explain, {"samples": samples, "background": len(case.B)}


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


def shapiq_kernel(case: Case, budget: str, weights: FloatArray | None = None) -> Peer:
    """`KernelSHAP` of shapiq with paired sets."""
    from shapiq.approximator import KernelSHAP

    shares, n_features = _share_kernel_budget(case, budget), case.X.shape[1]
    options = {"pairing_trick": True, "sampling_weights": weights, "random_state": case.problem.seed}
    background = sample_background(case, shares.background)
    empty = case.log_odds(background).mean(axis=0)

    def explain_row(x: FloatArray) -> FloatArray:
        game = Game(case, x, background, empty)
        values = np.empty((n_features, len(empty)))
        for output in range(len(empty)):  # the same seed draws the same sets for each output
            found = KernelSHAP(n_features, **options).approximate(
                shares.sets, lambda sets, output=output: game(sets)[:, output]
            )
            values[:, output] = found.get_n_order_values(1)
        return values

    return lambda rows: np.stack([explain_row(x) for x in case.X[rows]]), vars(shares)


def shapiq_leverage(case: Case, budget: str) -> Peer:
    """`KernelSHAP` of shapiq with the sampling of LeverageSHAP: every size of a set is equally likely."""
    weights = np.ones(case.X.shape[1] + 1)
    weights[[0, -1]] = ALWAYS
    return shapiq_kernel(case, budget, weights / weights.sum())


def _share_kernel_budget(case: Case, budget: str) -> Shares:
    n_features = case.X.shape[1]
    return share_budget(budget, SETS_PER_FEATURE * n_features, len(case.B), most_sets=2**n_features)


class Game:
    """The game of a row: the mean log-odds over background rows, kept for sets that come again."""

    def __init__(self, case: Case, x: FloatArray, background: FloatArray, empty: FloatArray) -> None:
        self.case, self.x, self.background = case, x, background
        self.known = {np.zeros(len(x), dtype=bool).tobytes(): empty}

    def __call__(self, sets: BoolArray) -> FloatArray:
        sets = np.asarray(sets, dtype=bool)
        keys = [one.tobytes() for one in sets]
        new = list({key: i for i, key in enumerate(keys) if key not in self.known}.values())
        if new:
            rows = np.where(sets[new][:, None, :], self.x, self.background)
            answers = self.case.log_odds(rows.reshape(-1, len(self.x)))
            found = answers.reshape(len(new), len(self.background), -1).mean(axis=1)
            self.known |= {keys[i]: worth for i, worth in zip(new, found, strict=True)}
        return np.stack([self.known[key] for key in keys])


def sample_background(case: Case, n: int) -> FloatArray:
    return case.B[np.random.default_rng([case.problem.seed, 13]).permutation(len(case.B))[:n]]


PEERS: dict[str, Callable[[Case, str], Peer]] = {
    "shap-tree": shap_tree,
    "shap-kernel": shap_kernel,
    "shap-permutation": shap_permutation,
    "shap-sampling": shap_sampling,
    "shapiq-kernel": shapiq_kernel,
    "shapiq-leverage": shapiq_leverage,
    "lime": lime,
}

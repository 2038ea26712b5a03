"""shap and LIME, made ready for a case: categories are single players, the output is the log-odds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.truth import trees
from benchmarks.truth.budgets import TooFewAsksError, shared
from benchmarks.truth.case import Case
from benchmarks.truth.cells import LEAST
from benchmarks.truth.explaining import Ready, Values
from benchmarks.truth.ours import as_outputs
from illume._typing import FloatArray, IntArray


def tree(case: Case, budget: str) -> Ready:
    """`TreeExplainer(model)`, path dependent."""
    start, before = time.perf_counter(), case.counted.asks
    explain = trees.path_dependent(case)
    output = "probabilities" if case.problem.black_box == "forest" else "margins"
    ready = _ready(case, lambda rows: (explain(case.X[rows]), None), start, before, {"output": output})
    return replace(ready, at_once=True)


def kernel(case: Case, budget: str) -> Ready:
    """`KernelExplainer` without its selection of features; of fewer sets its equations are often singular."""
    import shap

    shares = shared(budget, 4 * case.X.shape[1], len(case.B), most_sets=2 ** case.X.shape[1])
    start, before = time.perf_counter(), case.counted.asks
    _seed(case)
    explainer = shap.KernelExplainer(case.log_odds, picked(case, shares.background))

    def explain(rows: IntArray) -> Values:
        with quiet():
            found = explainer.shap_values(case.X[rows], nsamples=shares.sets, l1_reg=False, silent=True)
        return as_outputs(found), None

    return _ready(case, explain, start, before, shares.__dict__)


def permutation(case: Case, budget: str) -> Ready:
    """`PermutationExplainer`: whole walks there and back, each with all of its background rows."""
    import shap

    one = 2 * case.X.shape[1] + 1
    shares = shared(budget, one, len(case.B), step=one)
    start, before = time.perf_counter(), case.counted.asks
    masker = shap.maskers.Independent(picked(case, shares.background), max_samples=shares.background)
    explainer = shap.PermutationExplainer(case.log_odds, masker, seed=case.problem.seed)

    def explain(rows: IntArray) -> Values:
        with quiet():
            found = explainer(case.X[rows], max_evals=shares.sets, silent=True)
        return as_outputs(found.values), None

    explain(np.array([0]))  # it compiles on its first call
    start, before = time.perf_counter(), case.counted.asks
    return _ready(case, explain, start, before, shares.__dict__)


def sampling(case: Case, budget: str) -> Ready:
    """`SamplingExplainer` over all background rows: two samples of two asks for each feature at least."""
    import shap

    least = 4 * case.X.shape[1]
    asks = least if budget == LEAST else int(budget)
    if asks < least:
        raise TooFewAsksError(f"needs at least {least} asks a row")
    start, before = time.perf_counter(), case.counted.asks
    _seed(case)
    explainer = shap.SamplingExplainer(case.log_odds, case.B)

    def explain(rows: IntArray) -> Values:
        with quiet(), np.errstate(all="ignore"):
            found = [explainer.explain(case.X[[row]], nsamples=asks // 2) for row in rows]
        return np.nan_to_num(np.stack([as_outputs(one[None])[0] for one in found])), None

    return _ready(case, explain, start, before, {"samples": asks // 2, "background": len(case.B)})


def lime(case: Case, budget: str) -> Ready:
    """`LimeTabularExplainer` as it is: weights of bins and categories, in units of probability."""
    from lime.lime_tabular import LimeTabularExplainer

    start, before = time.perf_counter(), case.counted.asks
    explainer = LimeTabularExplainer(
        case.coding.codes(case.problem.train),
        mode="classification",
        categorical_features=case.coding.categorical,
        random_state=case.problem.seed,
    )
    n_features, n_classes = case.X.shape[1], len(case.problem.classes)
    labels = [1] if n_classes == 2 else list(range(n_classes))

    def explain(rows: IntArray) -> Values:
        values = np.zeros((len(rows), n_features, len(labels)))
        for i, row in enumerate(rows):
            found = explainer.explain_instance(
                case.X[row], case.probabilities, labels=labels, num_features=n_features
            ).as_map()
            for place, label in enumerate(labels):
                for j, weight in found[label]:
                    values[i, j, place] = weight
        return values, None

    return _ready(case, explain, start, before, {"samples": 5000, "output": "probabilities"})


def picked(case: Case, n: int) -> FloatArray:
    """Return so many of the background rows, drawn by the seed."""
    return case.B[np.random.default_rng([case.problem.seed, 13]).permutation(len(case.B))[:n]]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings of packages from the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _ready(
    case: Case, explain: Callable[[IntArray], Values], start: float, before: int, setting: dict[str, Any]
) -> Ready:
    spent = time.perf_counter() - start
    return Ready(explain, fit_s=spent, fit_asks=case.counted.asks - before, setting=dict(setting))


def _seed(case: Case) -> None:
    np.random.seed(case.problem.seed)  # noqa: NPY002 -- the package draws from the global generator

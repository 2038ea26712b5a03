"""Ways to make a latent space that explain nothing: what the paper's RQ1 compares with."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import Outcome


def pca(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Principal components."""
    from sklearn.decomposition import PCA

    k = min(setting["k"], *problem.X_train.shape)
    return _embedded(problem, PCA(k, random_state=problem.seed))


def isomap(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Geodesic distances along neighbours."""
    from sklearn.manifold import Isomap

    return _embedded(problem, Isomap(n_components=setting["k"]))


def lle(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Locally linear embedding; its dense solver where the sparse one does not converge."""
    from sklearn.manifold import LocallyLinearEmbedding

    k = min(setting["k"], problem.X_train.shape[1])
    solver = "dense" if len(problem.X_train) <= 2500 else "auto"
    model = LocallyLinearEmbedding(n_components=k, eigen_solver=solver, random_state=problem.seed)
    return _embedded(problem, model)


def umap(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """UMAP, not the parametric one, which needs a second deep-learning framework."""
    return _umap(problem, setting, None)


def s_umap(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """UMAP told the black box's decisions."""
    return _umap(problem, setting, problem.P_train.argmax(1))


def _umap(problem: Problem, setting: dict[str, Any], decisions: Any) -> Outcome:
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of threads and of its random state
        k = min(setting["k"], len(problem.X_train) - 2)
        return _embedded(problem, UMAP(n_components=k, random_state=problem.seed, n_jobs=1), decisions)


def none(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Nothing at all: only the black box's own figures."""
    return Outcome(np.empty(0, dtype=np.intp))


def _embedded(problem: Problem, model: Any, y: Any = None) -> Outcome:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(problem.X_train, y)
        fitted = time.perf_counter()
        latents = model.transform(problem.X_train), model.transform(problem.X_test)
    done = time.perf_counter()
    rows = np.arange(len(problem.X_test))
    return Outcome(rows, latents=latents, fit_s=fitted - start, explain_s=done - fitted)

"""illume and other explainers for arrays of rows, with their default settings.

A function constructs an explainer and returns a function of rows; its docstring is part of the results page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Line
from benchmarks.packages import (
    MeteredModel,
    anchor_explainer,
    dice_explainer,
    lore_explainer,
    seed_generators,
)
from benchmarks.speed.problems import N_LATENTS, Problem
from illume._typing import FloatArray

Explain = Callable[[FloatArray], Any]
PIECE = 65_536  # more rows are streamed
BACKGROUND = 50


def attributions(problem: Problem, model: MeteredModel) -> Explain:
    """`explainer(X)`; more than 65,536 rows by `explainer.stream(X)`."""
    explainer = load_explainer(problem, model)
    return lambda X: explainer(X) if len(X) <= PIECE else [len(piece) for piece in explainer.stream(X)]


def rules(problem: Problem, model: MeteredModel) -> Explain:
    """`explainer.rules(X)`."""
    return load_explainer(problem, model).rules


def counterfactuals(problem: Problem, model: MeteredModel) -> Explain:
    """`explainer.counterfactuals(X, n=1)`."""
    explainer = load_explainer(problem, model)
    return lambda X: explainer.counterfactuals(X, n=1)


def predictions(problem: Problem, model: MeteredModel) -> Explain:
    """`model.predict_proba(X)`, the model itself."""
    return model.predict_proba


def load_explainer(problem: Problem, model: MeteredModel) -> Any:
    import illume

    if not problem.explainer_path.exists():
        raise FileNotFoundError(f"{problem.explainer_path.name} does not exist; run --methods fit first")
    return illume.load(problem.explainer_path, model=model)


def fit(problem: Problem, model: MeteredModel) -> Line:
    """Fit an explainer, save it for the other methods, and return seconds and quality."""
    import illume

    start = time.perf_counter()
    explainer = illume.Explainer(model, **fit_options(N_LATENTS, problem.steps))
    explainer.fit(problem.X_train)
    done, model_seconds = time.perf_counter(), model.seconds
    explainer.fit_rules()
    with_rules = time.perf_counter()
    explainer.save(problem.explainer_path)
    return {
        "n_train": len(problem.X_train),
        "n_latents": N_LATENTS,
        "max_steps": problem.steps or None,
        "fit_s": done - start,
        "fit_model_s": model_seconds,
        "fit_rules_s": with_rules - done,
        "agreement": float(explainer.quality_.agreement),
        "encoder": explainer.fit_latents().quality_.surrogate.encoder,
    }


def fit_options(n_latents: int, steps: int, queries: int | str = "auto") -> Line:
    """Return the options of a fit with at most this number of training steps, or 0 for the default."""
    from illume import SurrogateOptions
    from illume.encoders.options import QUICK

    training = replace(QUICK, max_steps=steps) if steps else None
    options = SurrogateOptions(n_latents=n_latents, training=training)
    return {"surrogate_options": options, "queries": 500 if steps else queries, "verbose": False}


def shap_tree(problem: Problem, model: MeteredModel) -> Explain:
    """`TreeExplainer(model).shap_values(X)`, path dependent: LightGBM's own code does the work."""
    from shap import TreeExplainer

    return TreeExplainer(problem.model).shap_values


def woodelf(problem: Problem, model: MeteredModel) -> Explain:
    """`WoodelfExplainer(model).shap_values(frame)`, path dependent: the same numbers as shap's."""
    from woodelf import WoodelfExplainer

    explainer, names = WoodelfExplainer(problem.model), problem.model.booster_.feature_name()
    return lambda X: explainer.shap_values(pd.DataFrame(X, columns=names), verbose=False)


def shap_kernel(problem: Problem, model: MeteredModel) -> Explain:
    """`KernelExplainer` over 50 background rows, its own number of samples."""
    import shap

    seed_generators()
    background = shap.sample(problem.X_train, BACKGROUND, random_state=0)
    explainer = shap.KernelExplainer(model.predict_proba, background)
    return lambda X: explainer.shap_values(X, silent=True)


def shap_permutation(problem: Problem, model: MeteredModel) -> Explain:
    """`PermutationExplainer` over 50 background rows; evaluations as by default, or the least it takes."""
    import shap

    background = shap.sample(problem.X_train, BACKGROUND, random_state=0)
    explainer = shap.PermutationExplainer(model.predict_proba, background, seed=0)
    evaluations = max(500, 2 * problem.n_features + 1)
    return lambda X: explainer(X, max_evals=evaluations, silent=True)


def lime(problem: Problem, model: MeteredModel) -> Explain:
    """`LimeTabularExplainer` with its 5,000 samples a row, one row after the other."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(problem.X_train, mode="classification", random_state=0)
    return lambda X: [explainer.explain_instance(x, model.predict_proba) for x in X]


def anchor(problem: Problem, model: MeteredModel) -> Explain:
    """`AnchorTabularExplainer` with the wanted precision 0.95, one row after the other."""
    explainer = anchor_explainer(("0", "1"), _names(problem), problem.X_train, {})
    seed_generators()

    def decide(X: FloatArray) -> Any:
        return model.predict(np.atleast_2d(X))

    return lambda X: [explainer.explain_instance(x, decide, threshold=0.95) for x in X]


def lore(problem: Problem, model: MeteredModel) -> Explain:
    """`TabularGeneticGeneratorLore` with its own number of neighbours, one row after the other."""
    seed_generators()
    explainer = lore_explainer(problem.X_train, ("0", "1"), model.predict_proba)
    return lambda X: [explainer.explain(x) for x in X]


def dice(problem: Problem, model: MeteredModel) -> Explain:
    """`Dice(…, method="random")`, the default, one counterfactual a row, all rows in one call."""
    names = _names(problem)
    explain = dice_explainer(model, pd.DataFrame(problem.X_train, columns=names), names, problem.y_train)
    return lambda X: explain(pd.DataFrame(X, columns=names))


def _names(problem: Problem) -> list[str]:
    return [f"x{j}" for j in range(problem.n_features)]


EXPLAINERS: dict[str, Callable[[Problem, MeteredModel], Explain]] = {
    "illume": attributions,
    "illume-rules": rules,
    "illume-counterfactuals": counterfactuals,
    "model": predictions,
    "shap-tree": shap_tree,
    "woodelf": woodelf,
    "shap-kernel": shap_kernel,
    "shap-permutation": shap_permutation,
    "lime": lime,
    "anchor": anchor,
    "lore": lore,
    "dice": dice,
}

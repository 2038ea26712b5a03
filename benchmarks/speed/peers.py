"""Peers, each called for many rows at once where it can be, with its own default settings.

A function here imports and constructs; what it returns explains an array of rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.speed.problems import Asked, Problem
from illume._typing import FloatArray

Explain = Callable[[FloatArray], Any]
BACKGROUND = 50
ANCHOR_THRESHOLD = 0.95


def shap_tree(problem: Problem, model: Asked) -> Explain:
    """`TreeExplainer(model).shap_values(X)`, path dependent: LightGBM's own code does the work."""
    from shap import TreeExplainer

    return TreeExplainer(problem.model).shap_values


def woodelf(problem: Problem, model: Asked) -> Explain:
    """`WoodelfExplainer(model).shap_values(frame)`, path dependent: the same numbers as shap's."""
    from woodelf import WoodelfExplainer

    explainer, names = WoodelfExplainer(problem.model), problem.model.booster_.feature_name()
    return lambda X: explainer.shap_values(pd.DataFrame(X, columns=names), verbose=False)


def shap_kernel(problem: Problem, model: Asked) -> Explain:
    """`KernelExplainer` over 50 background rows, its own number of samples."""
    import shap

    np.random.seed(0)  # noqa: NPY002 -- the package draws from the global generator
    background = shap.sample(problem.X_train, BACKGROUND, random_state=0)
    explainer = shap.KernelExplainer(model.predict_proba, background)
    return lambda X: explainer.shap_values(X, silent=True)


def shap_permutation(problem: Problem, model: Asked) -> Explain:
    """`PermutationExplainer` over 50 background rows; evaluations as by default, or the least it takes."""
    import shap

    background = shap.sample(problem.X_train, BACKGROUND, random_state=0)
    explainer = shap.PermutationExplainer(model.predict_proba, background, seed=0)
    evaluations = max(500, 2 * problem.n_features + 1)
    return lambda X: explainer(X, max_evals=evaluations, silent=True)


def lime(problem: Problem, model: Asked) -> Explain:
    """`LimeTabularExplainer` with its 5,000 samples a row, one row after the other."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(problem.X_train, mode="classification", random_state=0)
    return lambda X: [explainer.explain_instance(x, model.predict_proba) for x in X]


def anchor(problem: Problem, model: Asked) -> Explain:
    """`AnchorTabularExplainer` with the wanted precision 0.95, one row after the other."""
    from anchor.anchor_tabular import AnchorTabularExplainer

    names = [f"x{j}" for j in range(problem.n_features)]
    explainer = AnchorTabularExplainer(["0", "1"], names, problem.X_train, {})
    _seed()

    def decide(X: FloatArray) -> Any:
        return model.predict(np.atleast_2d(X))

    return lambda X: [explainer.explain_instance(x, decide, threshold=ANCHOR_THRESHOLD) for x in X]


def lore(problem: Problem, model: Asked) -> Explain:
    """`TabularGeneticGeneratorLore` with its own number of neighbours, one row after the other."""
    from lore_sa.bbox import AbstractBBox
    from lore_sa.dataset import TabularDataset
    from lore_sa.lore import TabularGeneticGeneratorLore

    class Wrapped(AbstractBBox):
        """The model as the package wants it."""

        def __init__(self) -> None:
            pass

        def predict(self, rows: Any) -> Any:
            return np.array(["0", "1"])[model.predict(rows)]

        def predict_proba(self, rows: Any) -> Any:
            return model.predict_proba(rows)

    frame = pd.DataFrame(problem.X_train, columns=[f"x{j}" for j in range(problem.n_features)])
    frame["target"] = Wrapped().predict(problem.X_train)
    _seed()
    explainer = TabularGeneticGeneratorLore(Wrapped(), TabularDataset(frame, class_name="target"))
    return lambda X: [explainer.explain(x) for x in X]


def dice(problem: Problem, model: Asked) -> Explain:
    """`Dice(…, method="random")`, the default, one counterfactual a row, all rows in one call."""
    import dice_ml

    names = [f"x{j}" for j in range(problem.n_features)]
    frame = pd.DataFrame(problem.X_train, columns=names).assign(outcome=problem.y_train)
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="outcome")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")

    def explain(X: FloatArray) -> Any:
        with redirect_stderr(StringIO()):  # a progress bar
            return explainer.generate_counterfactuals(
                pd.DataFrame(X, columns=names), total_CFs=1, desired_class="opposite", random_seed=0
            )

    return explain


def _seed() -> None:
    """Seed the global generators that some packages draw from."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


PEERS: dict[str, Callable[[Problem, Asked], Explain]] = {
    "shap-tree": shap_tree,
    "woodelf": woodelf,
    "shap-kernel": shap_kernel,
    "shap-permutation": shap_permutation,
    "lime": lime,
    "anchor": anchor,
    "lore": lore,
    "dice": dice,
}

"""Explainers of other packages, models and short fits of illume, for all measurements."""

from __future__ import annotations

import random
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from illume import SurrogateOptions, Training
from illume._typing import FloatArray


class Formula:
    """A black box of frames and arrays that costs almost nothing."""

    def predict_proba(self, rows: Any) -> FloatArray:
        X = rows if isinstance(rows, np.ndarray) else rows[["x0", "x1", "x2"]].to_numpy()
        p = 1 / (1 + np.exp(-4 * (X[:, 0] * X[:, 1] + X[:, 2])))
        return np.column_stack([1 - p, p])


class MeteredModel:
    """A model that counts its rows and its seconds; time in which several threads call it counts once."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model, self.classes_, self.queries, self.seconds = model, np.asarray(classes), 0, 0.0
        self._lock, self._calls, self._since = threading.Lock(), 0, 0.0

    def predict_proba(self, X: Any) -> FloatArray:
        with self._lock:
            self.queries += len(X)
            self._since = self._since if self._calls else time.perf_counter()
            self._calls += 1
        try:
            return self.model.predict_proba(np.asarray(X, dtype=float))
        finally:
            with self._lock:
                self._calls -= 1
                self.seconds += 0.0 if self._calls else time.perf_counter() - self._since

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def lore_explainer(
    X: FloatArray, classes: Sequence[str], predict_proba: Callable[[FloatArray], FloatArray]
) -> Any:
    """Return LORE with its genetic neighbourhood; it treats all encoded columns as numbers."""
    from lore_sa.bbox import AbstractBBox
    from lore_sa.dataset import TabularDataset
    from lore_sa.lore import TabularGeneticGeneratorLore

    class BlackBox(AbstractBBox):
        """The model with the methods that the package calls."""

        def __init__(self) -> None:
            pass

        def predict(self, rows: Any) -> Any:
            return np.array(classes)[self.predict_proba(rows).argmax(1)]

        def predict_proba(self, rows: Any) -> Any:
            return predict_proba(np.asarray(rows, dtype=float))

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["target"] = BlackBox().predict(X)
    return TabularGeneticGeneratorLore(BlackBox(), TabularDataset(frame, class_name="target"))


def anchor_explainer(
    classes: Sequence[str], columns: Sequence[str], X: FloatArray, categories: dict[int, list[str]]
) -> Any:
    """Return Anchor; its explanations keep their conditions in `exp_map["conditions"]`, not only as text."""
    from anchor import anchor_tabular

    class Recording(anchor_tabular.AnchorTabularExplainer):
        """Records the conditions before they become text."""

        def add_names_to_exp(self, data_row: Any, hoeffding_exp: Any, mapping: Any) -> None:
            hoeffding_exp["conditions"] = [mapping[i] for i in hoeffding_exp["feature"]]
            super().add_names_to_exp(data_row, hoeffding_exp, mapping)

    return Recording(list(classes), list(columns), X, categories)


def dice_explainer(model: Any, frame: pd.DataFrame, numbers: list[str], labels: Any) -> Callable[..., Any]:
    """Return a function that finds counterfactuals of rows by DiCE's random method."""
    import dice_ml

    outcome = "outcome_"
    data = dice_ml.Data(
        dataframe=frame.assign(**{outcome: labels}), continuous_features=numbers, outcome_name=outcome
    )
    explainer = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
    options = {"desired_class": "opposite", "random_seed": 0, "verbose": False}

    def explain(rows: pd.DataFrame, n: int = 1) -> list[pd.DataFrame | None]:
        with redirect_stderr(StringIO()):  # a progress bar
            found = explainer.generate_counterfactuals(rows, total_CFs=n, **options)
        frames = [each.final_cfs_df for each in found.cf_examples_list]
        return [None if one is None else one.drop(columns=outcome) for one in frames]

    return explain


def short_training(n_latents: int = 8, **options: Any) -> SurrogateOptions:
    """Return options of a surrogate that is trained for a short time, where speed does not depend on it."""
    training = Training(batch_size=256, learning_rate=3e-3, decay=True, **options)
    return SurrogateOptions(n_latents=n_latents, training=training)


def seed_generators(seed: int = 0) -> None:
    """Seed the global generators that some packages draw from."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


@contextmanager
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

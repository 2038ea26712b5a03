"""Explainers of other packages, and options of short fits of illume, for all measurements."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from illume import SurrogateOptions, Training
from illume._typing import FloatArray


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

"""A problem to explain: rows, a black box, and the true explanations where they are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from illume._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Encoding:
    """The paper's preparation: numbers standard-scaled, one 0/1 column for each category.

    Columns of one feature stand side by side, in the order of the frame.
    """

    columns: tuple[str, ...]  # "age" or "job = clerk"
    owner: IntArray  # (m,) the position of the feature a column belongs to
    onehot: BoolArray  # (m,)
    mean: FloatArray  # (m,) 0 for one-hot columns
    scale: FloatArray  # (m,) 1 for one-hot columns
    categories: dict[str, tuple[str, ...]]  # feature -> its categories, in column order
    features: tuple[str, ...]

    @classmethod
    def fit(cls, train: pd.DataFrame) -> Self:
        """Learn means and deviations from training rows, categories from their dtype."""
        columns, owner, onehot, mean, scale = [], [], [], [], []
        categories: dict[str, tuple[str, ...]] = {}
        for position, name in enumerate(train.columns):
            values = train[name]
            if isinstance(values.dtype, pd.CategoricalDtype):
                categories[name] = tuple(values.cat.categories)
                columns += [f"{name} = {category}" for category in categories[name]]
                centre, spread, count = 0.0, 1.0, len(categories[name])
            else:
                columns.append(str(name))
                numbers = values.to_numpy(float)
                centre, spread, count = numbers.mean(), numbers.std(), 1
            owner += [position] * count
            onehot += [name in categories] * count
            mean += [centre] * count
            scale += [spread if spread > 0 else 1.0] * count
        return cls(
            tuple(columns), np.array(owner), np.array(onehot), np.array(mean), np.array(scale), categories,
            tuple(map(str, train.columns)),
        )  # fmt: skip

    def transform(self, frame: pd.DataFrame) -> FloatArray:
        """Return the encoded rows, (n, m); an unknown category is 0 in all columns of its feature."""
        parts = []
        for name in self.features:
            if name in self.categories:
                codes = self._codes(frame[name], self.categories[name])
                parts.append(codes[:, None] == np.arange(len(self.categories[name])))
            else:
                parts.append(frame[name].to_numpy(float)[:, None])
        return (np.hstack(parts).astype(float) - self.mean) / self.scale

    @staticmethod
    def _codes(values: pd.Series, categories: tuple[str, ...]) -> IntArray:
        dtype = values.dtype
        if isinstance(dtype, pd.CategoricalDtype) and tuple(dtype.categories) == categories:
            return values.cat.codes.to_numpy()
        return pd.Index(categories).get_indexer(values.astype(str))


@dataclass(frozen=True, eq=False)
class Truth:
    """The true explanations of the test rows; fields that do not apply are None.

    Gradients are of class 1 per original unit, (n_test, m); bounds are in original units, (n_test, m),
    infinite where open: a row lies in low < x <= high.
    """

    kind: Literal["gradient", "box", "ranking"]
    gradient: FloatArray | None = None  # at the decision boundary
    published: FloatArray | None = None  # at the row that the published evaluation takes
    low: FloatArray | None = None
    high: FloatArray | None = None
    counter_low: FloatArray | None = None  # of the nearest path to the other class
    counter_high: FloatArray | None = None
    reference: FloatArray | None = None  # (m,) importances


@dataclass(frozen=True, eq=False)
class FrameModel:
    """A black box of data frames."""

    encoding: Encoding
    model: Any
    classes_: np.ndarray

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        return self.model.predict_proba(self.encoding.transform(frame))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        return self.classes_[self.predict_proba(frame).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows with labels, a fitted black box and its answers."""

    name: str
    black_box: str
    seed: int
    protocol: str
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: IntArray  # codes of the sorted class names
    y_test: IntArray
    classes: tuple[str, ...]
    encoding: Encoding
    model: Any
    truth: Truth | None = None

    @cached_property
    def X_train(self) -> FloatArray:
        return self.encoding.transform(self.train)

    @cached_property
    def X_test(self) -> FloatArray:
        return self.encoding.transform(self.test)

    @cached_property
    def P_train(self) -> FloatArray:
        return self.model.predict_proba(self.X_train)

    @cached_property
    def P_test(self) -> FloatArray:
        return self.model.predict_proba(self.X_test)

    @property
    def frame_model(self) -> FrameModel:
        return FrameModel(self.encoding, self.model, np.array(self.classes))


@dataclass(frozen=True, eq=False)
class OriginalUnits:
    """A classifier of the first columns in original units, called with encoded rows."""

    classifier: Any
    mean: FloatArray  # (t,)
    scale: FloatArray

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return self.classifier.predict_proba(X[:, : len(self.mean)] * self.scale + self.mean)


def split(y: IntArray, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return positions of training and of test rows, stratified by label.

    A class of one row stays in the training part.
    """
    positions = np.arange(len(y))
    single = np.bincount(y)[y] < 2
    train, test = train_test_split(
        positions[~single], test_size=test_size, stratify=y[~single], random_state=seed
    )
    return np.concatenate([train, positions[single]]), test


@dataclass(frozen=True, eq=False)
class Facts:
    """Generated rows, their classifier and their true explanations."""

    X: FloatArray  # (n, m)
    y: IntArray
    t: int  # the first t columns are informative
    classifier: Any  # of these columns in original units
    truth: Callable[[IntArray], Truth]  # of rows by position

    def problem(self, name: str, seed: int, protocol: str) -> Problem:
        """Split the rows in halves; the generating classifier is the black box."""
        train, test = split(self.y, 0.5, seed)
        frame = pd.DataFrame(self.X, columns=[f"x{column}" for column in range(self.X.shape[1])])
        parts = [frame.iloc[rows].reset_index(drop=True) for rows in (train, test)]
        encoding = Encoding.fit(parts[0])
        model = OriginalUnits(self.classifier, encoding.mean[: self.t], encoding.scale[: self.t])
        labels = (self.y[train], self.y[test])
        truth = self.truth(test)
        return Problem(name, "truth", seed, protocol, *parts, *labels, ("0", "1"), encoding, model, truth)


def add_noise(X: FloatArray, u: int, rng: np.random.Generator) -> FloatArray:
    """Append `u` uninformative columns, uniform between the smallest and the largest value of all."""
    return np.hstack([X, rng.uniform(X.min(), X.max(), size=(len(X), u))])


def pad(values: FloatArray, n_columns: int, fill: float) -> FloatArray:
    """Append columns of `fill`, up to `n_columns`."""
    return np.pad(values, ((0, 0), (0, n_columns - values.shape[1])), constant_values=fill)

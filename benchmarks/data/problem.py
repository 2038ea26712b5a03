"""What a cell of the evaluation is about: rows, a black box, and what is known to be true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from illume._typing import BoolArray, FloatArray, IntArray


class Probabilities(Protocol):
    """A classifier of encoded rows, (n, m) to (n, c)."""

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return a column for every class of the data."""
        ...


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
        """Return the encoded rows, (n, m); a category that is not known is 0 in all its columns."""
        parts = []
        for name in self.features:
            if name in self.categories:
                codes = self._codes(frame[name], self.categories[name])
                parts.append(codes[:, None] == np.arange(len(self.categories[name])))
            else:
                parts.append(frame[name].to_numpy(float)[:, None])
        return (np.hstack(parts).astype(float) - self.mean) / self.scale

    def inverse(self, X: FloatArray) -> pd.DataFrame:
        """Return rows as a frame: numbers in own units, of each feature its largest category."""
        raw = X * self.scale + self.mean
        columns = {}
        for position, name in enumerate(self.features):
            values = raw[:, self.owner == position]
            if name in self.categories:
                columns[name] = pd.Categorical.from_codes(values.argmax(axis=1), list(self.categories[name]))
            else:
                columns[name] = values[:, 0]
        return pd.DataFrame(columns)

    @staticmethod
    def _codes(values: pd.Series, categories: tuple[str, ...]) -> IntArray:
        dtype = values.dtype
        if isinstance(dtype, pd.CategoricalDtype) and tuple(dtype.categories) == categories:
            return values.cat.codes.to_numpy()
        return pd.Index(categories).get_indexer(values.astype(str))


@dataclass(frozen=True, eq=False)
class Truth:
    """What a right explanation of each test row says; fields that do not apply are None.

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
    """The black box as a user has it: it takes frames."""

    encoding: Encoding
    model: Probabilities
    classes_: np.ndarray

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Encode the rows, then ask the model."""
        return self.model.predict_proba(self.encoding.transform(frame))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the likeliest class of each row."""
        return self.classes_[self.predict_proba(frame).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows, raw and encoded, true labels, a fitted black box and its answers."""

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
    model: Probabilities
    truth: Truth | None = None

    @cached_property
    def X_train(self) -> FloatArray:
        """Encoded training rows."""
        return self.encoding.transform(self.train)

    @cached_property
    def X_test(self) -> FloatArray:
        """Encoded test rows."""
        return self.encoding.transform(self.test)

    @cached_property
    def P_train(self) -> FloatArray:
        """Probabilities that the black box gives training rows."""
        return self.model.predict_proba(self.X_train)

    @cached_property
    def P_test(self) -> FloatArray:
        """Probabilities that the black box gives test rows."""
        return self.model.predict_proba(self.X_test)

    @property
    def frame_model(self) -> FrameModel:
        """The black box for frames, with `predict_proba` and `classes_`."""
        return FrameModel(self.encoding, self.model, np.array(self.classes))


@dataclass(frozen=True, eq=False)
class OriginalUnits:
    """A classifier of the first columns in their own units, asked with encoded rows."""

    classifier: Probabilities
    mean: FloatArray  # (t,)
    scale: FloatArray

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Undo the scaling, drop the columns that inform of nothing, ask the classifier."""
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
    """Generated rows with all that is known of them."""

    X: FloatArray  # (n, m)
    y: IntArray
    t: int  # the first t columns inform
    classifier: Probabilities  # of these columns in their own units
    truth: Callable[[IntArray], Truth]  # of rows by position

    def problem(self, name: str, seed: int, protocol: str) -> Problem:
        """Return the rows split in halves, with the generating classifier as black box."""
        train, test = split(self.y, 0.5, seed)
        frame = pd.DataFrame(self.X, columns=[f"x{column}" for column in range(self.X.shape[1])])
        parts = [frame.iloc[rows].reset_index(drop=True) for rows in (train, test)]
        encoding = Encoding.fit(parts[0])
        model = OriginalUnits(self.classifier, encoding.mean[: self.t], encoding.scale[: self.t])
        labels = (self.y[train], self.y[test])
        truth = self.truth(test)
        return Problem(name, "truth", seed, protocol, *parts, *labels, ("0", "1"), encoding, model, truth)


def with_noise(X: FloatArray, u: int, rng: np.random.Generator) -> FloatArray:
    """Return the rows with `u` more columns, uniform between the least and the largest value of all."""
    return np.hstack([X, rng.uniform(X.min(), X.max(), size=(len(X), u))])


def padded(values: FloatArray, n_columns: int, fill: float) -> FloatArray:
    """Return the values with columns of `fill` added, up to `n_columns`."""
    return np.pad(values, ((0, 0), (0, n_columns - values.shape[1])), constant_values=fill)

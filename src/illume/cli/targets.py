"""The target of a model that `illume fit` trains: classes, or numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from illume.cli.messages import UsageError
from illume.errors import SchemaError

MAX_CLASSES = 50
FEW = 20  # whole numbers with at most this many different values are taken for classes
MIN_ROWS = 2  # on either side of the split


@dataclass(frozen=True)
class ClassScore:
    """Accuracy on validation rows, and that of always predicting the most common class."""

    accuracy: float
    baseline: float
    commonest: str
    n_training: int
    n_validation: int

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.3f} on {self.n_validation:,} validation rows "
            f"(always {self.commonest!r}: {self.baseline:.3f})"
        )


@dataclass(frozen=True)
class NumberScore:
    """R² and mean absolute error on validation rows, and the error of always predicting the median."""

    r2: float
    mean_absolute_error: float
    baseline: float
    n_training: int
    n_validation: int

    def __str__(self) -> str:
        return (
            f"R² {self.r2:.3f} and mean absolute error {_short(self.mean_absolute_error)} on "
            f"{self.n_validation:,} validation rows (always the median: {_short(self.baseline)})"
        )


Score = ClassScore | NumberScore


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """What a model is trained to answer."""

    name: str
    values: np.ndarray[Any, Any]
    task: ClassVar[str]

    def __len__(self) -> int:
        return len(self.values)

    @abstractmethod
    def __str__(self) -> str:
        """Describe the model that is trained, and what another would be asked for with."""

    @abstractmethod
    def strata(self, n_validation: int) -> Any:
        """Return groups that training and validation rows are drawn alike from, or None."""

    @property
    def n_least(self) -> int:
        """The least number of validation rows."""
        return MIN_ROWS

    @abstractmethod
    def booster(self, **settings: Any) -> Any:
        """Return a gradient boosting model that is not trained."""

    def wrap(self, pipeline: Any) -> Any:
        """Return the whole model around a pipeline."""
        return pipeline

    @abstractmethod
    def score(self, predicted: Any, training: Any, validation: Any) -> Score:
        """Measure predictions for validation rows; `training` and `validation` are positions of rows."""


class ClassTarget(Target):
    """Classes."""

    task: ClassVar[str] = "classification"

    def __str__(self) -> str:
        return f"classifier: {self.name!r} holds {len(np.unique(self.values))} classes"

    def strata(self, n_validation: int) -> Any:
        """See `Target`."""
        counts = np.unique(self.values, return_counts=True)[1]
        every = counts.min() >= 2 and len(self) - n_validation >= len(counts)
        return self.values if every else None

    @property
    def n_least(self) -> int:
        """See `Target`."""
        return len(np.unique(self.values))

    def booster(self, **settings: Any) -> Any:
        """See `Target`."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(**settings)

    def score(self, predicted: Any, training: Any, validation: Any) -> ClassScore:
        """See `Target`."""
        truth = self.values[validation]
        names, counts = np.unique(truth, return_counts=True)
        return ClassScore(
            accuracy=float((predicted == truth).mean()),
            baseline=float(counts.max() / len(truth)),
            commonest=str(names[counts.argmax()]),
            n_training=len(training),
            n_validation=len(validation),
        )


@dataclass(frozen=True, eq=False)
class NumberTarget(Target):
    """Numbers; with the link `log`, the model learns their logarithm and answers with positive numbers."""

    link: str = "identity"
    task: ClassVar[str] = "regression"

    def __str__(self) -> str:
        return f"regressor: {self.name!r} holds {len(np.unique(self.values)):,} different numbers"

    def strata(self, n_validation: int) -> Any:
        """See `Target`."""
        return None

    def booster(self, **settings: Any) -> Any:
        """See `Target`."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(**settings)

    def wrap(self, pipeline: Any) -> Any:
        """See `Target`."""
        from sklearn.compose import TransformedTargetRegressor

        if self.link != "log":
            return pipeline
        return TransformedTargetRegressor(pipeline, func=np.log, inverse_func=np.exp)

    def score(self, predicted: Any, training: Any, validation: Any) -> NumberScore:
        """See `Target`."""
        truth = self.values[validation]
        spread = np.square(truth - truth.mean()).sum()
        return NumberScore(
            r2=float(1 - np.square(truth - predicted).sum() / spread) if spread else float("nan"),
            mean_absolute_error=float(np.abs(truth - predicted).mean()),
            baseline=float(np.abs(truth - np.median(self.values[training])).mean()),
            n_training=len(training),
            n_validation=len(validation),
        )


def _short(number: float) -> str:
    """Return a number as text, with three digits or more.

    >>> _short(63241.7), _short(0.012345), _short(0.0)
    ('63,242', '0.0123', '0.00')
    """
    whole = math.floor(math.log10(abs(number))) if number else 0
    return f"{number:,.{max(2 - whole, 0)}f}"


def parse_target(column: Any, task: str = "auto", link: str = "identity") -> Target:
    """Return the target in a column: numbers if there are many different ones, else classes."""
    numeric = column.dtype.kind in "iuf"
    fractions = numeric and bool((column % 1 != 0).any())
    n_values = column.nunique()
    if n_values < 2:
        raise SchemaError(
            f"the target {column.name!r} holds only {str(column.iloc[0])!r}; two different values are needed"
        )
    if task == "regression" or (task == "auto" and (fractions or (numeric and n_values > FEW))):
        return NumberTarget(str(column.name), _numbers(column, link), link)
    if link != "identity":
        raise UsageError(f"--link {link} is for numbers, and {column.name!r} holds {n_values} classes")
    return ClassTarget(str(column.name), _classes(column, n_values, fractions))


def _numbers(column: Any, link: str) -> np.ndarray[Any, Any]:
    if column.dtype.kind not in "iuf":
        raise SchemaError(
            f"the target {column.name!r} holds values such as {column.iloc[0]!r}, which are no numbers; "
            f"leave --task regression out, or name another target"
        )
    values = np.asarray(column, dtype=np.float64)
    bad = values[~np.isfinite(values) | ((values <= 0) & (link == "log"))]
    if len(bad):
        expected = "positive numbers (--link log)" if link == "log" else "finite numbers"
        raise SchemaError(f"the target {column.name!r} holds {bad[0]:g}; expected {expected}")
    return values


def _classes(column: Any, n_values: int, fractions: bool) -> np.ndarray[Any, Any]:
    """Return classes as integers, booleans or text."""
    if fractions or n_values > MAX_CLASSES:
        shown = f"numbers such as {column.iloc[0]}" if fractions else f"{n_values} different values"
        advice = "--task regression explains numbers" if column.dtype.kind in "iuf" else "group them first"
        raise SchemaError(
            f"the target {column.name!r} holds {shown}; expected at most {MAX_CLASSES} classes: {advice}"
        )
    if column.dtype.kind == "f":  # integers that a missing value made floats
        return np.asarray(column, dtype=np.int64)
    if column.dtype.kind in "biu":
        return np.asarray(column)
    return np.asarray(column.astype("str"), dtype=object).astype(str)

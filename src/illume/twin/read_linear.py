"""Reads linear models: regressions, logistic regressions, and generalised linear models with their links."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.data.schema import Schema
from illume.twin.features import FeatureCodes, Trials
from illume.twin.read_trees import Columns, UnreadableError, plain_columns

STRAIGHT = 1e-9  # of the largest value, by which a number's effect may miss a straight line


@dataclass(frozen=True, eq=False)
class LinearColumns:
    """Weights (s, n_columns) on the columns that a model sees, intercepts (s,), and links that may follow."""

    weights: FloatArray
    intercept: FloatArray
    links: tuple[str, ...]
    columns: Columns


def read_linear(model: Any) -> LinearColumns | None:
    """Read a fitted linear model of scikit-learn's kind; None if it is none."""
    weights, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if weights is None or intercept is None or callable(weights) or not hasattr(model, "predict"):
        return None
    try:
        weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        return None
    intercept = np.resize(np.asarray(intercept, dtype=np.float64), len(weights))
    links = ("logistic", "softmax") if hasattr(model, "predict_proba") else ("identity", "exp")
    return LinearColumns(weights, intercept, links, plain_columns)


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Numbers (n, n_features), NaN where missing, and codes (n_features, n) of categories."""

    numbers: FloatArray
    codes: IntArray

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> LinearRows:
        return LinearRows(self.numbers[rows], self.codes[:, rows])


@dataclass(frozen=True, eq=False)
class Linear:
    """A sum of one term for each feature: a number times its slope, or a category's own value.

    Parameters
    ----------
    slopes, missing
        Of numbers, (n_features, s): the change per unit, and the term of a missing one.
    levels
        Of categories, (n_features, n_codes, s): the term of each; the last one is for unknown ones.
    """

    schema: Schema
    categories: tuple[tuple[Hashable | None, ...], ...]
    slopes: FloatArray
    missing: FloatArray
    levels: FloatArray
    intercept: FloatArray

    @property
    def n_outputs(self) -> int:
        """How many raw scores there are."""
        return self.slopes.shape[1]

    @property
    def used(self) -> BoolArray:
        """Which features have an effect, (n_features,)."""
        varies = np.ptp(self.levels, axis=1) if self.levels.shape[1] else np.zeros_like(self.slopes)
        return np.asarray(((self.slopes != 0) | (varies > 0)).any(1))

    def read(self, frame: Frame) -> LinearRows:
        """Return a frame's rows as numbers and codes."""
        numbers = np.zeros((len(frame), len(self.schema)))
        for j, feature in enumerate(self.schema.features):
            if feature.numeric:
                numbers[:, j] = frame.numbers(feature.name)
        cuts = tuple(np.empty(0) for _ in self.schema.features)
        return LinearRows(numbers, FeatureCodes(self.schema, cuts, self.categories)(frame))

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> LinearRows:
        """Return encoded rows as numbers and codes."""
        numbers = np.zeros((len(X), len(self.schema)))
        for j, feature in enumerate(self.schema.features):
            if feature.numeric:
                mine = np.flatnonzero(encoding.owner == j)[:1]
                known = X[:, mine] * encoding.scale[mine] + encoding.mean[mine]
                numbers[:, j] = known[:, 0] if len(mine) else feature.low
        numbers[imputed] = np.nan
        cuts = tuple(np.empty(0) for _ in self.schema.features)
        return LinearRows(
            numbers, FeatureCodes(self.schema, cuts, self.categories).of_encoded(encoding, X, imputed)
        )

    def terms(self, rows: LinearRows) -> FloatArray:
        """Return what each feature adds, (n, n_features, s)."""
        found = rows.numbers[:, :, None] * self.slopes
        absent = np.isnan(rows.numbers)
        if absent.any():
            found = np.where(absent[:, :, None], self.missing, found)
        for j, feature in enumerate(self.schema.features):
            if not feature.numeric:
                found[:, j] = self.levels[j, rows.codes[j]]
        return found

    def scores(self, rows: LinearRows) -> FloatArray:
        """Return raw scores (n, s)."""
        return np.asarray(self.terms(rows).sum(1) + self.intercept)

    def against(self, background: LinearRows) -> LinearValues:
        """Return what gives Shapley values against background rows."""
        return LinearValues(self, self.terms(background).mean(0))


@dataclass(frozen=True, eq=False)
class LinearValues:
    """Shapley values of a sum of terms: each less its mean over the background rows, (n_features, s)."""

    linear: Linear
    mean: FloatArray

    @property
    def base(self) -> FloatArray:
        """The mean raw score of the background rows, (s,)."""
        return np.asarray(self.mean.sum(0) + self.linear.intercept)

    @property
    def bytes(self) -> int:
        """How much memory is kept."""
        return int(self.mean.nbytes)

    def __call__(self, rows: LinearRows) -> FloatArray:
        """Return values (n, n_features, s)."""
        return self.linear.terms(rows) - self.mean

    def pairs(self, rows: LinearRows) -> FloatArray:
        """Return interaction values (n, n_features, n_features, s), all 0."""
        n, (f, s) = len(rows), self.mean.shape
        return np.zeros((n, f, f, s))


def to_terms(columns: LinearColumns, schema: Schema, frame: Frame) -> Linear:
    """Return the same model as a sum of one term for each feature."""
    trials = Trials(schema, frame, columns.columns)
    if len(trials.owner) != columns.weights.shape[1]:
        raise UnreadableError(f"it has {columns.weights.shape[1]} weights for {len(trials.owner)} columns")
    s = len(columns.weights)
    width = 1 + max(map(len, trials.categories), default=0)
    slopes, missing = np.zeros((2, len(schema), s))
    levels, intercept = np.zeros((len(schema), width, s)), columns.intercept.copy()
    fixed = trials.owner < 0
    if fixed.any():
        first = trials.matrix(trials.frame.slice(0, 1))[0]
        intercept += columns.weights[:, fixed] @ first[fixed]
    for j, feature in enumerate(schema.features):
        mine = trials.owner == j
        weights = columns.weights[:, mine].T
        if not mine.any():
            continue
        if not feature.numeric:
            codes = np.arange(len(trials.categories[j]))
            terms = trials.seen(j)[:, mine] @ weights
            levels[j, : len(codes)] = terms
            levels[j, len(codes) :] = terms.mean(0)  # of unknown categories nothing is known
            continue
        grid = trials.values[j]
        terms = trials.seen(j)[:, mine] @ weights
        slopes[j], level = _straight(grid, terms, feature.name)
        intercept += level
        absent = trials.missing_columns(j)
        missing[j] = np.nan if absent is None else absent[mine] @ weights - level
    return Linear(schema, tuple(trials.categories), slopes, missing, levels, intercept)


def _straight(grid: FloatArray, terms: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """Return slope and intercept (s,) of terms (n, s) that lie on a straight line; raise if they do not."""
    spread = grid[-1] - grid[0]
    slope = (terms[-1] - terms[0]) / spread if spread > 0 else np.zeros(terms.shape[1])
    level = terms[0] - slope * grid[0]
    off = np.abs(terms - grid[:, None] * slope - level).max(initial=0.0)
    if not off <= STRAIGHT * max(np.abs(terms).max(initial=0.0), 1e-300):
        raise UnreadableError(f"{name!r} enters a linear model through a curve")
    return slope, level

"""Rows that counterfactuals take their values from, and what may be taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.layout import Layout

VALUES = 12
CATEGORIES = 16


@dataclass(frozen=True, eq=False)
class Pool:
    """Training rows, encoded, with the black box's decisions.

    Parameters
    ----------
    X, decisions
        The rows, (p, m) and (p,).
    present
        Which of their values are there, and not missing, (p, n_features).
    features
        The rows by feature, (p, n_features): a number, or the position of a category; -1 for none.
    """

    layout: Layout
    X: FloatArray
    decisions: IntArray
    present: BoolArray
    features: FloatArray

    @classmethod
    def of(cls, layout: Layout, X: FloatArray, decisions: IntArray, present: BoolArray) -> Pool:
        """Keep the rows by feature too."""
        return cls(layout, X, decisions, present, by_feature(layout, X, present.shape[1]))

    def __len__(self) -> int:
        return len(self.X)

    def compose(self, X: FloatArray, source: IntArray) -> FloatArray:
        """Return rows X (n, m) with the values that `source` (n, n_features) takes from the pool."""
        made = X.copy()
        taken = source[:, self.layout.owner]
        row, column = np.nonzero(taken >= 0)
        made[row, column] = self.X[taken[row, column], column]
        return made

    def distance(self, X: FloatArray, source: IntArray) -> FloatArray:
        """Return how far rows X go when they take values of the pool: Euclidean, in standard deviations.

        A changed category counts 1.
        """
        moved = np.square(self.compose(X, source) - X)[:, self.layout.numbers].sum(1)
        categories = [self.layout.owner[inputs.start] for inputs in self.layout.categorical]
        return np.sqrt(moved + (source[:, categories] >= 0).sum(1))

    def values_to_try(self, permitted: BoolArray) -> tuple[IntArray, IntArray]:
        """Return features and pool rows whose values are worth trying: a spread of numbers, all categories.

        `permitted` (p, n_features) says which values may be taken.
        """
        features, rows = [], []
        for j in np.unique(self.layout.owner):
            usable = np.flatnonzero(permitted[:, j])
            order = usable[np.argsort(self.features[usable, j], kind="stable")]
            values, first, count = np.unique(self.features[order, j], return_index=True, return_counts=True)
            if self.layout.onehot[np.searchsorted(self.layout.owner, j)]:
                chosen = first[np.argsort(-count, kind="stable")[:CATEGORIES]]
            elif len(values) > VALUES:
                # Half of them as rows lie, half as values do, for most rows may share one value.
                common = np.round(np.linspace(0, len(order) - 1, VALUES // 2)).astype(np.intp)
                places = np.searchsorted(values, self.features[order[common], j])
                rare = np.round(np.linspace(0, len(values) - 1, VALUES // 2)).astype(np.intp)
                chosen = first[np.union1d(places, rare)]
            else:
                chosen = first
            rows.append(order[chosen])
            features.append(np.full(len(chosen), j, dtype=np.intp))
        return np.concatenate(features), np.concatenate(rows)


def by_feature(layout: Layout, X: FloatArray, n_features: int) -> FloatArray:
    """Return encoded rows by feature: a number, or the position of a category; -1 for none."""
    result = np.zeros((len(X), n_features))
    result[:, layout.owner[layout.numbers]] = X[:, layout.numbers]
    own = layout.own(X)
    for inputs in layout.categorical:
        has = own[:, inputs]
        result[:, layout.owner[inputs.start]] = np.where(has.any(1), has.argmax(1), -1)
    return result

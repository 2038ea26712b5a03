"""The rows that counterfactuals take values from, the rows to change, and the changes found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.sampling import evenly_spaced
from illume.errors import LeftOutError
from illume.explanations.boxes import Layout
from illume.explanations.counterfactual_goals import Goal
from illume.explanations.counterfactual_limits import Limits
from illume.explanations.fitted import Fitted

VALUES = 12
CATEGORIES = 16
SAME_FEATURES = 4.0  # what showing the very same features again costs, in changes
OVERLAP = 0.9
DISTANCE = 0.05
NOTHING = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Pool:
    """Training rows that counterfactuals take values from.

    Parameters
    ----------
    frame, X
        The rows as they came, and encoded (p, m). After the training rows may follow copies of the first one,
        each with one value that no training row has.
    P
        The black box's answers to the training rows, (q, c).
    present
        Which of their values are there, and not missing, (p, n_features).
    features
        The rows by feature, (p, n_features): a number, or the position of a category; -1 for none.
    """

    layout: Layout
    frame: Frame
    X: FloatArray
    P: FloatArray
    present: BoolArray
    features: FloatArray

    @classmethod
    def of(cls, fitted: Fitted, beyond: Mapping[str, FloatArray]) -> Pool:
        """Encode the rows; missing values are not offered as changes, those of `beyond` are."""
        known, schema, layout = fitted.pool, fitted.schema, Layout.of(fitted.encoding)
        if known is None:
            raise LeftOutError("there are no rows to take values from")
        frame, made = known.frame, []
        for name, values in beyond.items():
            frame, n_more = _append(frame, name, values)
            made += [schema.names.index(name)] * n_more
        encoded = fitted.encode(frame)
        present = ~encoded.imputed
        for j, feature in enumerate(schema.features):
            if None in feature.categories:
                labels = frame.labels(feature.name)
                present[:, j] &= np.array([value is not None for value in labels], dtype=bool)
        present[len(known.P) :] = np.arange(len(schema)) == np.array(made, dtype=np.intp)[:, None]
        features = by_feature(layout, encoded.X, len(schema))
        return cls(layout, frame, encoded.X, known.P, present, features)

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

    def values_to_try(self, permitted: BoolArray, some: IntArray) -> tuple[IntArray, IntArray]:
        """Return features and pool rows whose values are worth trying: a spread of numbers, all categories.

        `permitted` (p, n_features) says which values may be taken, `some` are the features to try.
        """
        features, rows = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for j in np.intersect1d(self.layout.owner, some):
            usable = np.flatnonzero(permitted[:, j])
            order = usable[np.argsort(self.features[usable, j], kind="stable")]
            values, first, count = np.unique(self.features[order, j], return_index=True, return_counts=True)
            if self.layout.onehot[np.searchsorted(self.layout.owner, j)]:
                chosen = first[np.argsort(-count, kind="stable")[:CATEGORIES]]
            elif len(values) > VALUES:
                # Half of them as rows lie, half as values do, for most rows may share one value.
                common = evenly_spaced(len(order), VALUES // 2)
                places = np.searchsorted(values, self.features[order[common], j])
                rare = evenly_spaced(len(values), VALUES // 2)
                chosen = first[np.union1d(places, rare)]
            else:
                chosen = first
            rows.append(order[chosen])
            features.append(np.full(len(chosen), j, dtype=np.intp))
        return np.concatenate(features), np.concatenate(rows)


def _append(frame: Frame, name: str, values: FloatArray) -> tuple[Frame, int]:
    """Append copies of the first row with other values of a column, as far as its type holds them."""
    more = frame.take(np.zeros(len(values), dtype=np.intp)).with_columns({name: values})
    held = np.flatnonzero(more.numbers(name) == values)
    n, n_more = len(frame), len(held)
    source = np.full((n + n_more, len(frame.names)), -1, dtype=np.intp)
    source[n:] = held[:, None]
    mine = np.append(np.arange(n), np.zeros(n_more, dtype=np.intp))
    return frame.mixer(more)(mine, source), n_more


def by_feature(layout: Layout, X: FloatArray, n_features: int) -> FloatArray:
    """Return encoded rows by feature: a number, or the position of a category; -1 for none."""
    result = np.zeros((len(X), n_features))
    result[:, layout.owner[layout.numbers]] = X[:, layout.numbers]
    own = layout.own(X)
    for inputs in layout.categorical:
        has = own[:, inputs]
        result[:, layout.owner[inputs.start]] = np.where(has.any(1), has.argmax(1), -1)
    return result


def by_column(source: IntArray, names: tuple[str, ...], columns: tuple[str, ...]) -> IntArray:
    """Return sources of features (n, n_features) as sources of a frame's columns, which may be more."""
    if names == columns:
        return source
    found = np.full((len(source), len(columns)), -1, dtype=source.dtype)
    found[:, [columns.index(name) for name in names]] = source
    return found


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that should get another answer.

    Parameters
    ----------
    X, features
        The rows, encoded (n, m) and by feature (n, n_features).
    P, decisions
        The black box's answers, (n, c), and its decisions by the question of the goal, (n,).
    goal
        What changed rows should reach.
    limits
        Which values of the pool may be taken.
    max_changes
        How many features may change.
    """

    X: FloatArray
    features: FloatArray
    P: FloatArray
    decisions: IntArray
    goal: Goal
    limits: Limits
    max_changes: int

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.features.shape[1]


@dataclass(frozen=True, eq=False)
class Found:
    """Counterfactuals: of which row, and from which row of the pool each value comes, -1 for its own."""

    row: IntArray
    source: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: IntArray | BoolArray) -> Found:
        """Keep some of them."""
        return Found(self.row[index], self.source[index])

    @property
    def n_changes(self) -> IntArray:
        """How many features each of them changes."""
        return (self.source >= 0).sum(1)

    @classmethod
    def none(cls, n_features: int) -> Found:
        """Return no counterfactual at all."""
        return cls(np.empty(0, dtype=np.intp), np.empty((0, n_features), dtype=np.intp))

    @classmethod
    def concatenate(cls, parts: list[Found]) -> Found:
        """Join several parts."""
        return cls(np.concatenate([p.row for p in parts]), np.concatenate([p.source for p in parts]))


# From positions of counterfactuals, and where each of their values comes from, to whether they hold
Holds = Callable[[IntArray, IntArray], BoolArray]


def move_closer(
    pool: Pool, permitted: BoolArray, own: FloatArray, source: IntArray, holds: Holds
) -> IntArray:
    """Return sources with each changed number as close to the row's own as holds, by halving.

    Only values of the pool that are permitted (p, n_features) are tried. `own` (n, n_features) are the rows
    by feature, `source` (n, n_features) the pool rows that values come from, -1 for their own.
    """
    source = source.copy()
    # The permitted values of each changed feature, ascending, and for each value a pool row that has it.
    needed = np.asarray((source >= 0).any(0))
    usable = [np.flatnonzero(permitted[:, j]) if needed[j] else NOTHING for j in range(len(needed))]
    ladders = [np.unique(pool.features[rows, j], return_index=True) for j, rows in enumerate(usable)]
    pool_row = np.concatenate([rows[first] for rows, (_, first) in zip(usable, ladders, strict=True)])
    start = np.cumsum([0, *(len(values) for values, _ in ladders)])

    def place(feature: IntArray, value: FloatArray) -> IntArray:
        found = start[feature]
        for j in np.unique(feature):
            found[feature == j] += np.searchsorted(ladders[j][0], value[feature == j])
        return found

    number = np.zeros(source.shape[1], dtype=bool)
    number[pool.layout.owner[pool.layout.numbers]] = True
    changed = (source >= 0) & number
    turn = np.cumsum(changed, axis=1)
    for k in range(1, int(turn.max(initial=0)) + 1):  # the k-th changed number of every counterfactual
        which, feature = np.nonzero(changed & (turn == k))
        there, here = pool.features[source[which, feature], feature], own[which, feature]
        good = place(feature, there)
        bad = place(feature, here) - (there > here)  # the place before the first that could do, or its own
        while len(todo := np.flatnonzero(np.abs(good - bad) > 1)):
            middle = (good[todo] + bad[todo]) // 2
            trial = source[which[todo]]
            trial[np.arange(len(todo)), feature[todo]] = pool_row[middle]
            fine = holds(which[todo], trial)
            good[todo[fine]], bad[todo[~fine]] = middle[fine], middle[~fine]
        source[which, feature] = pool_row[good]
    return source


def pick_diverse(row: IntArray, changed: BoolArray, distance: FloatArray, n: int) -> IntArray:
    """Return positions of at most n candidates per row, best first, rows ascending.

    A candidate costs its number of changed features, a little for its distance, and more the more its
    features are those of one that was picked before.

    >>> changed = np.array([[True, False], [True, False], [False, True]])
    >>> pick_diverse(np.array([0, 0, 0]), changed, np.array([1.0, 2.0, 3.0]), 2)
    array([0, 2])
    """
    base, extra = changed.sum(1) + DISTANCE * np.tanh(distance), np.zeros(len(row))
    picked = [np.empty(0, dtype=np.intp)]
    last = np.zeros(row.max(initial=0) + 1, dtype=np.intp)
    for _ in range(n):
        left = np.flatnonzero(np.isfinite(extra))
        order = left[np.lexsort((base[left] + extra[left], row[left]))]
        chosen = order[np.unique(row[order], return_index=True)[1]]
        picked.append(chosen)
        last[row[chosen]] = chosen
        both = (changed & changed[last[row]]).sum(1)
        either = np.maximum((changed | changed[last[row]]).sum(1), 1)
        extra += OVERLAP * both / either + SAME_FEATURES * (both == either)
        extra[chosen] = np.inf
    chosen = np.concatenate(picked)
    return chosen[np.argsort(row[chosen], kind="stable")]

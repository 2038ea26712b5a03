"""Metrics that ask the black box whether it changes as attributions say when a row is changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.metrics.model_queries import (
    Ask,
    ask_answer,
    ask_score,
    batches,
    features,
    importance,
    of_rows,
    places,
    typical_row,
)
from illume.metrics.similarity import cosine_score

STILL = 1e-9
"""Log-odds that move less than this over all samples do not move."""

STEPS = 20
"""Maximum number of steps of a curve; with more features, each step changes several."""


@dataclass(frozen=True)
class LocalFidelity:
    """How well slopes predict the black box nearby: correlation, R² and agreement of decisions."""

    correlation: float
    r2: float
    agreement: float


def local_fidelity(
    slopes: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray | None,
    *,
    onehot: BoolArray | None = None,
    radius: float = 0.5,
    n_samples: int = 32,
    seed: int = 0,
) -> LocalFidelity:
    """Compare slopes with the black box on rows jittered by δ = r · N(0, 1).

    The slopes' own model of the log-odds of a row's class is `f(x) + ψ·δ`.

    Parameters
    ----------
    slopes
        What the log-odds of the class gain per unit of a column, (n, m).
    X
        Encoded rows (n, m).
    ask
        Encoded rows to probabilities (n, c), or to numbers (n,).
    classes
        The class that is explained, one per row; None if the black box answers with numbers, which then take
        the place of log-odds and probabilities.
    onehot
        Columns that are left as they are; none by default.
    radius, n_samples, seed
        How far, how often, and from which seed rows are jittered.

    Returns
    -------
    LocalFidelity
        `correlation` of predicted and true changes, the mean over rows: rows whose log-odds do not move are
        left out, slopes of zero count 0. `r2` is one minus the squared error over the squared
        true changes, over all rows together. `agreement` is the share of jittered rows that both models
        put on the same side of p = 0.5; of numbers, on the same side of their mean. NaN where undefined.

    Examples
    --------
    >>> def ask(X):
    ...     p = 1 / (1 + np.exp(-X @ np.array([2.0, -1.0])))
    ...     return np.column_stack([1 - p, p])
    >>> found = local_fidelity(np.array([[2.0, -1.0]]), np.zeros((1, 2)), ask, np.array([1]))
    >>> round(found.correlation, 6), round(found.r2, 6), found.agreement
    (1.0, 1.0, 1.0)
    """
    X = np.asarray(X, dtype=float)
    rng = np.random.default_rng(seed)
    fixed = np.zeros(X.shape[1], dtype=bool) if onehot is None else np.asarray(onehot, dtype=bool)
    here = ask_score(ask, X, classes)
    middle = 0.0 if classes is not None or not len(X) else float(here.mean())
    correlated, n_moving, same, error, spread = 0.0, 0, 0, 0.0, 0.0
    for part in batches(len(X), n_samples, X.shape[1]):
        rows = X[part]
        step = rng.normal(scale=radius, size=(len(rows), n_samples, X.shape[1]))
        step[:, :, fixed] = 0.0
        there = ask_score(ask, rows[:, None, :] + step, of_rows(classes, part))
        true = there - here[part, None]
        predicted = np.einsum("rsm,rm->rs", step, slopes[part])
        moving = np.ptp(true, axis=1) > STILL
        centred = (A - A.mean(axis=1, keepdims=True) for A in (predicted[moving], true[moving]))
        correlated += float(cosine_score(*centred).sum())
        n_moving += int(moving.sum())
        error += float(np.square(true - predicted).sum())
        spread += float(np.square(true).sum())
        same += int(((here[part, None] + predicted > middle) == (there > middle)).sum())
    return LocalFidelity(
        correlation=correlated / n_moving if n_moving else float("nan"),
        r2=1.0 - error / spread if spread > STILL**2 else float("nan"),
        agreement=same / (len(X) * n_samples) if len(X) else float("nan"),
    )


def prediction_gap(
    attributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray | None,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    share: float = 0.25,
    important: bool = True,
    n_samples: int = 16,
    seed: int = 0,
) -> float:
    """Return how far the class's probability moves when the features that matter get other values.

    The values of the `share` of features that matter most (rounded, at least one) are taken together from
    random background rows; the mean absolute change of the probability, the higher the better. With
    `important=False` the features that matter least are exchanged: the lower the better.

    Parameters
    ----------
    attributions
        One figure per column, (n, m). A feature matters by the largest absolute value of its columns,
        since slopes of categories may cancel; ties are in random order.
    X, ask, classes
        As in `local_fidelity`.
    background
        Encoded rows (b, m) from which other values are taken.
    owner
        Which feature each column belongs to, (m,); every column its own by default.
    share, important
        How many features are exchanged, and from which end.
    n_samples, seed
        How many background rows are tried per row, and from which seed.

    Examples
    --------
    >>> ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # only the first column is read
    >>> X, other = np.array([[0.75, 0.0]]), np.array([[0.25, 1.0]])
    >>> prediction_gap(np.array([[3.0, 1.0]]), X, ask, np.array([1]), background=other)
    0.5
    >>> prediction_gap(np.array([[3.0, 1.0]]), X, ask, np.array([1]), background=other, important=False)
    0.0
    """
    X, background = np.asarray(X, dtype=float), np.asarray(background, dtype=float)
    rng = np.random.default_rng(seed)
    feature = features(owner, X.shape[1])
    scores = importance(attributions, feature)
    number = max(1, int(share * scores.shape[1] + 0.5))
    chosen = places(scores if important else -scores, rng) < number
    here = ask_answer(ask, X, classes)
    total = 0.0
    for part in batches(len(X), n_samples, X.shape[1]):
        others = background[rng.integers(len(background), size=(len(here[part]), n_samples))]
        rows = np.where(chosen[part][:, None, feature], others, X[part, None, :])
        total += float(np.abs(ask_answer(ask, rows, of_rows(classes, part)) - here[part, None]).sum())
    return total / (len(X) * n_samples) if len(X) else float("nan")


def infidelity(
    contributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray | None,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    n_samples: int = 32,
    seed: int = 0,
) -> float:
    """Return what contributions miss of the drop of log-odds when features are replaced; 0 is perfect.

    Random sets of features, every size as likely, get the values of background rows. The predicted drop s is
    the sum of the contributions of the replaced columns, the true drop t that of the log-odds. The score is
    `Σ (βᵢ s − t)² / Σ t²` over all rows; 1 is as good as contributions of zero. Each row has the
    scale `βᵢ = max(0, Σ s t / Σ s²)` that suits it best, so that only the proportions
    of contributions count.

    Each set is filled from two background rows, and `t²` is the product of their two drops, t in the
    other terms their mean: contributions cannot know which row will be drawn, so what it adds by chance is
    not counted against them. The parameters are those of `prediction_gap`; the black box is asked
    `2 * n_samples` times per row. NaN where it does not move.

    Examples
    --------
    >>> def ask(X):
    ...     p = 1 / (1 + np.exp(-X @ np.array([2.0, -1.0])))
    ...     return np.column_stack([1 - p, p])
    >>> X, origin, label = np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([1])
    >>> round(infidelity(np.array([[2.0, -1.0]]), X, ask, label, background=origin), 6)
    0.0
    >>> infidelity(np.array([[0.0, 0.0]]), X, ask, label, background=origin)
    1.0
    """
    X, background = np.asarray(X, dtype=float), np.asarray(background, dtype=float)
    rng = np.random.default_rng(seed)
    feature = features(owner, X.shape[1])
    worth = importance(contributions, feature, signed=True)
    here = ask_score(ask, X, classes)
    missed, moved = 0.0, 0.0
    for part in batches(len(X), 2 * n_samples, X.shape[1]):
        shape = (len(here[part]), n_samples)
        replaced = rng.random((*shape, worth.shape[1])) < rng.random((*shape, 1))
        predicted = (replaced.astype(float) @ worth[part, :, None])[:, :, 0]
        columns = np.concatenate([replaced, replaced], axis=1)[:, :, feature]
        others = background[rng.integers(len(background), size=(shape[0], 2 * n_samples))]
        rows = np.where(columns, others, X[part, None, :])
        there = ask_score(ask, rows, of_rows(classes, part))
        first, second = np.split(here[part, None] - there, 2, axis=1)
        gain = np.maximum(0.0, (predicted * (first + second) / 2).sum(axis=1))
        size = np.square(predicted).sum(axis=1)
        square = (first * second).sum(axis=1)
        missed += float((square - np.square(gain) / np.where(size == 0, 1.0, size)).sum())
        moved += float(square.sum())
    return max(0.0, missed / moved) if moved > STILL**2 else float("nan")


def deletion(
    attributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray | None,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    signed: bool = False,
    seed: int = 0,
) -> float:
    """Return the area under the class's probability as features are taken away; lower is better.

    One after another, the most important first, features get the background's typical value: the mean
    of a number, the most frequent category. The area runs over the share of features taken away, and the
    score is its mean over rows.

    Parameters
    ----------
    attributions
        One figure per column, (n, m). A feature matters by the largest absolute value of its columns;
        where `signed`, by the sum of its columns, those that speak for the class first, which suits
        contributions. Ties are ordered at random.
    X, ask, classes
        Encoded rows (n, m), the black box, and the class that is explained, one per row.
    background
        Encoded rows (b, m) that the typical values are taken from. A feature of several columns is a
        category, and so is a column with at most two values.
    owner
        Which feature each column belongs to, (m,); every column its own by default.

    Examples
    --------
    >>> ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # only the first column is read
    >>> X, zeros, label = np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([1])
    >>> deletion(np.array([[2.0, 1.0]]), X, ask, label, background=zeros)  # 1, 0, 0
    0.25
    >>> deletion(np.array([[1.0, 2.0]]), X, ask, label, background=zeros)  # 1, 1, 0
    0.75
    """
    place, typical = _order(attributions, background, owner, signed, seed)
    return _area(place, np.asarray(X, dtype=float), typical, ask, classes)


def insertion(
    attributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray | None,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    signed: bool = False,
    seed: int = 0,
) -> float:
    """Return the area under the class's probability as a typical row gets the row's own values.

    As `deletion`, the other way round: higher is better.

    >>> ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # only the first column is read
    >>> X, zeros, label = np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([1])
    >>> insertion(np.array([[2.0, 1.0]]), X, ask, label, background=zeros)  # 0, 1, 1
    0.75
    """
    place, typical = _order(attributions, background, owner, signed, seed)
    return _area(place, typical, np.asarray(X, dtype=float), ask, classes)


def _order(
    attributions: FloatArray, background: FloatArray, owner: IntArray | None, signed: bool, seed: int
) -> tuple[IntArray, FloatArray]:
    """Return the place of each column's feature in its row, (n, m), and the typical values as (n, m)."""
    attributions = np.asarray(attributions, dtype=float)
    feature = features(owner, attributions.shape[1])
    place = places(importance(attributions, feature, signed), np.random.default_rng(seed))
    return place[:, feature], np.broadcast_to(typical_row(background, feature), attributions.shape)


def _area(place: IntArray, start: FloatArray, end: FloatArray, ask: Ask, classes: IntArray | None) -> float:
    """Return the area under the class's probability on the way from the start rows to the end rows."""
    if not len(place):
        return float("nan")
    n_features = int(place.max()) + 1
    number = np.unique(np.linspace(0, n_features, min(n_features, STEPS) + 1).round())
    total = np.zeros(len(number))
    for part in batches(len(place), len(number), place.shape[1]):
        reached = place[part, None, :] < number[:, None]
        rows = np.where(reached, end[part, None, :], start[part, None, :])
        total += ask_answer(ask, rows, of_rows(classes, part)).sum(axis=0)
    heights, widths = (total[1:] + total[:-1]) / (2 * len(place)), np.diff(number) / n_features
    return float(heights @ widths)

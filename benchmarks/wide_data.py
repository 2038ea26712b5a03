"""Generated wide data of several kinds, each with a black box fitted to it.

`CHOOSING` are the kinds and seeds by which anything about maps of low rank may be chosen. `REPORTED` have
other seeds and two kinds more; they are only ever reported on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Rows = np.ndarray
Draw = Callable[[int, np.random.Generator], tuple[Rows, np.ndarray]]
LEVELS = 20  # categories of a column
BLOCK = 10  # columns that depend on one factor


def sparse(m: int, rng: np.random.Generator) -> Draw:
    """Twelve columns of m count: eight by themselves, four in two products."""
    used = rng.permutation(m)[:12]
    weights = rng.choice([-1.0, 1.0], 8) * rng.uniform(0.5, 1.0, 8)

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X = rng.normal(size=(n, m))
        a = X[:, used]
        return X, a[:, :8] @ weights + 1.5 * a[:, 8] * a[:, 9] - 1.5 * a[:, 10] * a[:, 11]

    return draw


def weak(m: int, rng: np.random.Generator) -> Draw:
    """All columns count a little, in one sum and in a product of two other sums."""
    directions = rng.normal(size=(m, 3)) / np.sqrt(m)

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X = rng.normal(size=(n, m))
        a, b, c = (X @ directions).T
        return X, 2.5 * a + 1.5 * b * c

    return draw


def blocks(m: int, rng: np.random.Generator) -> Draw:
    """Columns in blocks of ten that depend on one factor each; eight factors count, four in products."""
    n_blocks = m // BLOCK
    owner = np.arange(m) % n_blocks
    used = rng.permutation(n_blocks)[:8]
    loading = rng.choice([-0.8, 0.8], m)

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        factors = rng.normal(size=(n, n_blocks))
        a = factors[:, used]
        signal = (
            a[:, :4] @ np.array([1.2, -1.2, 0.8, -0.8]) + 1.2 * a[:, 4] * a[:, 5] - 1.2 * a[:, 6] * a[:, 7]
        )
        return factors[:, owner] * loading + 0.6 * rng.normal(size=(n, m)), signal

    return draw


def categories(m: int, rng: np.random.Generator) -> Draw:
    """Columns of twenty categories; six count by themselves, two decide how another one counts."""
    n_columns = m // LEVELS
    share = rng.dirichlet(np.full(LEVELS, 3.0), n_columns).cumsum(1)
    effects = rng.normal(size=(9, LEVELS))

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        codes = (rng.random((n, n_columns))[:, :, None] > share[:, :-1]).sum(2)
        a = np.stack([effect[codes[:, j % n_columns]] for j, effect in enumerate(effects)], 1)
        return codes, a[:, :6].sum(1) / 2 + 1.5 * np.sign(a[:, 6]) * a[:, 7] + np.sign(a[:, 0]) * a[:, 8]

    return draw


def counts(m: int, rng: np.random.Generator) -> Draw:
    """Words are counted in texts that mix ten topics; they decide, and how depends on a topic."""
    topics = rng.dirichlet(np.full(m, 0.05), 10) * m
    weights = rng.normal(size=(2, m)) * (rng.random((2, m)) < 0.2)

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        mixture = rng.dirichlet(np.full(10, 0.3), n)
        X = np.log1p(rng.poisson(0.5 * mixture @ topics))
        one, two = ((a - a.mean()) / a.std() for a in (X @ weights.T).T)
        return X, 2.0 * one + 2.0 * two * np.where(mixture[:, 0] + mixture[:, 1] > 0.2, 1.0, -1.0)

    return draw


def steps(m: int, rng: np.random.Generator) -> Draw:
    """Columns with heavy tails; fifteen count by a threshold, and two pairs by an exclusive or."""
    used = rng.permutation(m)[:19]
    weights = rng.choice([-1.0, 1.0], 15) * rng.uniform(0.4, 1.0, 15)
    thresholds = rng.normal(size=19) / 2

    def draw(n: int, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        X = rng.standard_t(4, size=(n, m))
        a = np.sign(X[:, used] - thresholds)
        return X, a[:, :15] @ weights + 1.2 * a[:, 15] * a[:, 16] + 1.2 * a[:, 17] * a[:, 18]

    return draw


KINDS = {each.__name__: each for each in (sparse, weak, blocks, categories, counts, steps)}
CHOOSING = (("sparse", 1), ("weak", 2), ("blocks", 3), ("categories", 4))
REPORTED = (
    ("sparse", 101),
    ("weak", 102),
    ("blocks", 103),
    ("categories", 104),
    ("counts", 105),
    ("steps", 106),
)


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to fit on, fresh rows to measure on, the black box, and the names of categorical columns."""

    rows: Any
    fresh: Any
    model: Any
    categorical: tuple[str, ...] = ()


def problem(kind: str, seed: int, m: int, sizes: tuple[int, int], model: str = "boosting") -> Problem:
    """Draw rows of a kind, and fit a black box to labels drawn by their true log-odds.

    `sizes` are the numbers of rows to fit on, and of fresh ones.
    """
    n_rows, n_fresh = sizes
    rng = np.random.default_rng([seed, m])
    draw = KINDS[kind](m, rng)
    X, logits = draw(n_rows + n_fresh, rng)
    y = rng.random(len(X)) < expit(2.0 * (logits - np.median(logits)) / logits.std())
    if kind == "categories":
        names = tuple(f"c{j}" for j in range(X.shape[1]))
        frame = pd.DataFrame(X, columns=list(names))
        first = [OneHotEncoder(sparse_output=False, handle_unknown="ignore", dtype=np.float32)]
        fitted = make_pipeline(*first, black_box(model, seed)).fit(frame[:n_rows], y[:n_rows])
        return Problem(frame[:n_rows], frame[n_rows:], fitted, names)
    first = [StandardScaler()] if model == "mlp" else []
    fitted = make_pipeline(*first, black_box(model, seed)).fit(X[:n_rows], y[:n_rows])
    return Problem(X[:n_rows], X[n_rows:], fitted)


def black_box(model: str, seed: int) -> Any:
    """Return an unfitted classifier: gradient boosting of scikit-learn, or its network."""
    if model == "boosting":
        return HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=15, random_state=seed)
    return MLPClassifier((64,), alpha=1e-2, max_iter=40, early_stopping=True, random_state=seed)

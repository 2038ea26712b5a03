"""Which surrogate to try, and which to keep: the one that agrees most on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from illume._typing import FloatArray, IntArray
from illume.metrics.fidelity import fidelity
from illume.surrogates.base import LinearSurrogate, Surrogate
from illume.surrogates.logistic import LinearAdapter, LogisticSurrogate
from illume.surrogates.tree import DecisionTreeSurrogate

Rows = tuple[FloatArray, FloatArray]  # latents and the black box's answers
MAX_ROWS = 100_000  # more rows do not move a readable model, and would cost memory


def candidates(surrogate: Any) -> list[Surrogate]:
    """Return the surrogates to choose from: `logistic`, `tree`, a scikit-learn model or one's own.

    >>> len(candidates("logistic"))
    4
    """
    if surrogate == "logistic":
        return [LogisticSurrogate(C) for C in (0.01, 0.1, 1.0, 10.0)]
    if surrogate == "tree":
        trees = [
            DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)
            for depth, leaf in product((3, 5, 8, None), (5, 20))
        ]
        # Leaves of one row say little, but a class of few rows may get no other.
        every_row = DecisionTreeSurrogate(DecisionTreeClassifier(random_state=0), spare=True)
        return [*map(DecisionTreeSurrogate, trees), every_row]
    if hasattr(surrogate, "probabilities"):
        return [clone(surrogate, safe=False)]
    if isinstance(surrogate, str) or not hasattr(surrogate, "fit"):
        raise ValueError(
            f"surrogate {surrogate!r} is not known; choose 'logistic' or 'tree', or pass a linear "
            f"or tree classifier of scikit-learn, or an object with fit(Z, P) and probabilities(Z)"
        )
    if hasattr(surrogate, "get_depth"):
        return [DecisionTreeSurrogate(surrogate)]
    if hasattr(surrogate, "decision_function_shape"):
        raise ValueError(f"{surrogate!r} compares classes two by two and has no weights per class")
    return [LinearAdapter(surrogate)]


def large_trees() -> list[Surrogate]:
    """Return the trees to choose from beside the others where there are queried rows to grow them on.

    Their leaves are few enough for refinement, which looks at all of them, to stay quick.
    """
    return [
        DecisionTreeSurrogate(
            DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=0)
        )
        for leaves in (16, 64, 128)
    ]


def best_surrogate(
    choices: Sequence[Surrogate],
    training: Rows,
    validation: Rows,
    more: tuple[Sequence[Surrogate], Rows] | None = None,
) -> Surrogate:
    """Fit all on training rows (Z, P); keep the one of best fidelity on validation rows.

    One that never decides for some class comes after all that do: rows of that class could not be explained.
    `more` are other choices with other rows to fit them on.
    """
    Z, P = _thinned(training)
    fitted = [choice.fit(Z, P) for choice in choices]
    if more is not None:
        others, rows = more
        fitted += [choice.fit(*_thinned(rows)) for choice in others]
    if len(fitted) == 1 or not len(validation[0]):
        return fitted[0]
    Z_val, P_val = validation

    def rank(surrogate: Surrogate) -> tuple[int, bool, float, float]:
        mine, decisions = surrogate.probabilities(Z).argmax(1), P.argmax(1)
        n_valid = len(np.unique(decisions[mine == decisions]))  # classes that refinement can lead to
        found = fidelity(P_val, surrogate.probabilities(Z_val))
        return n_valid, not getattr(surrogate, "spare", False), found.agreement, found.r2

    return max(fitted, key=rank)


def _thinned(rows: Rows) -> Rows:
    kept = thinned(rows[1])
    return rows if len(kept) == len(rows[1]) else (rows[0][kept], rows[1][kept])


def thinned(P: FloatArray) -> IntArray:
    """Return which rows a surrogate learns from: at equal distances where there are too many.

    No class is left out altogether. Rows that were thinned out are enough, and all of them are taken.
    """
    if len(P) <= MAX_ROWS + P.shape[1]:
        return np.arange(len(P))
    _, first_of_class = np.unique(P.argmax(1), return_index=True)
    return np.union1d(np.arange(0, len(P), -(-len(P) // MAX_ROWS)), first_of_class)


def require_linear(surrogate: Surrogate, n_classes: int) -> None:
    """Refuse a fitted surrogate without one weight per latent and class: it gives no attributions."""
    wanted = 1 if n_classes == 2 else n_classes
    if not isinstance(surrogate, LinearSurrogate) or len(surrogate.coef_) != wanted:
        raise ValueError(
            f"surrogate {surrogate!r} gives no attributions: coef_ must have {wanted} rows for "
            f"{n_classes} classes; use 'logistic' or a linear classifier"
        )

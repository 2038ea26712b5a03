"""Choose the surrogate that agrees best with the black box on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from illume._typing import FloatArray, IntArray
from illume.metrics.fidelity import fidelity
from illume.surrogates.base import LinearAdapter, LinearSurrogate, LogisticSurrogate, Surrogate
from illume.surrogates.tree import DecisionTreeSurrogate

Rows = tuple[FloatArray, FloatArray]  # latents and the black box's probabilities
MAX_ROWS = 100_000  # enough for an interpretable model


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
        # Leaves of one row mean little, but a rare class may get no other.
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
    """Return further trees to choose from if there are queried rows to grow them on.

    They have few leaves, because refinement looks at all of them.
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
    """Fit all on training rows (Z, P); return the one with the best fidelity on validation rows.

    Surrogates that decide for more classes come first: rows of other classes could not be explained. `more`
    are further choices with their own training rows.
    """
    Z, P = _subsample(training)
    fitted = [choice.fit(Z, P) for choice in choices]
    if more is not None:
        others, rows = more
        fitted += [choice.fit(*_subsample(rows)) for choice in others]
    if len(fitted) == 1 or not len(validation[0]):
        return fitted[0]
    Z_val, P_val = validation

    def rank(surrogate: Surrogate) -> tuple[int, bool, float, float]:
        mine, decisions = surrogate.probabilities(Z).argmax(1), P.argmax(1)
        n_valid = len(np.unique(decisions[mine == decisions]))  # classes that refinement can reach
        found = fidelity(P_val, surrogate.probabilities(Z_val))
        return n_valid, not getattr(surrogate, "spare", False), found.agreement, found.r2

    return max(fitted, key=rank)


def _subsample(rows: Rows) -> Rows:
    kept = subsample_indices(rows[1])
    return rows[0][kept], rows[1][kept]


def subsample_indices(P: FloatArray) -> IntArray:
    """Return the rows that a surrogate learns from: if there are many, evenly spaced ones of all classes."""
    if len(P) <= MAX_ROWS + P.shape[1]:  # also rows that were subsampled before
        return np.arange(len(P))
    _, first_of_class = np.unique(P.argmax(1), return_index=True)
    return np.union1d(np.arange(0, len(P), -(-len(P) // MAX_ROWS)), first_of_class)


def require_linear(surrogate: Surrogate, n_classes: int) -> None:
    """Raise unless a fitted surrogate has one weight per latent and class, which attributions need."""
    wanted = 1 if n_classes == 2 else n_classes
    if not isinstance(surrogate, LinearSurrogate) or len(surrogate.coef_) != wanted:
        raise ValueError(
            f"surrogate {surrogate!r} gives no attributions: coef_ must have {wanted} rows for "
            f"{n_classes} classes; use 'logistic' or a linear classifier"
        )

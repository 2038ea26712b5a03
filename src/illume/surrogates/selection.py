"""Which surrogate to try, and which to keep: the one that agrees most on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from illume._typing import FloatArray
from illume.metrics.fidelity import fidelity
from illume.surrogates.base import Surrogate
from illume.surrogates.logistic import LinearAdapter, LogisticSurrogate
from illume.surrogates.tree import DecisionTreeSurrogate

MAX_ROWS = 100_000  # more rows do not move a readable model, and would cost memory


def candidates(surrogate: Any) -> list[Surrogate]:
    """Return the surrogates to choose from: `logistic`, `tree`, a scikit-learn model or one's own.

    >>> len(candidates("logistic"))
    4
    """
    if surrogate == "logistic":
        return [LogisticSurrogate(C) for C in (0.01, 0.1, 1.0, 10.0)]
    if surrogate == "tree":
        return [
            DecisionTreeSurrogate(
                DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)
            )
            for depth in (3, 5, 8, None)
            for leaf in (5, 20)
        ]
    if hasattr(surrogate, "probabilities"):
        return [surrogate]
    if isinstance(surrogate, str) or not hasattr(surrogate, "fit"):
        raise ValueError(
            f"surrogate {surrogate!r} is not known; choose 'logistic' or 'tree', or pass a linear "
            f"or tree classifier of scikit-learn, or an object with fit(Z, P) and probabilities(Z)"
        )
    if hasattr(surrogate, "get_depth"):
        return [DecisionTreeSurrogate(surrogate)]
    return [LinearAdapter(surrogate)]


def best_surrogate(
    choices: Sequence[Surrogate],
    training: tuple[FloatArray, FloatArray],
    validation: tuple[FloatArray, FloatArray],
) -> Surrogate:
    """Fit all on training rows (Z, P); keep the one of best fidelity on validation rows."""
    Z, P = training
    if len(Z) > MAX_ROWS:
        step = -(-len(Z) // MAX_ROWS)
        Z, P = Z[::step], P[::step]
    fitted = [choice.fit(Z, P) for choice in choices]
    if len(fitted) == 1 or not len(validation[0]):
        return fitted[0]
    Z_val, P_val = validation

    def rank(surrogate: Surrogate) -> tuple[float, float]:
        found = fidelity(P_val, surrogate.probabilities(Z_val))
        return found.agreement, found.r2

    return max(fitted, key=rank)


def can_attribute(surrogate: Surrogate) -> bool:
    """Whether the surrogate is not one of our trees, which give rules and no attributions."""
    return not isinstance(surrogate, DecisionTreeSurrogate)

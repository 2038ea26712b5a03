"""Black boxes, rules and rows that the tests of the metrics share."""

import numpy as np

from illume.metrics import Boxes

INF = np.inf


def linear(weights, offset=0.0):
    """Return a black box of two classes whose log-odds are a weighted sum."""

    def ask(X):
        p = 1 / (1 + np.exp(-(X @ np.asarray(weights, dtype=float) + offset)))
        return np.column_stack([1 - p, p])

    return ask


def random_boxes(rng, n, m, bounded=0.5):
    """Return rules of which about half the sides are bounded."""
    low, high = np.sort(rng.normal(size=(2, n, m)), axis=0)
    low[rng.random((n, m)) > bounded] = -INF
    high[rng.random((n, m)) > bounded] = INF
    return Boxes(low, high)


def taken(explanations, order):
    """Return the explanations in another order."""
    if isinstance(explanations, Boxes):
        return Boxes(explanations.low[order], explanations.high[order])
    return explanations[order]

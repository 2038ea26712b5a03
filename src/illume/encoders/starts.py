"""Where maps of low rank start: along the linear model that the black box's log-odds follow best."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray

SURE = 1e-3  # probabilities nearer to 0 and 1 are taken for this
MOST_ROWS = 16_384
FARTHEST = 10.0  # standard deviations; one row far out must not decide
STEPS = 8  # few, so that what is only noise among many inputs is not followed
ROUNDING = 1e-24  # what is left of a square where it is solved


def log_odds(P: FloatArray) -> FloatArray:
    """Return log-odds of probabilities (n, c), centred over rows: one column for two classes, else c.

    >>> log_odds(np.array([[0.5, 0.5], [0.5, 0.5]]))
    array([[0.],
           [0.]])
    """
    logs = np.log(np.clip(P, SURE, 1 - SURE))
    logs = logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)
    return np.asarray(logs - logs.mean(0))


def linear_directions(X: FloatArray, P: FloatArray) -> FloatArray:
    r"""Return directions of unit length in which the log-odds of P grow with X, (1 or c, m).

    Least squares by a few steps of conjugate gradients, which cost as much as X is large; stopping early
    shrinks the answer as ridge regression does. Where there is nothing to follow, a direction is 0.

    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> linear_directions(X, np.array([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]))
    array([[1., 0.]])
    """
    every = slice(None, None, -(-len(X) // MOST_ROWS))
    X, wanted = np.clip(X[every], -FARTHEST, FARTHEST), log_odds(P[every])
    X -= X.mean(0)
    found = _least_squares(X, wanted)
    length = np.linalg.norm(found, axis=0)
    return (found / np.where(length > 0, length, 1.0)).T


def _least_squares(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Go some steps towards the solution (m, c), every column by itself."""
    rest = X.T @ Y
    found, ahead, square = np.zeros_like(rest), rest.copy(), np.square(rest).sum(0)
    enough = ROUNDING * square
    for _ in range(STEPS):
        curved = X.T @ (X @ ahead)
        bend = (ahead * curved).sum(0)
        going = (square > enough) & (bend > 0)
        step = np.divide(square, bend, out=np.zeros_like(square), where=going)
        found += step * ahead
        rest -= step * curved
        before, square = square, np.square(rest).sum(0)
        ahead = rest + np.divide(square, before, out=np.zeros_like(square), where=going) * ahead
    return found

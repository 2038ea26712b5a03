"""Initial directions of low-rank maps: those of the linear model that fits the black box's log-odds best."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import lsqr  # type: ignore[import-untyped]

from illume._typing import FloatArray

CLIP = 1e-3  # probabilities are clipped to this distance from 0 and 1
MAX_ROWS = 16_384
LARGEST = 10.0  # inputs are clipped to so many standard deviations, so that outliers do not decide
ITERATIONS = 8  # few: stopping early shrinks the solution, as ridge regression does


def log_odds(P: FloatArray) -> FloatArray:
    """Return log-odds of probabilities (n, c), centred over rows: one column for two classes, else c.

    >>> log_odds(np.array([[0.5, 0.5], [0.5, 0.5]]))
    array([[0.],
           [0.]])
    """
    logs = np.log(np.clip(P, CLIP, 1 - CLIP))
    logs = logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)
    return np.asarray(logs - logs.mean(0))


def linear_directions(X: FloatArray, P: FloatArray) -> FloatArray:
    """Return unit directions (1 or c, m) in which the log-odds of P grow with X; 0 where they are constant.

    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> linear_directions(X, np.array([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])).round(6)
    array([[1., 0.]])
    """
    every = slice(None, None, -(-len(X) // MAX_ROWS))
    X = np.clip(X[every], -LARGEST, LARGEST)
    X -= X.mean(0)
    found = np.array([lsqr(X, y, iter_lim=ITERATIONS)[0] for y in log_odds(P[every]).T])
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(length > 0, length, 1.0)

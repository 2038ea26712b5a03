"""The function whose Shapley values are asked for: the log-odds of a model's probabilities."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from illume import Explainer
from illume._typing import FloatArray

LEAST = 1e-6


def model_log_odds(explainer: Any | None, P: FloatArray) -> FloatArray:
    """Return log-odds, (n, 1) of the second of two classes, or (n, c): log p minus its mean over classes.

    A fitted explainer says itself where it clips probabilities, so that all explain the same function.

    >>> model_log_odds(None, np.array([[0.5, 0.5], [0.0, 1.0]])).round(2)
    array([[ 0.  ],
           [13.82]])
    """
    own: Any = explainer
    answers = own.shapley_.log_odds(P) if explains_log_odds(own) else _clipped(P)
    found = np.asarray(answers, dtype=float)
    return found.reshape(len(found), -1)


def explains_log_odds(explainer: Any | None) -> bool:
    """Say whether a fitted explainer brings its own log-odds."""
    return callable(getattr(getattr(explainer, "shapley_", None), "log_odds", None))


def library_has_shapley() -> bool:
    """Say whether this version of the library can be asked for Shapley values."""
    return "contributions" in inspect.signature(Explainer.__init__).parameters


def _clipped(P: FloatArray) -> FloatArray:
    P = np.clip(np.asarray(P, dtype=float), LEAST, 1.0 - LEAST)
    if P.shape[1] == 2:
        return np.log(P[:, 1]) - np.log1p(-P[:, 1])
    logs = np.log(P)
    return logs - logs.mean(axis=1, keepdims=True)

"""A model that counts the rows it is asked about."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from illume._typing import FloatArray


class Counted:
    """A model of frames or arrays, with the number of rows it has answered so far."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model = model
        self.classes_ = np.asarray(classes)
        self.asks = 0
        self._lock = threading.Lock()

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n, c)."""
        with self._lock:
            self.asks += len(X)
        return self.model.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

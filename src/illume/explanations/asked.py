"""Rows of a call, encoded and with the model's answers: made once, and handed to every explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoded
from illume.data.frames import Frame
from illume.data.threads import row_chunks
from illume.errors import rows_after
from illume.explanations.fitted import Fitted
from illume.results.trust import Novelty


@dataclass(frozen=True, eq=False)
class Asked:
    """A frame, its rows as numbers, and the model's answers P (n, c) to them.

    Without the model, its twin answers.
    """

    frame: Frame
    encoded: Encoded
    P: FloatArray

    @classmethod
    def of(cls, fitted: Fitted, X: Any) -> Asked:
        """Match the user's rows with the fitted columns, encode them, and ask the model about each once."""
        return cls.about(fitted, fitted.as_frame(X))

    @classmethod
    def about(cls, fitted: Fitted, frame: Frame) -> Asked:
        """Encode a frame's rows and ask about them; every batch is checked before the model is asked."""
        n, f = len(frame), len(fitted.schema)
        numbers = np.empty((n, fitted.encoding.n_inputs))
        imputed, odd = np.empty((2, n, f), dtype=bool)
        P = np.empty((n, len(fitted.outputs)))
        for rows in row_chunks(n, BATCH_ROWS):
            piece = frame.slice(rows.start, rows.stop)
            with rows_after(rows.start):
                encoded = fitted.encode(piece)
                P[rows] = fitted.black_box(piece)
            numbers[rows], imputed[rows], odd[rows] = encoded.X, encoded.imputed, encoded.odd
        return cls(frame, Encoded(numbers, imputed, odd), P)

    def __len__(self) -> int:
        return len(self.P)

    @property
    def X(self) -> FloatArray:
        """The encoded rows (n, m)."""
        return self.encoded.X

    def take(self, rows: IntArray) -> Asked:
        """Return some rows."""
        if len(rows) == len(self) and (rows == np.arange(len(self))).all():
            return self
        return Asked(self.frame.take(rows), self.encoded[rows], self.P[rows])

    def novelty(self, fitted: Fitted) -> Novelty:
        """Return which rows are unlike the fitted ones, and how far they are from them."""
        return fitted.novelty_detector(self.encoded)

"""A frame's rows, encoded and answered by the black box, and their values as users see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame, NumpyFrame, chunks
from illume.data.row_sources import is_row_source, iter_batches, open_rows
from illume.data.schema import check_names
from illume.data.threads import RowChunks
from illume.errors import rows_after
from illume.explanations.fitted import Fitted
from illume.results.predictions import Labels


def encode_and_ask(fitted: Fitted, frame: Frame) -> tuple[Encoded, FloatArray]:
    """Encode all rows, piece by piece, and ask the black box about each piece that is in order."""
    encoding, black_box = fitted.encoding, fitted.black_box
    X = np.empty((len(frame), encoding.n_inputs))
    imputed = np.empty((len(frame), len(encoding.schema)), dtype=bool)
    odd = np.empty_like(imputed)
    answers = []
    pieces = RowChunks(len(frame), BATCH_ROWS)
    for rows in pieces:
        with pieces:
            piece = frame.slice(rows.start, rows.stop)
            with rows_after(rows.start):
                encoded = encoding.transform(piece.select(encoding.schema.names))
                answers.append(black_box(piece))
            X[rows], imputed[rows], odd[rows] = encoded.X, encoded.imputed, encoded.odd
    return Encoded(X, imputed, odd), np.concatenate(answers) if answers else black_box(frame)


def fitted_labels(fitted: Fitted) -> Labels:
    """Return what features, inputs and classes are called."""
    encoding = fitted.encoding
    return Labels(
        features=encoding.schema.names,
        inputs=encoding.input_names,
        classes=fitted.class_names,
        owner=encoding.owner,
        unit=encoding.scale,
    )


def row_values(encoding: Encoding, frame: Frame) -> np.ndarray[Any, Any]:
    """Return the rows' values (n, n_features): the array itself where it is one of numbers."""
    names, numeric = encoding.schema.names, encoding.numeric
    if numeric.all() and isinstance(frame, NumpyFrame) and frame.array.dtype == np.float64:
        return frame.select(names).array
    data = np.empty((len(frame), len(names)), dtype=float if numeric.all() else object, order="F")
    block = frame.block([names[j] for j in np.flatnonzero(numeric)]) if numeric.any() else None
    if block is not None:
        data[:, numeric] = block.astype(np.float64, copy=False)
    for j in range(len(names)) if block is None else np.flatnonzero(~numeric):
        data[:, j] = frame.numbers(names[j]) if numeric[j] else frame.labels(names[j])
    return data


def iter_rows(fitted: Fitted, X: Any, n_rows: int) -> Iterator[Any]:
    """Yield the user's rows piece by piece, in the library that the explainer was fitted with."""
    if not is_row_source(X):
        for _, piece in chunks(fitted.as_frame(X), n_rows):
            yield piece.native
        return
    source = open_rows(X)
    check_names(source.names, fitted.columns)
    like = fitted.pool.frame.native if fitted.pool is not None and fitted.backend == "pandas" else None
    yield from iter_batches(source, fitted.columns, n_rows, backend=fitted.backend or "numpy", like=like)

"""Encoded rows, kept small: numbers as they are, a position for each category."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.errors import SaveError
from illume.explanations.layout import Layout

NONE = -1


def dump_rows(arrays: ArrayWriter, name: str, encoding: Encoding, X: FloatArray) -> None:
    """Store encoded rows X (n, m)."""
    layout = Layout.of(encoding)
    own = layout.own(X)
    codes = np.full((len(X), len(layout.categorical)), NONE, dtype=np.int32)
    for f, inputs in enumerate(layout.categorical):
        has = own[:, inputs]
        codes[:, f] = np.where(has.any(1), has.argmax(1), NONE)
    numbers = X[:, layout.numbers]
    if not np.array_equal(_expanded(encoding, layout, numbers, codes), X):
        raise SaveError(f"{name} rows are not as the encoding makes them; fit again before saving")
    arrays.add(f"{name}.numbers", np.ascontiguousarray(numbers))
    arrays.add(f"{name}.codes", codes)


def read_rows(arrays: ArrayReader, name: str, encoding: Encoding, n: int | None = None) -> FloatArray:
    """Return encoded rows, the very numbers that were stored."""
    layout = Layout.of(encoding)
    numbers = arrays.take(f"{name}.numbers", np.float64, (n, len(layout.numbers)))
    codes = arrays.take(f"{name}.codes", np.int32, (len(numbers), len(layout.categorical)))
    widths = np.array([inputs.stop - inputs.start for inputs in layout.categorical], dtype=np.int32)
    arrays.require(bool(((codes >= NONE) & (codes < widths)).all()), f"{name}.codes are no categories")
    return _expanded(encoding, layout, numbers, codes)


def _expanded(encoding: Encoding, layout: Layout, numbers: FloatArray, codes: IntArray) -> FloatArray:
    X = np.empty((len(numbers), encoding.n_inputs))
    X[:, layout.numbers] = numbers
    for f, inputs in enumerate(layout.categorical):
        block = (codes[:, [f]] == np.arange(inputs.stop - inputs.start)).astype(np.float64)
        X[:, inputs] = (block - encoding.mean[inputs]) / encoding.scale[inputs]
    return X

"""How plausible changed rows are: how far from them the nearest training row is."""

from __future__ import annotations

import math

import numpy as np

from illume._typing import FloatArray
from illume.data.sampling import evenly_spaced
from illume.data.threads import row_chunks
from illume.explanations.boxes import Layout

AT_ONCE = 512
TYPICAL_ROWS = 500  # whose distances to the nearest other row are typical ones


def nearest_distance(reference: FloatArray, layout: Layout, X: FloatArray, own: FloatArray) -> FloatArray:
    """Return the distance of rows to the nearest reference row, other than the rows they were made of."""
    scale = np.where(layout.onehot, 0.5**0.5, 1.0)
    reference = reference * scale
    square = np.square(reference).sum(1)
    nearest = np.empty(len(X))
    for rows in row_chunks(len(X), AT_ONCE):
        far, itself = (
            np.square(part).sum(1)[:, None] + square - 2 * part @ reference.T
            for part in (X[rows] * scale, own[rows] * scale)
        )
        far[itself < 1e-9] = np.inf
        nearest[rows] = np.sqrt(np.maximum(far.min(1), 0.0))
    return nearest


def typical_distance(reference: FloatArray, layout: Layout) -> float:
    """Return the median distance of reference rows to the nearest other one; NaN if all are equal."""
    some = reference[evenly_spaced(len(reference), TYPICAL_ROWS)]
    near = nearest_distance(reference, layout, some, some)
    return float(np.median(near[np.isfinite(near)])) if np.isfinite(near).any() else math.nan

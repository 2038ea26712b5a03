"""From boxes of inputs to conditions on features, in their own units."""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoding
from illume.data.number_scaling import standardise
from illume.explanations.boxes import Boxes
from illume.results.conditions import Bounds


def in_own_units(
    boxes: Boxes, encoding: Encoding, own: FloatArray, missing: BoolArray, *, exact: bool = False
) -> Bounds:
    """Return boxes as bounds on features.

    Bounds of whole numbers become whole numbers, and bounds that cannot bind within the range that was
    seen are dropped, unless `exact`. The rows' `own` numbers (n, n_features) stay inside whatever rounding
    does, where the box has them inside. `missing` (n, n_features) says where a number may be missing.
    """
    n, features = len(boxes), encoding.schema.features
    low, high = np.full((n, len(features)), -np.inf), np.full((n, len(features)), np.inf)
    inside = np.zeros((n, len(features)), dtype=bool)
    with np.errstate(over="ignore"):
        for i in np.flatnonzero(~encoding.onehot):
            j, feature = int(encoding.owner[i]), features[encoding.owner[i]]
            mean, scale = encoding.mean[i], encoding.scale[i]
            below, above = (_clean(mean + scale * side[:, i]) for side in (boxes.low, boxes.high))
            x = standardise(own[:, j], mean, scale)
            if feature.whole and not exact:
                below, above = np.ceil(below), np.floor(above)
            below = np.where(x >= boxes.low[:, i], np.fmin(below, own[:, j]), below)
            above = np.where(x <= boxes.high[:, i], np.fmax(above, own[:, j]), above)
            if not exact:
                below = np.where(below <= feature.low, -np.inf, below)
                above = np.where(above >= feature.high, np.inf, above)
            low[:, j], high[:, j] = below, above
            inside[:, j] = (boxes.low[:, i] <= 0) & (boxes.high[:, i] >= 0)  # a missing number is read as 0
    said = np.isfinite(low) | np.isfinite(high)
    widths = np.bincount(encoding.owner[encoding.onehot], minlength=len(features))
    return Bounds(
        features=features,
        low=low,
        high=high,
        missing=missing & inside & said,
        allowed=boxes.allowed[:, encoding.onehot],
        first=np.append(0, np.cumsum(widths)),
    )


def _clean(bound: FloatArray) -> FloatArray:
    """Take out what scaling to and fro left at the sixteenth digit.

    >>> _clean(np.array([116.30000000000001, np.inf, 0.0]))
    array([116.3,   inf,   0. ])
    """
    known = np.isfinite(bound) & (bound != 0)
    number = np.where(known, bound, 1.0)
    digits = np.clip(12 - np.floor(np.log10(np.abs(number))), -290, 290)
    with np.errstate(over="ignore"):  # by a positive power either way, for these are exact
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        rounded = np.round(number * up / down) / up * down
    near = known & (np.abs(rounded - number) <= 1e-13 * np.abs(number))
    return np.where(near, rounded, bound)

"""Scale the numeric features of many rows at once, and flag values outside of the fitted range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import NarwhalsFrame, NumpyFrame
from illume.data.schema import Schema

LARGEST = 1e9  # standard deviations
SMALLEST = 1e-303  # that a standard deviation may be, for a slope per unit to be a number


@dataclass(frozen=True, eq=False)
class NumberBlock:
    """How the numeric features of a schema are encoded at once.

    Parameters
    ----------
    names, features
        Their names, and their positions in the schema, (f,).
    live, inputs
        Which of them are not constant (None if all are, and all features are numbers), and their inputs.
    low, high
        The fitted range, (f,); empty if no value was seen.
    mean, scale
        Of those that are not constant.
    """

    names: tuple[str, ...]
    features: IntArray
    live: BoolArray | None
    inputs: IntArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, schema: Schema, owner: IntArray, mean: FloatArray, scale: FloatArray) -> NumberBlock:
        """Collect the numeric features."""
        features = np.array([j for j, each in enumerate(schema.features) if each.numeric], dtype=np.intp)
        mine = [schema.features[j] for j in features]
        inputs = np.flatnonzero(np.isin(owner, features))
        live = np.array([not each.constant for each in mine], dtype=bool)
        whole = bool(live.all()) and len(mine) == len(schema.features)
        unseen = [each.constant and each.low != each.high for each in mine]
        low = np.where(unseen, np.inf, np.array([each.low for each in mine], dtype=np.float64))
        high = np.where(unseen, -np.inf, np.array([each.high for each in mine], dtype=np.float64))
        names = tuple(each.name for each in mine)
        return cls(names, features, None if whole else live, inputs, low, high, mean[inputs], scale[inputs])

    def fill(self, raw: FloatArray, X: FloatArray, imputed: BoolArray, odd: BoolArray) -> bool:
        """Encode raw numbers (n, f) into X (n, m) and set flags (n, n_features); False if one is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.live is None and self._fill_plain(raw, X, odd):
                return True
            if np.isinf(raw).any():
                return False
            missing, beyond = np.isnan(raw), (raw < self.low) | (raw > self.high)
        scaled = standardise(raw if self.live is None else raw[:, self.live], self.mean, self.scale)
        scaled[np.isnan(scaled)] = 0.0
        X[:, self.inputs] = scaled
        imputed[:, self.features], odd[:, self.features] = missing, beyond
        return True

    def _fill_plain(self, raw: FloatArray, X: FloatArray, odd: BoolArray) -> bool:
        """Encode if all features are numbers; False if some are missing, infinite or huge."""
        np.subtract(raw, self.mean, out=X)
        np.divide(X, self.scale, out=X)
        np.greater_equal(raw, self.low, out=odd)
        odd &= raw <= self.high
        np.logical_not(odd, out=odd)  # what is missing is not in the range, either
        return (self._narrow and not odd.any()) or bool(X.max() <= LARGEST and X.min() >= -LARGEST)

    @cached_property
    def _narrow(self) -> bool:
        """Whether every number within the fitted ranges is moderate after scaling."""
        with np.errstate(over="ignore"):
            farthest = np.maximum(self.high - self.mean, self.mean - self.low) / self.scale
        return bool((farthest <= LARGEST).all())


def number_columns(frame: Any, names: Sequence[str]) -> np.ndarray[Any, Any] | None:
    """Return columns as one array (n, f) if that is cheap, else None; do not write to it."""
    if not names:
        return None
    if isinstance(frame, NumpyFrame):
        return frame.select(names).array if frame.array.dtype.kind in "fiub" else None
    if isinstance(frame, NarwhalsFrame):
        return _pandas_block(frame, names) if frame.view.implementation.is_pandas() else None
    block = getattr(frame, "block", None)
    return None if block is None else block(names)


def _pandas_block(frame: NarwhalsFrame, names: Sequence[str]) -> FloatArray | None:
    native = frame.native
    if tuple(names) != frame.names:
        native = native.iloc[:, [frame.names.index(name) for name in names]]
    plain = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in set(native.dtypes))
    return native.to_numpy(dtype=np.float64) if plain else None


def standardise(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return `(numbers − mean) / scale`, clipped to ± 10⁹, whose square single precision holds.

    >>> standardise(np.array([3.0, 1e300]), np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    array([1.e+00, 1.e+09])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (numbers - mean) / scale
        if np.isinf(scaled).any():  # a difference, too, may be too large for a number
            scaled = np.where(np.isinf(scaled), numbers / scale - mean / scale, scaled)
    return np.clip(scaled, -LARGEST, LARGEST)


def column_means(block: FloatArray) -> FloatArray:
    """Mean over rows that is safe for huge values; 0 where all are missing."""
    top = _top(block)
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    return top * (np.nansum(block / top, axis=0) / seen)


def scale_of(block: FloatArray) -> FloatArray:
    """Return the standard deviation over rows, 1 where it vanishes."""
    top = _top(block)
    deviation = block / top - column_means(block) / top
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    scale = top * np.sqrt(np.nansum(deviation**2, axis=0) / seen)
    return np.where(scale > 0, np.maximum(scale, SMALLEST), 1.0)


def _top(block: FloatArray) -> FloatArray:
    top = np.max(np.abs(block), axis=0, initial=0.0, where=~np.isnan(block))
    return np.where(top > 0, top, 1.0)

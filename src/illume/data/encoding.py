"""From features to numbers and back: scale, one-hot encode, gather."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.column_values import Storage
from illume.data.frames import Frame
from illume.data.schema import Feature, Other, Schema, Unknown, labels, require_finite, unseen_error
from illume.data.threads import row_chunks
from illume.errors import SchemaError

LARGEST = 1e9  # standard deviations
SMALLEST = 1e-303  # that a standard deviation may be, for a slope per unit to be a number


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows X (n, m), and flags per feature (n, n_features).

    Parameters
    ----------
    imputed
        Missing numbers, which were filled in.
    odd
        Values outside of the range or the categories seen in fit.
    """

    X: FloatArray
    imputed: BoolArray
    odd: BoolArray

    def __getitem__(self, rows: IntArray | slice) -> Encoded:
        """Return some rows."""
        return Encoded(self.X[rows], self.imputed[rows], self.odd[rows])

    @classmethod
    def plain(cls, X: FloatArray, n_features: int) -> Encoded:
        """Return rows with nothing imputed or odd."""
        nothing = np.zeros((len(X), n_features), dtype=bool)
        return cls(X, nothing, nothing)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the features of a schema become inputs, every one centred on the training mean.

    A number is scaled to unit variance; a category becomes one column per value. A missing number is
    filled with the mean, so that it is encoded as 0 and contributes nothing. Features that are
    constant have no input at all.

    Parameters
    ----------
    owner
        Which feature each input belongs to, (m,); inputs of one feature stand side by side.
    mean, scale
        What is subtracted from an input, then what it is divided by, (m,).
    """

    schema: Schema
    owner: IntArray
    mean: FloatArray
    scale: FloatArray
    unknown: Unknown = "error"

    @classmethod
    def fit(cls, schema: Schema, frame: Frame, unknown: Unknown = "error") -> Encoding:
        """Learn means and scales from training rows."""
        owner = cls.owners(schema)
        live = np.unique(owner)
        raw = cls(schema, owner, np.zeros(len(owner)), np.ones(len(owner)), unknown)
        mean, scale = [], []
        for j in live:
            block = raw._block(frame, schema.features[j])
            mean.append(column_means(block))
            scale.append(
                standard_deviations(block) if schema.features[j].numeric else np.ones(block.shape[1])
            )
        return cls(schema, owner, np.concatenate([*mean, []]), np.concatenate([*scale, []]), unknown)

    @staticmethod
    def owners(schema: Schema) -> IntArray:
        """Return which feature each input belongs to, (m,)."""
        live = [j for j, feature in enumerate(schema.features) if not feature.constant]
        widths = [_width(schema.features[j]) for j in live]
        return np.repeat(np.array(live, dtype=np.intp), np.array(widths, dtype=np.intp))

    @property
    def n_inputs(self) -> int:
        """The number of inputs, m."""
        return len(self.owner)

    @property
    def onehot(self) -> BoolArray:
        """Which inputs encode a category, (m,)."""
        return ~self.numeric[self.owner]

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """A name for every input: the feature, or `feature = value`."""
        names = []
        for j in np.unique(self.owner):
            feature = self.schema.features[j]
            if feature.numeric:
                names.append(feature.name)
            else:
                names.extend(f"{feature.name} = {label}" for label in feature.labels)
        return tuple(names)

    def standard_deviation(self, j: int) -> float:
        """Return the standard deviation of numeric feature j."""
        return float(self.scale[np.searchsorted(self.owner, j)])

    def transform(self, frame: Frame) -> Encoded:
        """Encode the rows of a frame that has the schema's columns."""
        X = np.empty((len(frame), self.n_inputs))
        imputed = np.zeros((len(frame), len(self.schema)), dtype=bool)
        odd = np.zeros_like(imputed)
        if self.numeric.any():
            self._scale_numbers(frame, X, imputed, odd)
        for j in np.flatnonzero(~self.numeric).tolist():
            feature = self.schema.features[j]
            if not feature.constant:
                columns = slice(self._starts[j], self._starts[j] + len(feature.categories))
                codes, onehot = self._codes(frame, feature), np.eye(len(feature.categories) + 1)[:, :-1]
                X[:, columns] = ((onehot - self.mean[columns]) / self.scale[columns])[codes]
                odd[:, j] = codes < 0
            elif not feature.open:
                odd[:, j] = [value not in feature.categories for value in labels(frame, feature.name)]
        return Encoded(X, imputed, odd)

    def _scale_numbers(self, frame: Frame, X: FloatArray, imputed: BoolArray, odd: BoolArray) -> None:
        low, high, live = self._ranges
        numeric, inputs, live = (_columns(mask) for mask in (self.numeric, ~self.onehot, live))
        mean, scale = self.mean[inputs], self.scale[inputs]
        raw = self._all_numbers(frame)
        for rows in row_chunks(len(frame)):  # chunks fit into the cache of a processor
            numbers = np.ascontiguousarray(raw[rows])
            missing = np.isnan(numbers)
            imputed[rows, numeric] = missing
            odd[rows, numeric] = (numbers < low) | (numbers > high)
            scaled = standardise(numbers[:, live], mean, scale)
            scaled[missing[:, live]] = 0.0
            X[rows, inputs] = scaled

    @cached_property
    def numeric(self) -> BoolArray:
        """Which features are numbers, (n_features,)."""
        return np.array([feature.numeric for feature in self.schema.features], dtype=bool)

    @cached_property
    def _ranges(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The lowest and highest fitted values of numeric features, and which of them have an input."""
        features = [feature for feature in self.schema.features if feature.numeric]
        live = np.array([not feature.constant for feature in features], dtype=bool)
        low, high = (np.array([getattr(f, end) for f in features], dtype=float) for end in ("low", "high"))
        unseen = ~live & (low != high)  # every value is outside of the range of a feature without values
        return np.where(unseen, np.inf, low), np.where(unseen, -np.inf, high), live

    def _all_numbers(self, frame: Frame) -> FloatArray:
        """Return all numeric features of the rows (n, f)."""
        features = [feature for feature in self.schema.features if feature.numeric]
        block = frame.block([feature.name for feature in features]) if features else None
        if block is None or np.isinf(block).any():
            return np.array([self.numbers(frame, feature) for feature in features]).T
        return block.astype(np.float64, copy=False)

    def _block(self, frame: Frame, feature: Feature) -> FloatArray:
        """Return one feature as raw numbers (n, width): the number itself, or 0 and 1."""
        if feature.numeric:
            return self.numbers(frame, feature)[:, None]
        codes = self._codes(frame, feature)
        return (codes[:, None] == np.arange(len(feature.categories))).astype(np.float64)

    @cached_property
    def _starts(self) -> dict[int, int]:
        """The first input of every feature that has inputs."""
        live, starts = np.unique(self.owner, return_index=True)
        return dict(zip(live.tolist(), starts.tolist(), strict=True))

    def gather(self, per_input: FloatArray) -> FloatArray:
        """Sum values of inputs (…, m) to values of features (…, n_features)."""
        if self.one_to_one:
            return per_input
        gathered = np.zeros((*per_input.shape[:-1], len(self.schema)))
        if self.n_inputs:
            starts = list(self._starts.values())
            gathered[..., list(self._starts)] = np.add.reduceat(per_input, starts, axis=-1)
        return gathered

    @cached_property
    def one_to_one(self) -> bool:
        """Whether every feature is one input, in the same order."""
        return np.array_equal(self.owner, np.arange(len(self.schema)))

    def numbers(self, frame: Frame, feature: Feature) -> FloatArray:
        """Return a numeric feature of the rows, NaN where it is missing."""
        if frame.storage(feature.name) is Storage.LABEL:
            values = [value for value in frame.labels(feature.name) if value is not None]
            if not values:  # an empty column of text says nothing about its type
                return np.full(len(frame), np.nan)
            texts = [value for value in values if not isinstance(value, Real)] or values
            example = next((value for value in texts if not _is_numeric(value)), texts[0])
            raise SchemaError(
                f"column {feature.name!r} holds {_describe(example)}, expected numbers; convert the column, "
                f"or fit again"
            )
        numbers = frame.numbers(feature.name)
        require_finite(feature.name, numbers)
        return numbers

    def _codes(self, frame: Frame, feature: Feature) -> IntArray:
        """Return the position of each value among the categories, -1 if it is none of them."""
        position = _Position({category: i for i, category in enumerate(feature.categories)})
        position.elsewhere = position[Other.OTHER]
        values = labels(frame, feature.name)
        if self.unknown == "error" and not feature.open:
            unseen = set(values) - position.keys()
            if unseen:
                raise unseen_error(feature, values, unseen)
        return np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))


class _Position(dict[Hashable | None, int]):
    """Positions of categories; `elsewhere` for unknown values."""

    elsewhere = -1

    def __missing__(self, value: Hashable | None) -> int:
        return self.elsewhere


def _columns(mask: BoolArray) -> Any:
    """Return an index of the columns: a slice, which is faster, if it is all of them."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number or text that reads as one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _describe(value: object) -> str:
    return f"{'text' if isinstance(value, str) else f'a {type(value).__name__}'} such as {value!r}"


def _width(feature: Feature) -> int:
    return 1 if feature.numeric else len(feature.categories)


def standardise(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return `(numbers − mean) / scale`, clipped to ± 10⁹, whose square single precision holds.

    >>> standardise(np.array([3.0, 1e300]), np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    array([1.e+00, 1.e+09])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (numbers - mean) / scale
        if np.isinf(scaled).any():  # a difference, too, may be too large for a number
            scaled = np.where(np.isinf(scaled), numbers / scale - mean / scale, scaled)
    return np.clip(scaled, -LARGEST, LARGEST, out=scaled)


def column_means(block: FloatArray) -> FloatArray:
    """Mean over rows that is safe for huge values; 0 where all are missing."""
    top = _top(block)
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    return top * (np.nansum(block / top, axis=0) / seen)


def standard_deviations(block: FloatArray) -> FloatArray:
    """Return the standard deviation over rows, 1 where it vanishes."""
    top = _top(block)
    deviation = block / top - column_means(block) / top
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    scale = top * np.sqrt(np.nansum(deviation**2, axis=0) / seen)
    return np.where(scale > 0, np.maximum(scale, SMALLEST), 1.0)


def _top(block: FloatArray) -> FloatArray:
    top = np.max(np.abs(block), axis=0, initial=0.0, where=~np.isnan(block))
    return np.where(top > 0, top, 1.0)

"""From features to numbers and back: scale, one-hot encode, gather."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.schema import MISSING, Feature, Other, Schema
from illume.data.values import Storage
from illume.errors import SchemaError

Unknown = Literal["error", "ignore"]
LARGEST = 1e9  # standard deviations
SMALLEST = 1e-303  # that a standard deviation may be, for a slope per unit to be a number


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows X (n, m), and per feature (n, n_features) what is to be known of them.

    Parameters
    ----------
    imputed
        Which numbers were missing and filled in.
    odd
        Which values are outside of the range, or none of the categories, that were seen while fitting.
    """

    X: FloatArray
    imputed: BoolArray
    odd: BoolArray

    @classmethod
    def plain(cls, X: FloatArray, n_features: int) -> Encoded:
        """Return rows of which there is nothing else to know."""
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
            block = raw.block(frame, schema.features[j])
            mean.append(_mean(block))
            scale.append(_scale(block) if schema.features[j].numeric else np.ones(block.shape[1]))
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
        """Which inputs stand for a category, (m,)."""
        numeric = np.array([feature.numeric for feature in self.schema.features], dtype=bool)
        return ~numeric[self.owner]

    @property
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

    def scale_of(self, j: int) -> float:
        """Return the standard deviation of numeric feature j."""
        return float(self.scale[np.searchsorted(self.owner, j)])

    def block(self, frame: Frame, feature: Feature) -> FloatArray:
        """Return one feature as raw numbers (n, width): the number itself, or 0 and 1."""
        if feature.numeric:
            return self.numbers(frame, feature)[:, None]
        codes = self._codes(frame, feature)
        return (codes[:, None] == np.arange(len(feature.categories))).astype(np.float64)

    def transform(self, frame: Frame) -> Encoded:
        """Encode the rows of a frame that has the schema's columns."""
        X = np.empty((len(frame), self.n_inputs))
        imputed = np.zeros((len(frame), len(self.schema)), dtype=bool)
        odd = np.zeros_like(imputed)
        start = 0
        for j, feature in enumerate(self.schema.features):
            if feature.constant:  # no input, but what is wrong with the column is still said
                self._look_at_constant(frame, feature, imputed[:, j], odd[:, j])
                continue
            block = self.block(frame, feature)
            stop = start + block.shape[1]
            columns = slice(start, stop)
            X[:, columns] = standardised(block, self.mean[columns], self.scale[columns])
            if feature.numeric:
                imputed[:, j] = np.isnan(block[:, 0])
                odd[:, j] = _beyond(block[:, 0], feature)
            elif self.unknown == "ignore":
                odd[:, j] = ~block.any(1)
            start = stop
        X[np.isnan(X)] = 0.0
        return Encoded(X, imputed, odd)

    def _look_at_constant(
        self, frame: Frame, feature: Feature, imputed_out: BoolArray, odd_out: BoolArray
    ) -> None:
        """Fill in what is to be known of a feature that had one value, or none, while fitting."""
        if feature.numeric:
            numbers = self.numbers(frame, feature)
            imputed_out[:] = np.isnan(numbers)
            odd_out[:] = _beyond(numbers, feature) if feature.low == feature.high else ~imputed_out
        elif not feature.open:
            odd_out[:] = [value not in feature.categories for value in labels(frame, feature)]

    def gather(self, per_input: FloatArray) -> FloatArray:
        """Sum what belongs to inputs (…, m) into features (…, n_features)."""
        n_features = len(self.schema)
        if np.array_equal(self.owner, np.arange(n_features)):
            return per_input
        gathered = np.zeros((*per_input.shape[:-1], n_features))
        if self.n_inputs:
            live, starts = np.unique(self.owner, return_index=True)
            gathered[..., live] = np.add.reduceat(per_input, starts, axis=-1)
        return gathered

    def numbers(self, frame: Frame, feature: Feature) -> FloatArray:
        """Return a numeric feature of the rows, NaN where it is missing."""
        if frame.storage(feature.name) is Storage.LABEL:
            values = frame.labels(feature.name)
            example = next((v for v in values if v is not None), None)
            if example is None:  # an empty column of text says nothing about its type
                return np.full(len(frame), np.nan)
            raise SchemaError(
                f"column {feature.name!r} holds {_described(example)}, expected numbers; convert the column, "
                f"or fit again"
            )
        numbers = frame.numbers(feature.name)
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(np.flatnonzero(infinite)[0])
            raise SchemaError(
                f"column {feature.name!r} holds {numbers[row]} in row {row}; replace infinite "
                f"values by a finite number or by a missing value"
            )
        return numbers

    def _codes(self, frame: Frame, feature: Feature) -> IntArray:
        """Return each row's position among the categories; -1 is none of them."""
        position = _Position({category: i for i, category in enumerate(feature.categories)})
        position.elsewhere = position[Other.OTHER]
        values = labels(frame, feature)
        if self.unknown == "error" and not feature.open:
            unseen = set(values) - position.keys()
            if unseen:
                raise SchemaError(unseen_message(feature, unseen))
        return np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))


def standardised(numbers: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return `(numbers − mean) / scale`, at most a billion either way; a missing number stays NaN.

    Single precision holds the square of a billion, and where beyond that a number lies is of no use.

    >>> standardised(np.array([3.0, 1e300]), np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    array([1.e+00, 1.e+09])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (numbers - mean) / scale
        if np.isinf(scaled).any():  # a difference, too, may be too large for a number
            scaled = np.where(np.isinf(scaled), numbers / scale - mean / scale, scaled)
    return np.clip(scaled, -LARGEST, LARGEST)


def labels(frame: Frame, feature: Feature) -> list[Hashable | None]:
    """Return the values of a categorical feature; what can be no category is refused."""
    values = frame.labels(feature.name)
    try:
        hash(tuple(values))
    except TypeError as error:
        raise SchemaError(
            f"column {feature.name!r} holds values that are no categories ({error}); convert them to text"
        ) from error
    return values


class _Position(dict[Hashable | None, int]):
    """Where a value stands among the categories; -1 is nowhere."""

    elsewhere = -1

    def __missing__(self, value: Hashable | None) -> int:
        return self.elsewhere


def _described(value: object) -> str:
    return f"{'text' if isinstance(value, str) else f'a {type(value).__name__}'} such as {value!r}"


def unseen_message(feature: Feature, unseen: set[Hashable | None]) -> str:
    """Say which category was not seen while fitting, and what to do."""
    value = min(unseen, key=str)
    found = "a missing value" if value is None else repr(value)
    known = ", ".join(label for label in feature.labels[:8] if label != MISSING)
    more = ", …" if len(feature.labels) > 8 else ""
    return (
        f"column {feature.name!r} holds {found}, not seen when the explainer was fitted (known: "
        f'{known}{more}); map it to one of these, or fit again with these rows or with unknown="ignore"'
    )


def _beyond(numbers: FloatArray, feature: Feature) -> BoolArray:
    """Return which numbers are outside of the fitted range; missing ones are not."""
    return np.asarray((numbers < feature.low) | (numbers > feature.high))


def _width(feature: Feature) -> int:
    return 1 if feature.numeric else len(feature.categories)


def _mean(block: FloatArray) -> FloatArray:
    """Mean over rows that is safe for huge values; 0 where all are missing."""
    top = _top(block)
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    return top * (np.nansum(block / top, axis=0) / seen)


def _scale(block: FloatArray) -> FloatArray:
    """Return the standard deviation over rows, 1 where it vanishes; slopes are divided by it."""
    top = _top(block)
    deviation = block / top - _mean(block) / top
    seen = np.maximum((~np.isnan(block)).sum(0), 1)
    scale = top * np.sqrt(np.nansum(deviation**2, axis=0) / seen)
    return np.where(scale > 0, np.maximum(scale, SMALLEST), 1.0)


def _top(block: FloatArray) -> FloatArray:
    top = np.max(np.abs(block), axis=0, initial=0.0, where=~np.isnan(block))
    return np.where(top > 0, top, 1.0)

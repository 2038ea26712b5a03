"""From features to numbers and back: scale, one-hot encode, gather."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.column_values import Storage
from illume.data.frames import Frame
from illume.data.number_scaling import NumberBlock, column_means, number_columns, scale_of, standardise
from illume.data.schema import Feature, Other, Schema, Unknown, labels, unseen_error
from illume.data.threads import in_chunks
from illume.errors import RowError, SchemaError

FINITE = "replace infinite values by a finite number or by a missing value"


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

    @classmethod
    def room(cls, n: int, n_inputs: int, n_features: int) -> Encoded:
        """Allocate n rows; nothing is imputed or odd yet."""
        imputed = np.zeros((n, n_features), dtype=bool)
        return cls(np.empty((n, n_inputs)), imputed, np.zeros_like(imputed))

    def __getitem__(self, rows: slice) -> Encoded:
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
            block = raw.block(frame, schema.features[j])
            mean.append(column_means(block))
            scale.append(scale_of(block) if schema.features[j].numeric else np.ones(block.shape[1]))
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
        numeric = np.array([feature.numeric for feature in self.schema.features], dtype=bool)
        return ~numeric[self.owner]

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
        encoded = Encoded.room(len(frame), self.n_inputs, len(self.schema))
        self.fill(frame, encoded)
        return encoded

    def fill(self, frame: Frame, out: Encoded) -> None:
        """Encode rows into `out`; numbers all at once if the frame has them as one array."""
        one_by_one = self.categories if self._fill_numbers(frame, out) else range(len(self.schema))
        for j in one_by_one:
            self._fill_feature(frame, j, out)

    def _fill_numbers(self, frame: Frame, out: Encoded) -> bool:
        """Encode all numeric features at once; return False if that is impossible or a number is infinite."""
        block = number_columns(frame, self.number_block.names)
        if block is None:
            return False
        bad: list[slice] = []

        def fill(rows: slice) -> None:
            raw: FloatArray = np.ascontiguousarray(block[rows], dtype=np.float64)
            if not bad and not self.number_block.fill(raw, out.X[rows], out.imputed[rows], out.odd[rows]):
                bad.append(rows)

        in_chunks(fill, len(out.X))
        return not bad

    def _fill_feature(self, frame: Frame, j: int, out: Encoded) -> None:
        feature, imputed, odd = self.schema.features[j], out.imputed[:, j], out.odd[:, j]
        if feature.constant:  # no input, but its values are still checked
            self._check_constant(frame, feature, imputed, odd)
            return
        block = self.block(frame, feature)
        start = self._starts[j]
        columns = slice(start, start + block.shape[1])
        scaled = standardise(block, self.mean[columns], self.scale[columns])
        if feature.numeric:
            imputed[:] = np.isnan(block[:, 0])
            odd[:] = _beyond(block[:, 0], feature)
            scaled[np.isnan(scaled)] = 0.0
        elif self.unknown == "ignore":
            odd[:] = ~block.any(1)
        out.X[:, columns] = scaled

    @cached_property
    def number_block(self) -> NumberBlock:
        """How the numeric features are encoded at once."""
        return NumberBlock.of(self.schema, self.owner, self.mean, self.scale)

    @cached_property
    def categories(self) -> tuple[int, ...]:
        """Positions of the categorical and boolean features."""
        return tuple(j for j, feature in enumerate(self.schema.features) if not feature.numeric)

    @property
    def all_numeric(self) -> bool:
        """Whether every feature is a number."""
        return not self.categories

    @cached_property
    def _starts(self) -> dict[int, int]:
        """The first input of every feature that has inputs."""
        live, starts = np.unique(self.owner, return_index=True)
        return dict(zip(live.tolist(), starts.tolist(), strict=True))

    def _check_constant(
        self, frame: Frame, feature: Feature, imputed_out: BoolArray, odd_out: BoolArray
    ) -> None:
        """Set the flags of a feature that had at most one value in fit."""
        if feature.numeric:
            numbers = self.numbers(frame, feature)
            imputed_out[:] = np.isnan(numbers)
            odd_out[:] = _beyond(numbers, feature) if feature.low == feature.high else ~imputed_out
        elif not feature.open:
            odd_out[:] = [value not in feature.categories for value in labels(frame, feature)]

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
            values = frame.labels(feature.name)
            example = next((v for v in values if v is not None), None)
            if example is None:  # an empty column of text says nothing about its type
                return np.full(len(frame), np.nan)
            raise SchemaError(
                f"column {feature.name!r} holds {_describe(example)}, expected numbers; convert the column, "
                f"or fit again"
            )
        numbers = frame.numbers(feature.name)
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(infinite.argmax())
            raise RowError(feature.name, str(numbers[row]), row, "", FINITE)
        return numbers

    def require_usable(self, frame: Frame) -> None:
        """Raise an error that names the first row that cannot be encoded, if there is one."""
        for feature in self.schema.features:
            if feature.numeric:
                self.numbers(frame, feature)
            elif not feature.constant:
                self._codes(frame, feature)

    def _codes(self, frame: Frame, feature: Feature) -> IntArray:
        """Return the position of each value among the categories, -1 if it is none of them."""
        position = _Position({category: i for i, category in enumerate(feature.categories)})
        position.elsewhere = position[Other.OTHER]
        values = labels(frame, feature)
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


def _describe(value: object) -> str:
    return f"{'text' if isinstance(value, str) else f'a {type(value).__name__}'} such as {value!r}"


def _beyond(numbers: FloatArray, feature: Feature) -> BoolArray:
    """Which numbers are outside of the fitted range; missing ones are not."""
    return np.asarray((numbers < feature.low) | (numbers > feature.high))


def _width(feature: Feature) -> int:
    return 1 if feature.numeric else len(feature.categories)

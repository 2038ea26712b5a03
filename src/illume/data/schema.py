"""What each column of a frame means: a number, a boolean or a category."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal

import numpy as np

from illume._typing import FloatArray
from illume.data.column_values import Storage
from illume.data.frames import Frame, NumpyFrame, as_frame
from illume.data.number_text import count
from illume.data.require import require_choice
from illume.data.terminal_text import printable, require_text
from illume.errors import RowError, SchemaError, UnknownCategoryError, warn

MISSING = "(missing)"
MAX_CATEGORIES = 64
FINITE = "replace infinite values by a finite number or by a missing value"


class Other(Enum):
    """The category of all values that are too rare for one of their own."""

    OTHER = "(other)"

    def __str__(self) -> str:
        return str(self.value)


class Kind(Enum):
    """What a column represents, independent of its storage."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    CATEGORICAL = "categorical"


@dataclass(frozen=True)
class Feature:
    """One column: its kind, and its range or categories.

    Parameters
    ----------
    categories
        The known values of a boolean or categorical column, in the order shown to users; None among them
        stands for "missing", which is a category of its own, and `Other.OTHER` for all values not listed.
    low, high, whole
        Range of a numeric column, and whether all its values are whole numbers.
    """

    name: str
    kind: Kind
    categories: tuple[Hashable | None, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def __post_init__(self) -> None:
        """Refuse names and categories that cannot be written."""
        require_text("the feature", self.name)
        require_text(f"feature {self.name!r}: the category", *self.categories)

    @property
    def numeric(self) -> bool:
        """Whether the column is a number."""
        return self.kind is Kind.NUMERIC

    @property
    def constant(self) -> bool:
        """Whether the column has at most one value."""
        return not self.low < self.high if self.numeric else len(self.categories) < 2

    @property
    def known(self) -> bool:
        """Whether a range or categories are given."""
        return not (math.isinf(self.low) and math.isinf(self.high)) if self.numeric else bool(self.categories)

    @property
    def open(self) -> bool:
        """Whether values that are not listed count as `Other.OTHER`."""
        return Other.OTHER in self.categories

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories as text."""
        return tuple(MISSING if value is None else str(value) for value in self.categories)


@dataclass(frozen=True)
class Schema:
    """The features of a frame, in order.

    >>> import numpy as np
    >>> Schema.infer(np.array([[1.0, 0.0], [2.5, 1.0]]), categorical=["x1"])
    Schema of 2 features
      x0  numeric      1 to 2.5
      x1  categorical  0, 1
    """

    features: tuple[Feature, ...]

    @classmethod
    def infer(cls, data: Any, categorical: Iterable[str] = ()) -> Schema:
        """Infer the schema of a frame; `categorical` names columns whose numbers are codes."""
        frame = as_frame(data)
        declared = declared_codes(categorical, frame.names)
        return cls.from_features(
            _observe(frame, name, column_kind(frame, name, name in declared)) for name in frame.names
        )

    @classmethod
    def from_features(cls, features: Iterable[Feature]) -> Schema:
        """Return the schema of these features, and warn of constant ones."""
        schema = cls(tuple(features))
        for feature in schema.features:
            if feature.constant:
                found = "only one value" if _any_value(feature) else "no value"
                words = f"column {feature.name!r} holds {found}; its attribution will be 0"
                warn(words)
        return schema

    def complete(self, frame: Frame) -> Schema:
        """Fill in ranges and categories that are not given, from a frame."""
        check_names(frame.names, self.names)
        return Schema.from_features(
            each if each.known else _observe(frame, each.name, each.kind) for each in self.features
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.names.index(name)]

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        lines = [f"  {f.name:<{width}}  {f.kind.value:<11}  {_summary(f)}" for f in self.features]
        return printable("\n".join([f"Schema of {count(len(self), 'feature')}", *lines]))


def require_columns(frame: Frame, names: Sequence[str]) -> Frame:
    """Return the named columns in this order.

    Columns of a NumPy array have no names and are taken by position.
    """
    if frame.names == tuple(names):
        return frame
    if isinstance(frame, NumpyFrame):
        if len(frame.names) != len(names):
            raise SchemaError(
                f"the array has {len(frame.names)} columns, expected {len(names)}, in the order of the fit: "
                f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}; give these, or a frame that names "
                f"its columns"
            )
        return NumpyFrame(frame.array, tuple(names))
    check_names(frame.names, names)
    return frame.select(names)


def check_names(found: Sequence[str], names: Sequence[str]) -> None:
    """Raise unless all columns are there."""
    for name in names:
        if name not in found:
            raise SchemaError(f"column {name!r} is missing; {_nearest(name, found)}")


def declared_codes(categorical: Iterable[str], names: Sequence[str]) -> set[str]:
    """Return the names of columns whose numbers are codes; raise if one is no column."""
    if isinstance(categorical, str):
        raise SchemaError(f"categorical must be a list of names; write [{categorical!r}]")
    declared = {str(name) for name in categorical}
    for name in declared - set(names):
        raise SchemaError(f"categorical names {describe_unknown(name, names)}")
    if not names:
        raise SchemaError("the frame has no columns; at least one is needed")
    return declared


def describe_unknown(name: str, names: Sequence[str]) -> str:
    """Describe a name that is no column, with the nearest one."""
    return f"{name!r}, which is no column; {_nearest(name, names)}"


def _nearest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"the nearest column is {close[0]!r}; is that the one?"
    return f"the columns are {', '.join(map(repr, names[:8]))}{', …' if len(names) > 8 else ''}"


def column_kind(frame: Frame, name: str, is_code: bool) -> Kind:
    """Return what a column represents; `is_code` says that its numbers are codes of categories."""
    storage = frame.storage(name)
    if storage is Storage.NUMBER and not is_code:
        return Kind.NUMERIC
    return Kind.BOOLEAN if storage is Storage.BOOLEAN else Kind.CATEGORICAL


def _observe(frame: Frame, name: str, kind: Kind) -> Feature:
    """Return the feature of a column whose kind is known."""
    if kind is Kind.NUMERIC:
        return numeric_feature(name, frame.numbers(name))
    return categorical_feature(name, kind, Counter(labels(frame, name)))


def categorical_feature(
    name: str, kind: Kind, counts: Counter[Hashable | None], n_values: str | None = None
) -> Feature:
    """Return a categorical feature from the counts of its values; None counts missing ones.

    >>> categorical_feature("town", Kind.CATEGORICAL, Counter({"Ulm": 1, None: 2, "Bonn": 3})).labels
    ('Bonn', 'Ulm', '(missing)')
    """
    counts = counts.copy()
    missing: list[Hashable | None] = [None] if counts.pop(None, 0) else []
    rare: list[Hashable | None] = []
    if n_values or len(counts) > MAX_CATEGORIES:
        warn(
            f"column {name!r} holds {n_values or len(counts)} different values; the {MAX_CATEGORIES} most "
            f"frequent are told apart, the others are one category; leave it out if it only names the rows",
        )
        counts, rare = Counter(dict(counts.most_common(MAX_CATEGORIES))), [Other.OTHER]
    known = sorted(map(_plain, counts), key=_category_order)  # whatever library the frame is of
    return Feature(name, kind, (*known, *rare, *missing))


def numeric_feature(name: str, values: FloatArray, start: int = 0) -> Feature:
    """Return a numeric feature from its values; raise if one is infinite; `start` rows came before."""
    require_finite(name, values, start)
    values = values[~np.isnan(values)]
    if not len(values):
        return Feature(name, Kind.NUMERIC, low=math.nan, high=math.nan)
    whole = bool((values == np.round(values)).all())
    return Feature(name, Kind.NUMERIC, low=float(values.min()), high=float(values.max()), whole=whole)


def require_finite(name: str, values: FloatArray, start: int = 0) -> None:
    """Raise if a number is infinite; `start` rows came before."""
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise RowError(name, str(values[row]), start + row, "", FINITE)


def _plain(value: Hashable) -> Hashable:
    """Whole floats are codes that a missing value turned into floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _category_order(value: Hashable) -> tuple[bool, Any]:
    """Numbers by size, then all else by its text."""
    is_number = isinstance(value, (int, float))
    return (not is_number, value if is_number else str(value))


def _any_value(feature: Feature) -> bool:
    if feature.numeric:
        return not math.isnan(feature.low)
    return any(value is not None for value in feature.categories)


def _summary(feature: Feature) -> str:
    if feature.numeric:
        return "no value" if math.isnan(feature.low) else f"{feature.low:g} to {feature.high:g}"
    shown = ", ".join(feature.labels[:6])
    return shown + (f", … ({len(feature.labels)} in all)" if len(feature.labels) > 6 else "")


ADVICE = (
    "map it to one of these, take it as none of them (explainer.unknown = 'ignore'), or fit again with "
    "such rows"
)

Unknown = Literal["error", "ignore"]


def require_unknown(unknown: object) -> None:
    """Raise unless `unknown` is 'error' or 'ignore'."""
    require_choice("unknown", unknown, ("error", "ignore"))


def labels(frame: Frame, name: str) -> list[Hashable | None]:
    """Return the values of a column; raise if they cannot be categories."""
    values = frame.labels(name)
    try:
        hash(tuple(values))
    except TypeError as error:
        raise SchemaError(
            f"column {name!r} holds values that are no categories ({error}); convert them to text"
        ) from error
    return values


def unseen_error(
    feature: Feature, values: Sequence[Hashable | None], unseen: Collection[Hashable | None]
) -> UnknownCategoryError:
    """Return the error for the first row with an unknown category."""
    row = next(i for i, value in enumerate(values) if value in unseen)
    return UnknownCategoryError(feature.name, _shown(values[row]), row, describe_unseen(feature), ADVICE)


def describe_unseen(feature: Feature) -> str:
    """Describe an unknown category with those that are known."""
    known = ", ".join(label for label in feature.labels[:8] if label != MISSING)
    more = ", …" if len(feature.labels) > 8 else ""
    return f", not seen when the explainer was fitted (known: {known}{more})"


def _shown(value: Hashable | None) -> str:
    return "a missing value" if value is None else repr(value)

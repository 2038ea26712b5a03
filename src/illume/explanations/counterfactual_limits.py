"""What counterfactuals may change: which features, to which values, in which direction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.schema import Feature, Schema, describe_unknown
from illume.errors import IllumeError, SchemaError, Setting
from illume.results.dictionary import DataDictionary
from illume.results.text import format_value

Direction = str | Sequence[Any]
SIGNS = {"up": 1.0, "increase": 1.0, "down": -1.0, "decrease": -1.0}
BEYOND = 64  # values of a permitted range that goes beyond the training rows


@dataclass(frozen=True, eq=False)
class Limits:
    """Which values of the pool's p rows the n rows of a task may take.

    Parameters
    ----------
    permitted
        Which values may be taken by any row, (p, n_features).
    directed, own, there
        Features that may change in one direction alone, (d,), and the ranks of the rows' own values, (n, d),
        and of the pool's, (p, d): a rank may only rise, and NaN stands for a value that has none.
    """

    permitted: BoolArray
    directed: IntArray
    own: FloatArray
    there: FloatArray

    def of_values(self, rows: IntArray, features: IntArray, values: IntArray) -> BoolArray:
        """Return which rows (r,) may change features (t,) to the values of pool rows (t,), (r, t)."""
        allowed = np.broadcast_to(self.permitted[values, features], (len(rows), len(features))).copy()
        for k, j in enumerate(self.directed):
            mine = np.flatnonzero(features == j)
            allowed[:, mine] &= self.there[values[mine], k] > self.own[rows, k, None]
        return allowed

    def of_examples(self, row: IntArray, example: IntArray) -> BoolArray:
        """Return which features rows (k,) may take from pool rows (k,), (k, n_features)."""
        allowed = self.permitted[example]
        allowed[:, self.directed] &= self.there[example] > self.own[row]
        return allowed


def free_features(schema: Schema, vary: str | Sequence[str], immutable: Sequence[str]) -> BoolArray:
    """Return which features may change, (n_features,)."""
    fixed = _known_names(schema, immutable, "immutable")
    if isinstance(vary, str):
        if vary != "all":
            raise SchemaError(f"features_to_vary must be 'all' or a list of names; write [{vary!r}]")
        names = list(schema.names)
    else:
        names = _known_names(schema, vary, "features_to_vary")
        if not names:
            raise SchemaError("features_to_vary is empty; at least one feature must be free to change")
        both = sorted(set(names) & set(fixed))
        if both:
            raise SchemaError(
                f"{', '.join(map(repr, both))} cannot be both in features_to_vary and immutable"
            )
    free = np.isin(schema.names, names) & ~np.isin(schema.names, fixed)
    if not free.any():
        raise SchemaError("all features are immutable; at least one feature must be free to change")
    return free


def permitted_values(
    schema: Schema, pool: Frame, free: BoolArray, ranges: Mapping[str, Sequence[Any]]
) -> BoolArray:
    """Return which values of the pool's rows a counterfactual may take, (p, n_features)."""
    allowed = np.broadcast_to(free, (len(pool), len(schema))).copy()
    for name, wish in ranges.items():
        _known_names(schema, [name], "permitted_range")
        j = schema.names.index(name)
        if not free[j]:
            raise SchemaError(
                f"permitted_range names {name!r}, which is immutable or not among features_to_vary"
            )
        allowed[:, j] &= _within(schema.features[j], wish, pool)
    return allowed


def values_beyond(schema: Schema, pool: Frame, ranges: Mapping[str, Sequence[Any]]) -> dict[str, FloatArray]:
    """Return evenly spaced values of permitted ranges that go beyond those of training rows."""
    numeric = [name for name in ranges if name in schema.names and schema[name].numeric]
    beyond = {name: _beyond(schema[name], ranges[name], pool.numbers(name)) for name in numeric}
    return {name: values for name, values in beyond.items() if len(values)}


def _beyond(feature: Feature, wish: Any, numbers: FloatArray) -> FloatArray:
    low, high = _parse_permitted(feature, wish)
    parts = [np.empty(0)]
    if math.isfinite(low) and low < feature.low:
        parts.append(np.linspace(low, min(feature.low, high), BEYOND))
    if math.isfinite(high) and high > feature.high:
        parts.append(np.linspace(max(feature.high, low), high, BEYOND))
    if math.isfinite(high - low) and not ((numbers >= low) & (numbers <= high)).any():
        parts.append(np.linspace(low, high, BEYOND))
    values = np.concatenate(parts)
    values = np.round(values) if feature.whole else values
    return np.unique(values[(values >= low) & (values <= high)])


def direction_ranks(schema: Schema, direction: Mapping[str, Direction]) -> dict[int, FloatArray | float]:
    """Return for each feature with a direction its sign, or for categories the rank of each, NaN for none.

    >>> from illume.data.schema import Kind
    >>> town = Feature("town", Kind.CATEGORICAL, ("Bonn", "Kiel", "Ulm"))
    >>> direction_ranks(Schema((town,)), {"town": ["Ulm", "Bonn"]})
    {0: array([ 1., nan,  0.])}
    """
    if not isinstance(direction, Mapping):
        raise SchemaError(f"direction must be a dictionary such as {{'age': 'up'}}, found {direction!r}")
    _known_names(schema, list(direction), "direction")
    return {
        schema.names.index(name): _sign(schema[name], way)
        if schema[name].numeric
        else _order(schema[name], way)
        for name, way in direction.items()
    }


def rank_values(
    features: FloatArray, missing: BoolArray, ranked: Mapping[int, FloatArray | float]
) -> FloatArray:
    """Return the ranks of rows by feature (n, n_features) in features with a direction, (n, d).

    A missing value has no rank.
    """
    columns = [np.empty((len(features), 0))]
    for j, rank in ranked.items():
        values = features[:, j]
        # a position of -1 stands for none of the categories
        found = rank * values if isinstance(rank, float) else np.append(rank, np.nan)[values.astype(np.intp)]
        columns.append(np.where(missing[:, j], np.nan, found)[:, None])
    return np.concatenate(columns, axis=1)


def _sign(feature: Feature, way: Direction) -> float:
    if not isinstance(way, str) or way not in SIGNS:
        raise SchemaError(f"direction of {feature.name!r} must be 'up' or 'down', found {way!r}")
    return SIGNS[way]


def _order(feature: Feature, way: Direction) -> FloatArray:
    order = np.full(len(feature.categories), np.nan)
    order[[feature.categories.index(value) for value in way]] = np.arange(len(way))
    return order


def categories_in_order(feature: Feature, way: Any, dictionary: DataDictionary) -> list[Any]:
    """Return the categories of a direction, each given by itself, its text or its label."""
    listed = isinstance(way, Sequence) and not isinstance(way, str)
    order = _categories(feature, way, dictionary, "direction") if listed else []
    if len(order) < 2 or len(set(order)) < len(order):
        raise SchemaError(
            f"{feature.name!r} is no number, so its direction must be a list of its values, in the order in "
            f"which they may follow each other, found {way!r}; its values are {_known(feature, dictionary)}"
        )
    return order


def permitted_categories(feature: Feature, wish: Any, dictionary: DataDictionary) -> list[Any]:
    """Return the categories of a permitted range, each given by itself, its text or its label."""
    if isinstance(wish, str) or not isinstance(wish, Sequence | np.ndarray | set | frozenset):
        raise SchemaError(f"permitted_range of {feature.name!r} must be a list of its values, found {wish!r}")
    return _categories(feature, wish, dictionary, "permitted_range")


def _categories(feature: Feature, values: Any, dictionary: DataDictionary, option: str) -> list[Any]:
    known = feature.categories
    called = tuple(dictionary.category(feature.name, each) for each in known)

    def category(value: Any) -> Any:
        found = (names.index(value) for names in (known, feature.labels, called) if value in names)
        return next((known[at] for at in found), value)

    found = [category(value) for value in values]
    for value in found:
        if value not in known and (option == "direction" or not feature.open):
            raise SchemaError(
                f"{option} of {feature.name!r} holds {value!r}, not among its values: "
                f"{_known(feature, dictionary)}"
            )
    return found


def _known(feature: Feature, dictionary: DataDictionary) -> str:
    """Return the first values of a feature, with their labels in brackets."""
    shown = []
    for value, text in zip(feature.categories[:12], feature.labels, strict=False):
        label = dictionary.category(feature.name, value)
        shown.append(repr(value) + (f" ({label})" if label != text else ""))
    return ", ".join(shown) + (", …" if len(feature.categories) > 12 else "")


def _known_names(schema: Schema, names: Sequence[str], option: str) -> list[str]:
    if isinstance(names, str):
        raise SchemaError(f"{option} must be a list of names; write [{names!r}]")
    known = [str(name) for name in names]
    for name in known:
        if name not in schema.names:
            raise SchemaError(f"{option} names {describe_unknown(name, schema.names)}")
    return known


def parse_range(wish: Any, name: str | Setting, error: type[IllumeError]) -> tuple[float, float]:
    """Return the ends of `[low, high]`, None for an open end.

    >>> from illume.errors import OptionError
    >>> parse_range([None, 3], Setting("desired_range"), OptionError)
    (-inf, 3.0)
    """
    pair = list(wish) if isinstance(wish, Sequence | np.ndarray) and not isinstance(wish, str) else []
    ends = [e if o is None else o for o, e in zip(pair, (-math.inf, math.inf), strict=False)]
    if len(pair) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] <= ends[1]:
        raise error(name, f" must be [low, high] with low <= high, None for an open end, found {wish!r}")
    return float(ends[0]), float(ends[1])


def _parse_permitted(feature: Feature, wish: Any) -> tuple[float, float]:
    return parse_range(wish, f"permitted_range of {feature.name!r}", SchemaError)


def _within(feature: Feature, wish: Any, pool: Frame) -> BoolArray:
    if feature.numeric:
        low, high = _parse_permitted(feature, wish)
        numbers = pool.numbers(feature.name)
        inside = (numbers >= low) & (numbers <= high)
        if not inside.any() and not len(_beyond(feature, wish, numbers)):
            raise SchemaError(
                f"no training row has {feature.name!r} within {wish!r}: they go from "
                f"{format_value(feature.low)} to {format_value(feature.high)}; give both ends of a range to "
                "have values that no row has"
            )
        return np.asarray(inside)
    return np.array([value in set(wish) for value in pool.labels(feature.name)], dtype=bool)

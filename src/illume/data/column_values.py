"""Values of one column: missing or not, numbers or labels, cast or put together from two frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from illume._typing import FloatArray, IntArray
from illume.errors import SchemaError


class Storage(Enum):
    """How a column is stored, not what it means."""

    NUMBER = "numbers"
    BOOLEAN = "booleans"
    LABEL = "labels"


def storage_of_values(values: Sequence[Hashable | None]) -> Storage:
    """Infer the storage of an untyped column from its values.

    >>> storage_of_values([1, 2.5, None]), storage_of_values(["a", 1])
    (<Storage.NUMBER: 'numbers'>, <Storage.LABEL: 'labels'>)
    """
    types = {type(value) for value in values if value is not None}
    if types and types <= {bool, np.bool_}:
        return Storage.BOOLEAN
    if all(issubclass(kind, (int, float, np.number)) for kind in types):
        return Storage.NUMBER
    return Storage.LABEL


def numbers_of_values(name: str, values: Sequence[Hashable | None]) -> FloatArray:
    """Turn an untyped column into numbers, missing ones into NaN."""
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"column {name!r} held numbers when the explainer was fitted and now holds text: {error}"
        ) from error


Series = nw.Series[Any]


def stack(mine: Series, other: Series) -> Series:
    """Put one series under another, in the other's dtype if that changes no value, else in a common one."""
    mine, other = (nw.maybe_reset_index(series) for series in (mine, other))
    if mine.implementation is not other.implementation:
        other = nw.new_series(mine.name, other.to_list(), backend=mine.implementation)
    if mine.implementation.is_pandas_like():
        natives = _unify_pandas(other.to_native(), mine.to_native())
        return _concatenate(*(nw.from_native(native, series_only=True) for native in natives))
    cast = mine if mine.dtype == other.dtype else _cast(mine, other.dtype)
    if cast is None and mine.dtype.is_numeric() and other.dtype.is_numeric():
        cast, other = mine.cast(nw.Float64), other.cast(nw.Float64)
    elif cast is None and (both := _cast(other, mine.dtype)) is not None:  # as booleans beside integers
        cast, other = mine, both
    try:
        return _concatenate(other, mine if cast is None else cast)
    except Exception:  # types of one name may still differ, as Arrow's dictionaries do
        return _concatenate(other.cast(nw.String), mine.cast(nw.String))


def _concatenate(upper: Series, lower: Series) -> Series:
    return nw.concat([upper.to_frame(), lower.alias(upper.name).to_frame()])[:, 0]


def taker(columns: Mapping[str, Series]) -> Callable[[IntArray], nw.DataFrame[Any]]:
    """Return a function that takes values by their positions, an array of rows × columns, as a frame."""
    first = next(iter(columns.values()))
    if first.implementation.is_pandas():  # many times faster without an index for every column
        arrays = {name: series.to_native().array for name, series in columns.items()}
        make = first.__native_namespace__().DataFrame
        return lambda at: nw.from_native(
            make({name: array.take(at[:, j]) for j, (name, array) in enumerate(arrays.items())}, copy=False)
        )
    # Rows keep no index: columns of one frame are put together by position.
    return lambda at: nw.DataFrame.from_dict(
        {name: nw.maybe_reset_index(series[at[:, j]]) for j, (name, series) in enumerate(columns.items())}
    )


def common_type(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Return a dtype that holds the values of both arrays unchanged.

    >>> common_type(np.array([1]), np.array([0.5])), common_type(np.array(["a"]), np.array([0.5]))
    (dtype('float64'), dtype('O'))
    """
    kinds = {array.dtype.kind for array in (one, other)}
    texts = kinds & set("US")
    return np.dtype(object) if texts and len(kinds) > 1 else np.result_type(one.dtype, other.dtype)


def _cast(series: Series, dtype: Any) -> Series | None:
    """Return a series in another dtype, or None if that would change a value."""
    try:
        cast = series.cast(dtype)
        same = (cast.cast(series.dtype) == series).fill_null(value=False)
        both_missing = cast.is_null() & series.is_null()
    except Exception:  # every library has errors of its own for what cannot be converted
        return None
    return cast if bool((same | both_missing).all()) else None


def _unify_pandas(upper: Any, lower: Any) -> tuple[Any, Any]:
    """Return two pandas series with one dtype, unless concatenating them has to find a common one."""
    cast = cast_pandas(lower, upper.dtype)
    if cast is None and hasattr(upper, "cat") and hasattr(lower, "cat"):
        upper = upper.cat.add_categories(lower.cat.categories.difference(upper.cat.categories, sort=False))
        cast = lower.astype(upper.dtype)
    return upper, lower if cast is None else cast


def cast_pandas(series: Any, dtype: Any) -> Any:
    """Return a pandas series in another dtype, or None if that would change a value."""
    if series.dtype == dtype:
        return series
    categories = getattr(dtype, "categories", None)
    if categories is not None and not (series.isin(categories) | series.isna()).all():
        return None
    try:
        cast = series.astype(dtype)
        same = (cast.astype(series.dtype) == series) | (cast.isna() & series.isna())
    except (TypeError, ValueError):
        return None
    return cast if bool(same.fillna(False).all()) else None

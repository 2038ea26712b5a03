"""Arrow's batches cut anew, and made into frames of the library that a model is asked with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import narwhals.stable.v2 as nw

from illume.data.mixing import cast_pandas
from illume.errors import MissingExtraError

BACKENDS = ("pandas", "polars", "pyarrow", "numpy")


def recut(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly `rows` rows, the last one of what is left.

    >>> import pyarrow as pa
    >>> pieces = [pa.record_batch({"a": [1, 2, 3]}), pa.record_batch({"a": [4, 5]})]
    >>> [table["a"].to_pylist() for table in recut(pieces, 2)]
    [[1, 2], [3, 4], [5]]
    """
    import pyarrow as pa

    waiting: list[Any] = []
    n = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n += batch.num_rows
        if n >= rows:
            table = pa.Table.from_batches(waiting)
            for start in range(0, n - n % rows, rows):
                yield table.slice(start, rows)
            waiting, n = table.slice(n - n % rows).to_batches(), n % rows
    if n:
        yield pa.Table.from_batches(waiting)


def natives(
    tables: Iterable[Any], backend: str, metadata: Mapping[bytes, bytes] | None, like: Any
) -> Iterator[Any]:
    """Make each table a frame of a library; `metadata` is what the file says about it, of pandas' types."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, found {backend!r}")
    for table in tables:
        yield native(table.replace_schema_metadata(metadata), backend, like)


def native(table: Any, backend: str, like: Any = None) -> Any:
    """Return an Arrow table as a frame of a library."""
    if backend == "pyarrow":
        return table
    if backend == "numpy":
        return nw.from_native(table, eager_only=True).to_numpy()
    try:
        return _pandas(table, like) if backend == "pandas" else _polars(table)
    except ImportError as error:
        raise MissingExtraError.of(backend, backend) from error


def _polars(table: Any) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _pandas(table: Any, like: Any) -> Any:
    """Return a table in the types that pandas.read_parquet gives, numbered from 0."""
    frame = table.to_pandas()
    # A named index is a column like others; one without a name only counts the rows.
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))[table.column_names]
    if like is None:
        return frame
    types = {name: like[name].dtype for name in frame.columns if name in like.columns}
    cast = {name: _retyped(frame[name], dtype) for name, dtype in types.items()}
    return frame.assign(**{name: column for name, column in cast.items() if column is not None})


def _retyped(column: Any, dtype: Any) -> Any:
    """Return a pandas column in another type, or None where that would change or lose a value."""
    categories = getattr(dtype, "categories", None)
    if categories is None or column.dtype == dtype:
        return cast_pandas(column, dtype)
    return column.astype(dtype) if bool((column.isin(categories) | column.isna()).all()) else None

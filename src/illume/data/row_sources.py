"""Rows that need not fit into memory: Parquet files and folders, Arrow datasets, read in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from illume.data.column_values import cast_pandas
from illume.errors import FormatError, MissingExtraError, SchemaError

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


PARQUET = (".parquet", ".pq", ".parq")
PIECE_ROWS = 65_536
EXPECTED = "expected a Parquet file, or a folder of them"
ONCE = "rows of a RecordBatchReader can be read once only; pass a Dataset, or a path to Parquet files"

Read = Callable[[Sequence[str], int], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows somewhere else: what columns they have, and how to read them.

    Parameters
    ----------
    schema
        Arrow's names and types of the columns.
    read
        From names of columns, and the most rows at a time, to Arrow's record batches, in order.
    named
        What to call it in errors.
    backend
        The library whose frames its rows become, unless another is asked for.
    n_rows
        How many rows there are, where that is known beforehand.
    """

    schema: Any
    read: Read
    named: str
    backend: str
    n_rows: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; an index that pandas wrote without a name only counts the rows and is none."""
        return tuple(name for name in self.schema.names if not name.startswith("__index_level_"))

    def only(self, names: Sequence[str]) -> Source:
        """Return the same rows with some of the columns."""
        import pyarrow as pa

        fields = [self.schema.field(name) for name in names]
        return replace(self, schema=pa.schema(fields, self.schema.metadata))

    def batches(self, columns: Sequence[str], rows: int = PIECE_ROWS) -> Iterator[Any]:
        """Yield Arrow's record batches of some columns; files that cannot be read are an error."""
        import pyarrow as pa

        try:
            yield from self.read(columns, rows)
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{self.named} cannot be read to its end: {error}") from error


def is_row_source(data: Any) -> bool:
    """Say whether rows are to be read piece by piece: a path, a Dataset, a RecordBatchReader, a LazyFrame.

    >>> is_row_source("loans.parquet"), is_row_source([[1.0]])
    (True, False)
    """
    return isinstance(data, (str, os.PathLike, Source)) or _kind(data) in _OPENERS


def open_rows(data: Any) -> Source:
    """Look at what is to be read, and refuse what cannot be read; no row is read yet."""
    if isinstance(data, Source):
        return data
    if find_spec("pyarrow") is None:
        raise MissingExtraError.of("pyarrow", "pyarrow")
    source = _of_path(data) if isinstance(data, (str, os.PathLike)) else _OPENERS[_kind(data)](data)
    twice = {name for name in source.names if source.names.count(name) > 1}
    if twice:
        raise SchemaError(f"every column needs a name of its own, and {min(twice)!r} stands twice")
    return source


def iter_batches(
    source: Any,
    columns: Sequence[str] | None = None,
    rows: int = PIECE_ROWS,
    *,
    backend: str | None = None,
    like: Any = None,
) -> Iterator[Any]:
    """Yield all rows, in order, as frames of exactly `rows` rows each, the last one of what is left.

    Parameters
    ----------
    source
        A path to a Parquet file or folder, a `pyarrow.dataset.Dataset` or whatever `is_row_source` knows.
    columns
        Which columns, in this order; by default all.
    backend
        `pandas`, `polars`, `pyarrow`, or `numpy`; by default pandas where it is there.
    like
        A pandas frame whose types the pieces take where that changes no value: whole numbers become
        floats though no value of the piece is missing, and categories are the same in all pieces.
    """
    if rows < 1:
        raise ValueError(f"a piece must hold at least one row, found {rows}")
    opened = open_rows(source)
    wanted = opened.names if columns is None else tuple(columns)
    for name in wanted:
        if name not in opened.schema.names:
            raise SchemaError(f"{opened.named} has no column {name!r}; it has {', '.join(opened.names[:8])}")
    pieces = recut(opened.batches(wanted, rows), rows)
    yield from natives(pieces, backend or opened.backend, opened.schema.metadata, like)


def default_backend() -> str:
    """Return the library that frames are made of: pandas where it is there, else Arrow."""
    return "pandas" if find_spec("pandas") else "pyarrow"


def _of_path(path: str | os.PathLike[str]) -> Source:
    import pyarrow as pa
    import pyarrow.dataset as ds

    text = os.fspath(path)
    remote = "://" in text
    files = text if remote else [str(file) for file in parquet_files(text)]
    options: dict[str, Any] = {"partition_base_dir": text} if not remote and Path(text).is_dir() else {}
    options["partitioning"] = ds.HivePartitioning.discover(infer_dictionary=True)  # as pandas does
    try:
        dataset = ds.dataset(files, format="parquet", **options)
        common, n_rows = _common(dataset)
        if common is not None:
            dataset = ds.dataset(files, format="parquet", schema=common, **options)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{text} cannot be read as Parquet: {error}; {EXPECTED}") from error
    if not n_rows:
        raise SchemaError(f"{text} holds no rows")
    return Source(dataset.schema, _scanning(dataset), text, default_backend(), n_rows)


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """List the file itself, or the Parquet files of a folder by name; hidden ones and `_…` are left out."""
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SchemaError(f"{path} does not exist; {EXPECTED}")
    inside = [(file, file.relative_to(path).parts) for file in sorted(path.rglob("*")) if file.is_file()]
    visible = [file for file, parts in inside if not any(part.startswith((".", "_")) for part in parts)]
    files = [file for file in visible if file.suffix.lower() in PARQUET]
    if not files:
        found = f"{len(visible)} other files, such as {visible[0].name}" if visible else "nothing"
        raise SchemaError(f"{path} has no Parquet files (*.parquet), but {found}; {EXPECTED}")
    return files


def _common(dataset: Any) -> tuple[Any, int]:
    """Return types that hold the values of all files, None where all have the same, and the rows' number.

    Types may differ only as numbers do that pandas wrote with and without missing ones.
    """
    import pyarrow as pa

    common, first, n_rows, differ = None, "", 0, False
    for fragment in dataset.get_fragments():
        schema = _physical(fragment)
        n_rows += fragment.metadata.num_rows
        if common is None:
            common, first = schema, fragment.path
        elif not schema.equals(common):
            _require_names(schema, common, fragment.path, first)
            common, differ = _unified(common, schema, fragment.path), True
    if common is None or not differ:
        return None, n_rows
    apart = [field for field in dataset.schema if field.name not in common.names]  # from folders' names
    return pa.schema([*common, *apart], common.metadata), n_rows


def _unified(common: Any, schema: Any, path: str) -> Any:
    import pyarrow as pa

    try:
        return pa.unify_schemas([common, schema], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise SchemaError(
            f"{path} and the files before it disagree: {error}; write all with one schema"
        ) from error


def _physical(fragment: Any) -> Any:
    """Read a file's schema, and say which file it is that has none."""
    import pyarrow as pa

    try:
        return fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{fragment.path} cannot be read as Parquet: {error}") from error


def _require_names(schema: Any, common: Any, path: str, first: str) -> None:
    for missing, there, where in ((path, schema, common), (first, common, schema)):
        lacking = sorted(set(where.names) - set(there.names))
        if lacking:
            raise SchemaError(
                f"{missing} has no column {lacking[0]!r}, which other files have; write all with one schema"
            )


def _scanning(dataset: Any) -> Read:
    """Read a dataset without reading ahead: Arrow's threads would fill memory faster than rows are used."""
    import pyarrow.dataset as ds

    options = {}
    if getattr(getattr(dataset, "format", None), "default_extname", "") == "parquet":
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)

    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        size = min(rows, PIECE_ROWS)
        ahead = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
        yield from dataset.to_batches(columns=list(columns), batch_size=size, **ahead, **options)

    return read


def _of_dataset(dataset: Any) -> Source:
    return Source(dataset.schema, _scanning(dataset), "the dataset", default_backend())


def _of_reader(reader: Any) -> Source:
    unread = [reader]

    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        if not unread:
            raise SchemaError(ONCE)
        for batch in unread.pop():
            yield batch.select(list(columns))

    return Source(reader.schema, read, "the RecordBatchReader", default_backend())


def _of_lazy(lazy: Any) -> Source:
    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        for piece in lazy.select(columns).collect_batches(chunk_size=rows, maintain_order=True):
            yield from piece.to_arrow().to_batches()

    return Source(lazy.limit(0).collect().to_arrow().schema, read, "the LazyFrame", "polars")


_OPENERS: dict[str, Callable[[Any], Source]] = {
    "pyarrow.Dataset": _of_dataset,
    "pyarrow.RecordBatchReader": _of_reader,
    "polars.LazyFrame": _of_lazy,
}


def _kind(data: Any) -> str:
    """Return the first known kind among an object's classes, without importing its library."""
    classes = [f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(data).__mro__]
    return next((kind for kind in classes if kind in _OPENERS), "")

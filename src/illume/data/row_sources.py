"""Rows that need not fit into memory: Parquet files and folders, Arrow datasets, read in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from illume.data.column_values import cast_pandas
from illume.data.table_files import PARQUET
from illume.errors import FormatError, SchemaError, import_extra

BACKENDS = ("pandas", "polars", "pyarrow", "numpy")
PIECE_ROWS = 65_536
EXPECTED = "expected a Parquet file, or a folder of them"
ONCE = "a RecordBatchReader can be read only once; pass a Dataset, or a path to Parquet files"

Read = Callable[[Sequence[str], int], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class RowSource:
    """Rows that are read in batches.

    Parameters
    ----------
    schema
        Arrow schema of the columns.
    read
        From names of columns and the most rows at a time to Arrow record batches, in order.
    named
        What to call the source in errors.
    backend
        The library whose frames the rows become by default: pandas if it is installed, else pyarrow.
    n_rows
        The number of rows, if known.
    """

    schema: Any
    read: Read
    named: str
    backend: str = field(default_factory=lambda: "pandas" if find_spec("pandas") else "pyarrow")
    n_rows: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, without an unnamed index that pandas wrote."""
        return tuple(name for name in self.schema.names if not name.startswith("__index_level_"))

    def select(self, names: Sequence[str]) -> RowSource:
        """Return the same rows with some of the columns."""
        import pyarrow as pa

        fields = [self.schema.field(name) for name in names]
        return replace(self, schema=pa.schema(fields, self.schema.metadata))

    def batches(self, columns: Sequence[str], rows: int = PIECE_ROWS) -> Iterator[Any]:
        """Yield Arrow record batches of some columns."""
        import pyarrow as pa

        try:
            yield from self.read(columns, rows)
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{self.named} cannot be read to its end: {error}") from error


def is_row_source(data: Any) -> bool:
    """Whether rows are read in batches: a path, a Dataset, a RecordBatchReader or a LazyFrame.

    >>> is_row_source("loans.parquet"), is_row_source([[1.0]])
    (True, False)
    """
    return isinstance(data, (str, os.PathLike, RowSource)) or _library_class(data) in _OPENERS


def open_rows(data: Any) -> RowSource:
    """Open a row source and check its columns; no row is read yet."""
    if isinstance(data, RowSource):
        return data
    import_extra("pyarrow", "pyarrow")
    is_path = isinstance(data, (str, os.PathLike))
    source = _open_path(data) if is_path else _OPENERS[_library_class(data)](data)
    repeated = {name for name in source.names if source.names.count(name) > 1}
    if repeated:
        raise SchemaError(f"column names must be unique, found {min(repeated)!r} twice")
    return source


def iter_batches(
    source: Any,
    columns: Sequence[str] | None = None,
    rows: int = PIECE_ROWS,
    *,
    backend: str | None = None,
    like: Any = None,
) -> Iterator[Any]:
    """Yield all rows, in order, as frames of exactly `rows` rows each, except for the last one.

    Parameters
    ----------
    source
        Anything that `is_row_source` accepts.
    backend
        `pandas`, `polars`, `pyarrow` or `numpy`; by default pandas if it is installed.
    like
        A pandas frame whose dtypes the pieces get where that changes no value: whole numbers become floats
        even if no value of the piece is missing, and categories are the same in all pieces.
    """
    if rows < 1:
        raise ValueError(f"a piece must hold at least one row, found {rows}")
    opened = open_rows(source)
    wanted = opened.names if columns is None else tuple(columns)
    for name in wanted:
        if name not in opened.schema.names:
            raise SchemaError(f"{opened.named} has no column {name!r}; it has {', '.join(opened.names[:8])}")
    library = backend or opened.backend
    if library not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, found {library!r}")
    for table in rebatch(opened.batches(wanted, rows), rows):
        yield to_frame(table.replace_schema_metadata(opened.schema.metadata), library, like)


def rebatch(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly `rows` rows, the last one of what is left.

    >>> import pyarrow as pa
    >>> pieces = [pa.record_batch({"a": [1, 2, 3]}), pa.record_batch({"a": [4, 5]})]
    >>> [table["a"].to_pylist() for table in rebatch(pieces, 2)]
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


def to_frame(table: Any, backend: str, like: Any = None) -> Any:
    """Convert an Arrow table to a frame of a library, in pandas with the dtypes of `like` where possible."""
    if backend == "pyarrow":
        return table
    if backend == "numpy":
        return nw.from_native(table, eager_only=True).to_numpy()
    library = import_extra(backend, backend)
    if backend == "polars":
        return library.from_arrow(table)
    frame = table.to_pandas()
    # A named index becomes a column; one without a name only counts the rows.
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))[table.column_names]
    shared = [name for name in frame.columns if like is not None and name in like.columns]
    cast = {name: cast_pandas(frame[name], like[name].dtype) for name in shared}
    return frame.assign(**{name: column for name, column in cast.items() if column is not None})


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """List the file itself, or the Parquet files of a folder by name; hidden ones and `_…` are left out."""
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SchemaError(f"{path} does not exist; {EXPECTED}")
    inside = [(file, file.relative_to(path).parts) for file in sorted(path.rglob("*")) if file.is_file()]
    visible = [file for file, parts in inside if not any(part.startswith((".", "_")) for part in parts)]
    files = [file for file in visible if file.name.lower().endswith(PARQUET)]
    if not files:
        found = f"{len(visible)} other files, such as {visible[0].name}" if visible else "nothing"
        raise SchemaError(f"{path} has no Parquet files (*.parquet), but {found}; {EXPECTED}")
    return files


def _open_path(path: str | os.PathLike[str]) -> RowSource:
    import pyarrow as pa
    import pyarrow.dataset as ds

    text = os.fspath(path)
    remote = "://" in text
    files = text if remote else [str(file) for file in parquet_files(text)]
    options: dict[str, Any] = {"partition_base_dir": text} if not remote and Path(text).is_dir() else {}
    options["partitioning"] = ds.HivePartitioning.discover(infer_dictionary=True)  # as pandas does
    try:
        dataset = ds.dataset(files, format="parquet", **options)
        common, n_rows = _common_schema(dataset)
        if common is not None:
            dataset = ds.dataset(files, format="parquet", schema=common, **options)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{text} cannot be read as Parquet: {error}; {EXPECTED}") from error
    if not n_rows:
        raise SchemaError(f"{text} holds no rows")
    return RowSource(dataset.schema, _dataset_reader(dataset), text, n_rows=n_rows)


def _common_schema(dataset: Any) -> tuple[Any, int]:
    """Return a schema that holds the values of all files, None if all have the same, and the number of rows.

    Types may differ only as those of numbers do that pandas wrote with and without missing values.
    """
    import pyarrow as pa

    common, first, n_rows, differ = None, "", 0, False
    for fragment in dataset.get_fragments():
        try:
            schema = fragment.physical_schema
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{fragment.path} cannot be read as Parquet: {error}") from error
        n_rows += fragment.metadata.num_rows
        if common is None:
            common, first = schema, fragment.path
        elif not schema.equals(common):
            common, differ = _unify(common, schema, first, fragment.path), True
    if common is None or not differ:
        return None, n_rows
    partitions = [field for field in dataset.schema if field.name not in common.names]  # from folders' names
    return pa.schema([*common, *partitions], common.metadata), n_rows


def _unify(common: Any, schema: Any, first: str, path: str) -> Any:
    import pyarrow as pa

    for where, names, others in ((path, schema.names, common.names), (first, common.names, schema.names)):
        lacking = sorted(set(others) - set(names))
        if lacking:
            raise SchemaError(
                f"{where} has no column {lacking[0]!r}, which other files have; write all with one schema"
            )
    try:
        return pa.unify_schemas([common, schema], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise SchemaError(
            f"{path} and the files before it disagree: {error}; write all with one schema"
        ) from error


def _dataset_reader(dataset: Any) -> Read:
    """Read a dataset without reading ahead: Arrow's threads would fill memory faster than rows are used."""
    import pyarrow.dataset as ds

    options: dict[str, Any] = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
    if getattr(getattr(dataset, "format", None), "default_extname", "") == "parquet":
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)

    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        yield from dataset.to_batches(columns=list(columns), batch_size=min(rows, PIECE_ROWS), **options)

    return read


def _open_dataset(dataset: Any) -> RowSource:
    return RowSource(dataset.schema, _dataset_reader(dataset), "the dataset")


def _open_reader(reader: Any) -> RowSource:
    unread = [reader]

    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        if not unread:
            raise SchemaError(ONCE)
        for batch in unread.pop():
            yield batch.select(list(columns))

    return RowSource(reader.schema, read, "the RecordBatchReader")


def _open_lazy_frame(lazy: Any) -> RowSource:
    def read(columns: Sequence[str], rows: int) -> Iterator[Any]:
        for piece in lazy.select(columns).collect_batches(chunk_size=rows, maintain_order=True):
            yield from piece.to_arrow().to_batches()

    return RowSource(lazy.limit(0).collect().to_arrow().schema, read, "the LazyFrame", "polars")


_OPENERS: dict[str, Callable[[Any], RowSource]] = {
    "pyarrow.Dataset": _open_dataset,
    "pyarrow.RecordBatchReader": _open_reader,
    "polars.LazyFrame": _open_lazy_frame,
}


def _library_class(data: Any) -> str:
    """Return the first known class among an object's classes, without importing its library."""
    classes = [f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(data).__mro__]
    return next((kind for kind in classes if kind in _OPENERS), "")

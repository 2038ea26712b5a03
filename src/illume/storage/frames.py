"""Rows as they came, a column at a time in its own type: NumPy, pandas, polars, Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from illume.data.frames import Frame, NumpyFrame, as_frame
from illume.data.schema import require_columns
from illume.errors import FormatError, IllumeError, MissingExtraError, SaveError
from illume.storage.arrays import TYPES, ArrayReader, ArrayWriter
from illume.storage.values import items_of, of_type, read_scalar, scalar

LIBRARIES = ("pandas", "polars", "pyarrow")
NUMBERS = frozenset(dtype.name for dtype in TYPES.values())
LONGEST_TEXT = 2**16
POOL = "pool"


class Columns(Protocol):
    """How one library's columns come apart and together; a column's type is JSON."""

    def dump(self, column: Any) -> tuple[Any, list[Any] | None, dict[str, Any]]:
        """Return the type, the single values or None, and arrays by name."""
        ...

    def read(self, kind: Any, values: list[Any] | None, arrays: ArrayReader, prefix: str, n: int) -> Any:
        """Return the column of n rows."""
        ...

    def frame(self, columns: dict[str, Any]) -> Any:
        """Put columns together."""
        ...


def dump_frame(frame: Frame, arrays: ArrayWriter, prefix: str = POOL) -> dict[str, Any]:
    """Store a frame: its numbers go into the arrays, all else is returned as JSON values."""
    if isinstance(frame, NumpyFrame):
        return _dump_array(frame, arrays, prefix)
    library = frame.origin.backend
    columns = []
    codec = _columns(library)
    for j, name in enumerate(frame.names):
        try:
            kind, values, parts = codec.dump(_native_column(frame, j))
            listed = None if values is None else [scalar(value) for value in values]
        except SaveError as error:
            raise SaveError(
                f"column {name!r} cannot be saved: {error}; convert it and fit again, or use rows='none'"
            ) from error
        for part, array in parts.items():
            arrays.add(f"{prefix}.{j}.{part}", array)
        columns.append({"name": name, "type": kind, "values": listed})
    return {"library": library, "rows": len(frame), "columns": columns}


def read_frame(values: Any, arrays: ArrayReader, names: Sequence[str], prefix: str = POOL) -> Frame:
    """Return the frame that JSON values and arrays stand for; it must have these columns."""
    library, n, columns = items_of(values, ("library", "rows", "columns"), prefix)
    if library == "numpy":
        return _read_array(of_type(int, n, f"{prefix}.rows"), columns, arrays, names, prefix)
    if library not in LIBRARIES:
        raise FormatError(f"{prefix}.library is {library!r}, expected one of {LIBRARIES}")
    codec = _columns(library)
    n = of_type(int, n, f"{prefix}.rows")
    listed = of_type(list, columns, f"{prefix}.columns")
    try:
        found = dict(
            _read_column(codec, column, arrays, f"{prefix}.{j}", n) for j, column in enumerate(listed)
        )
        frame = as_frame(codec.frame(found))
    except IllumeError:
        raise
    except Exception as error:  # every library has errors of its own for what it cannot hold
        raise FormatError(f"the stored rows are no frame of {library} ({error})") from error
    if frame.names != tuple(names) or len(frame) != n:
        raise FormatError(
            f"the stored rows are {len(frame)} with the columns {frame.names[:5]}, expected {n}"
        )
    return frame


def _read_column(codec: Columns, column: Any, arrays: ArrayReader, prefix: str, n: int) -> tuple[str, Any]:
    name, kind, listed = items_of(column, ("name", "type", "values"), prefix)
    if listed is not None:
        listed = [read_scalar(value, prefix) for value in of_type(list, listed, prefix)]
    return of_type(str, name, prefix), codec.read(kind, listed, arrays, prefix, n)


def _native_column(frame: Frame, j: int) -> Any:
    native = frame.native
    return native.iloc[:, j] if hasattr(native, "iloc") else native[frame.names[j]]


def _columns(library: str | None) -> Columns:
    if library is None or library not in LIBRARIES:
        raise SaveError(
            f"rows of {library} cannot be saved; use NumPy, {', '.join(LIBRARIES)}, or rows='none'"
        )
    try:
        import_module(library)
    except ImportError as error:
        raise MissingExtraError.of(library, library) from error
    from illume.storage import columns

    codecs: dict[str, Columns] = {
        "pandas": columns.PandasColumns(),
        "polars": columns.PolarsColumns(),
        "pyarrow": columns.ArrowColumns(),
    }
    return codecs[library]


def _dump_array(frame: NumpyFrame, arrays: ArrayWriter, prefix: str) -> dict[str, Any]:
    array = frame.array
    kind, values = array.dtype.kind, None
    if array.dtype.name in NUMBERS:
        arrays.add(f"{prefix}.values", array)
        kind = array.dtype.name
    elif kind in "USO":
        values = [[scalar(value) for value in row] for row in array.tolist()]
    else:
        raise SaveError(f"arrays of {array.dtype} cannot be saved; convert the rows and fit again")
    size = array.dtype.itemsize // (4 if kind == "U" else 1)
    columns = {"names": list(frame.names), "type": kind, "size": size, "values": values}
    return {"library": "numpy", "rows": len(frame), "columns": columns}


def _read_array(n: int, columns: Any, arrays: ArrayReader, names: Sequence[str], prefix: str) -> Frame:
    where = f"{prefix}.values"
    own, kind, size, values = items_of(columns, ("names", "type", "size", "values"), f"{prefix}.columns")
    if list(names) != own:
        raise FormatError(f"the stored rows have the columns {own!r:.60}, expected {list(names)[:5]}")
    if kind in NUMBERS:
        array = arrays.take(where, kind, (n, len(names)), finite=False)
        return require_columns(NumpyFrame.of(array), names)
    if kind not in ("U", "S", "O") or type(size) is not int or not 0 < size <= LONGEST_TEXT:
        raise FormatError(f"the stored rows are of type {kind!r}")
    rows = [
        [read_scalar(value, where) for value in of_type(list, row, where)]
        for row in of_type(list, values, where)
    ]
    if len(rows) != n or any(len(row) != len(names) for row in rows):
        raise FormatError(f"the stored rows are not {n} by {len(names)}")
    dtype = np.dtype(object) if kind == "O" else np.dtype(f"{kind}{size}")
    try:
        array = np.empty((n, len(names)), dtype=dtype)
        array[:] = rows if n else array
    except (ValueError, TypeError) as error:
        raise FormatError(f"the stored rows are no array of {kind}{size} ({error})") from error
    return require_columns(NumpyFrame.of(array), names)

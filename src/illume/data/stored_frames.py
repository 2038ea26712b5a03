"""Rows as the user gave them (NumPy, pandas, polars, Arrow) to JSON and arrays and back, with their types."""

# Not Arrow IPC: saving must work without pyarrow, and Arrow has no columns of mixed Python objects.

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from illume.data.frames import Frame, NumpyFrame, as_frame
from illume.data.schema import require_columns
from illume.data.stored_arrays import TYPES, ArrayReader, ArrayWriter
from illume.data.typed_json import dump_scalar, expect, expect_fields, read_scalar
from illume.errors import FormatError, IllumeError, SaveError, Setting, import_extra

LIBRARIES = ("pandas", "polars", "pyarrow")
NUMBERS = frozenset(dtype.name for dtype in TYPES.values())
MAX_TEXT = 2**16
POOL = "pool"

# A column is stored as its type (JSON), its values one by one or None, and arrays by name.
Column = tuple[Any, list[Any] | None, dict[str, Any]]


def dump_frame(frame: Frame, arrays: ArrayWriter, prefix: str = POOL) -> dict[str, Any]:
    """Store a frame: numbers go into the arrays, the rest is returned as JSON values."""
    if isinstance(frame, NumpyFrame):
        return _dump_array(frame, arrays, prefix)
    library, native, columns = frame.origin.backend, frame.native, []
    if library not in LIBRARIES:
        raise SaveError(
            f"rows of {library} cannot be saved; use NumPy, {', '.join(LIBRARIES)}, or ",
            Setting("rows", "none"),
        )
    for j, name in enumerate(frame.names):
        try:
            column = native.iloc[:, j] if library == "pandas" else native[name]
            kind, values, parts = _dump_column(library, column)
            listed = None if values is None else [dump_scalar(value) for value in values]
        except SaveError as error:
            raise SaveError(
                f"column {name!r} cannot be saved: {error}; convert it and fit again, or use ",
                Setting("rows", "none"),
            ) from error
        for part, array in parts.items():
            arrays.add(f"{prefix}.{j}.{part}", array)
        columns.append({"name": name, "type": kind, "values": listed})
    return {"library": library, "rows": len(frame), "columns": columns}


def read_frame(values: Any, arrays: ArrayReader, names: Sequence[str] | None, prefix: str = POOL) -> Frame:
    """Return the frame that JSON values and arrays stand for, with these columns if any are given."""
    library, n, columns = expect_fields(values, ("library", "rows", "columns"), prefix)
    n = expect(int, n, f"{prefix}.rows")
    if library == "numpy":
        return _read_array(n, columns, arrays, names, prefix)
    if library not in LIBRARIES:
        raise FormatError(f"{prefix}.library is {library!r}, expected one of {LIBRARIES}")
    module = import_extra(library, library)
    listed = expect(list, columns, f"{prefix}.columns")
    try:
        found = dict(
            _read_column(library, column, arrays, f"{prefix}.{j}", n) for j, column in enumerate(listed)
        )
        frame = as_frame(module.table(found) if library == "pyarrow" else module.DataFrame(found))
    except IllumeError:
        raise
    except Exception as error:  # every library raises errors of its own
        raise FormatError(f"the stored rows are no frame of {library} ({error})") from error
    if frame.names != tuple(names or frame.names) or len(frame) != n:
        raise FormatError(
            f"the stored rows are {len(frame)} with the columns {frame.names[:5]}, expected {n}"
        )
    return frame


def _read_column(library: str, column: Any, arrays: ArrayReader, prefix: str, n: int) -> tuple[str, Any]:
    name, kind, values = expect_fields(column, ("name", "type", "values"), prefix)
    if values is not None:
        values = [read_scalar(value, prefix) for value in expect(list, values, prefix)]
    if isinstance(kind, str) and kind in MASKED[library]:
        data = arrays.take(f"{prefix}.values", MASKED[library][kind], (n,), finite=False)
        read = _build_masked(library, kind, data, arrays.take(f"{prefix}.missing", bool, (n,)))
    elif library == "pandas":
        read = _read_pandas(kind, values, arrays, prefix, n)
    else:
        listed = expect(list, values, prefix)
        read = (_read_polars if library == "polars" else _read_arrow)(kind, listed, prefix)
    return expect(str, name, prefix), read


def _dump_column(library: str, column: Any) -> Column:
    """Return numbers with a mask of missing ones, which all libraries have, or what only one of them has."""
    kind = str(column.type if library == "pyarrow" else column.dtype)
    if kind not in MASKED[library]:
        return {"pandas": _dump_pandas, "polars": _dump_polars, "pyarrow": _dump_arrow}[library](column)
    series, dtype = nw.from_native(column, series_only=True), MASKED[library][kind]
    filled = series.fill_null(np.zeros(1, dtype).item()).to_numpy()
    return kind, None, {"values": filled.astype(dtype), "missing": series.is_null().to_numpy()}


def _build_masked(library: str, kind: str, data: Any, missing: Any) -> Any:
    module = import_extra(library, library)
    if library == "pandas":
        column = module.Series(data).astype(kind)
        column[missing] = module.NA
        return column
    if library == "polars":
        column = module.Series("", data, dtype=getattr(module, kind))
        return column.set(module.Series("", missing), None) if missing.any() else column
    return module.array(data, mask=missing)


PANDAS_MASKED = {
    **{f"{sign}{bits}": f"{sign.lower()}{bits}" for sign in ("Int", "UInt") for bits in (8, 16, 32, 64)},
    "Float32": "float32",
    "Float64": "float64",
}
# The types of numbers with missing values, and the types of their arrays
MASKED: dict[str, dict[str, str]] = {
    "pandas": PANDAS_MASKED | {"boolean": "bool"},
    "polars": PANDAS_MASKED | {"Boolean": "bool"},
    "pyarrow": {name: name for name in NUMBERS if not name.startswith("float")}
    | {"float": "float32", "double": "float64"},
}
PANDAS_TIMES = re.compile(r"(datetime64|timedelta64)\[(s|ms|us|ns)\]")


def _dump_pandas(column: Any) -> Column:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        inner, values, parts = _dump_pandas(pd.Series(dtype.categories))
        kind = {"categories": inner, "ordered": bool(dtype.ordered), "n": len(dtype.categories)}
        own = {f"of.{name}": array for name, array in parts.items()}
        return kind, values, {"codes": column.cat.codes.to_numpy().astype(np.int64), **own}
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        values = [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
        return {"string": dtype.storage, "missing": missing}, values, {}
    if isinstance(dtype, np.dtype) and dtype.name in NUMBERS:
        return dtype.name, None, {"values": column.to_numpy()}
    if isinstance(dtype, np.dtype) and PANDAS_TIMES.fullmatch(str(dtype)):
        return str(dtype), None, {"values": column.to_numpy().view(np.int64)}
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return "object", column.tolist(), {}
    raise SaveError(f"pandas' type {dtype} is not supported")


def _read_pandas(kind: Any, values: Any, arrays: ArrayReader, prefix: str, n: int) -> Any:
    import pandas as pd

    if isinstance(kind, dict) and "categories" in kind:
        inner, ordered, size = expect_fields(kind, ("categories", "ordered", "n"), prefix)
        categories = _read_pandas(inner, values, arrays, f"{prefix}.of", expect(int, size, prefix))
        codes = arrays.positions(f"{prefix}.codes", (n,), -1, size)
        dtype = pd.CategoricalDtype(pd.Index(categories), ordered=expect(bool, ordered, prefix))
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))
    if isinstance(kind, dict):
        storage, missing = expect_fields(kind, ("string", "missing"), prefix)
        if storage not in ("python", "pyarrow") or missing not in ("NA", "nan"):
            raise FormatError(f"{prefix} is text of kind {kind!r}")
        na = pd.NA if missing == "NA" else np.nan
        return pd.Series(expect(list, values, prefix), dtype=pd.StringDtype(storage, na_value=na))
    if kind == "object":
        return pd.Series(expect(list, values, prefix), dtype=object)
    if kind in NUMBERS:
        return pd.Series(arrays.take(f"{prefix}.values", kind, (n,), finite=False))
    if isinstance(kind, str) and PANDAS_TIMES.fullmatch(kind):
        return pd.Series(arrays.take(f"{prefix}.values", np.int64, (n,)).view(kind))
    raise FormatError(f"{prefix} is of type {kind!r}, which is not known")


POLARS_TEXTS = ("String", "Categorical", "Null")


def _dump_polars(column: Any) -> Column:
    import polars as pl

    name = str(column.dtype.base_type())
    if name in POLARS_TEXTS:
        return name, column.to_list(), {}
    if isinstance(column.dtype, pl.Enum):
        return {"enum": column.dtype.categories.to_list()}, column.to_list(), {}
    raise SaveError(f"polars' type {column.dtype} is not supported")


def _read_polars(kind: Any, values: list[Any], prefix: str) -> Any:
    import polars as pl

    if isinstance(kind, dict):
        (categories,) = expect_fields(kind, ("enum",), prefix)
        return pl.Series(values, dtype=pl.Enum(expect(list, categories, prefix)))
    if kind in POLARS_TEXTS:
        return pl.Series(values, dtype=getattr(pl, kind))
    raise FormatError(f"{prefix} is of type {kind!r}, which is not known")


ARROW_TEXTS = ("string", "large_string", "null")


def _dump_arrow(column: Any) -> Column:
    import pyarrow as pa

    kind = str(column.type)
    if kind in ARROW_TEXTS:
        return kind, column.to_pylist(), {}
    if pa.types.is_dictionary(column.type) and str(column.type.value_type) in ARROW_TEXTS:
        inner = {"index": str(column.type.index_type), "value": str(column.type.value_type)}
        return {"dictionary": inner}, column.to_pylist(), {}
    raise SaveError(f"Arrow's type {column.type} is not supported")


def _read_arrow(kind: Any, values: list[Any], prefix: str) -> Any:
    import pyarrow as pa

    if kind in ARROW_TEXTS:
        return pa.array(values, type=getattr(pa, kind)())
    if isinstance(kind, dict):
        (inner,) = expect_fields(kind, ("dictionary",), prefix)
        index, value = expect_fields(inner, ("index", "value"), prefix)
        if index in MASKED["pyarrow"] and value in ARROW_TEXTS:
            texts = pa.array(values, type=getattr(pa, value)())
            return texts.cast(pa.dictionary(getattr(pa, index)(), texts.type))
    raise FormatError(f"{prefix} is of type {kind!r}, which is not known")


def _dump_array(frame: NumpyFrame, arrays: ArrayWriter, prefix: str) -> dict[str, Any]:
    array, values, kind = frame.array, None, frame.array.dtype.kind
    size = array.dtype.itemsize // (4 if kind == "U" else 1)
    if array.dtype.name in NUMBERS:
        arrays.add(f"{prefix}.values", array)
        kind = array.dtype.name
    elif kind in "USO":
        values = [[dump_scalar(value) for value in row] for row in array.tolist()]
    else:
        raise SaveError(f"arrays of {array.dtype} cannot be saved; convert the rows and fit again")
    columns = {"names": list(frame.names), "type": kind, "size": size, "values": values}
    return {"library": "numpy", "rows": len(frame), "columns": columns}


def _read_array(n: int, columns: Any, arrays: ArrayReader, names: Sequence[str] | None, prefix: str) -> Frame:
    where = f"{prefix}.values"
    own, kind, size, values = expect_fields(columns, ("names", "type", "size", "values"), f"{prefix}.columns")
    own = [expect(str, name, prefix) for name in expect(list, own, prefix)]
    names = own if names is None else names
    if list(names) != own:
        raise FormatError(f"the stored rows have the columns {own!r:.60}, expected {list(names)[:5]}")
    if kind in NUMBERS:
        array = arrays.take(where, kind, (n, len(names)), finite=False)
        return require_columns(NumpyFrame.from_array(array), names)
    if kind not in ("U", "S", "O") or type(size) is not int or not 0 < size <= MAX_TEXT:
        raise FormatError(f"the stored rows are of type {kind!r}")
    rows = [
        [read_scalar(value, where) for value in expect(list, row, where)]
        for row in expect(list, values, where)
    ]
    if len(rows) != n or any(len(row) != len(names) for row in rows):
        raise FormatError(f"the stored rows are not {n} by {len(names)}")
    width = 8 if kind == "O" else size * (4 if kind == "U" else 1)
    arrays.budget.spend(width * n * len(names), f"{prefix}: {n:,} by {len(names):,} texts of {size} letters")
    try:
        array = np.empty((n, len(names)), dtype="O" if kind == "O" else f"{kind}{size}")
        array[:] = rows if n else array
    except (ValueError, TypeError) as error:
        raise FormatError(f"the stored rows are no array of {kind}{size} ({error})") from error
    return require_columns(NumpyFrame.from_array(array), names)

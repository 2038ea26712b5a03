"""Results in JSON and Parquet files."""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from illume.data import archive
from illume.data.stored_arrays import TYPES
from illume.data.typed_json import SPECIAL_FLOATS, dump_scalar, expect, expect_fields, read, read_scalar
from illume.errors import FormatError, MissingExtraError
from illume.results.serialization import Array, Parts

FORMAT, VERSION = "illume result", 4
MAX_LENGTH = 2**32  # along one axis
DTYPES = {dtype.name: dtype for dtype in TYPES.values()} | {"object": np.dtype(object)}
AXES = ("rows", "examples", "shared")


def save_result(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a result to JSON or Parquet, as the file's name says."""
    parts, suffix = Parts.from_result(result), _suffix(path)
    archive.write(path, _head(parts, axes=AXES) if suffix == ".json" else _to_parquet(parts))


def load_result(path: str | os.PathLike[str]) -> Any:
    """Read `Attributions`, `Rules` or `Counterfactuals` that were saved to JSON or Parquet.

    All arrays, names and texts are as they were. A file that is damaged, of another kind or of another
    format version raises `FormatError`.
    """
    parse = {".json": _from_json, ".parquet": _from_parquet}[_suffix(path)]
    content = Path(path).read_bytes()
    try:
        return parse(content).to_result()
    except FormatError as error:
        raise FormatError(f"{Path(path).name}: {error}") from error


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".parquet"):
        raise ValueError(f"the name must end in .json or .parquet, found {Path(path).name!r}")
    return suffix


def _head(parts: Parts, axes: tuple[str, ...]) -> bytes:
    """Return a result as JSON, with the values of arrays on some axes only."""
    head = {"format": FORMAT, "version": VERSION, "kind": parts.kind, "plain": parts.plain}
    for axis in AXES:
        head[axis] = {
            path: {"type": array.dtype.name, "shape": list(array.shape)}
            | ({"values": _list_values(array)} if axis in axes else {})
            for path, array in getattr(parts, axis).items()
        }
    return json.dumps(head, allow_nan=False).encode("utf-8")


def _parse_head(content: bytes, what: str) -> tuple[str, dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the kind, the plain values, and the descriptions of arrays by axis and path."""
    values = archive.parse_json(content, what)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise FormatError("this is no result of illume")
    version = values.get("version")
    if version != VERSION:
        advice = "update illume" if type(version) is int and version > VERSION else "save the result again"
        raise FormatError(f"the result has format version {version}, this illume reads {VERSION}; {advice}")
    _, _, kind, plain, *axes = expect_fields(values, ("format", "version", "kind", "plain", *AXES), "head")
    described = {axis: expect(dict, each, axis) for axis, each in zip(AXES, axes, strict=True)}
    return expect(str, kind, "kind"), expect(dict, plain, "plain"), described


def _describe(entry: Any, path: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype and shape that a head gives for an array."""
    described = {name: each for name, each in expect(dict, entry, path).items() if name != "values"}
    kind, shape = expect_fields(described, ("type", "shape"), path)
    sizes: tuple[int, ...] = read(tuple[int, ...], shape, path)
    if kind not in DTYPES or not 1 <= len(sizes) <= 3 or any(not 0 <= size <= MAX_LENGTH for size in sizes):
        raise FormatError(f"{path} is of type {kind!r} and shape {shape!r}")
    return DTYPES[kind], sizes


def _list_values(array: Array) -> list[Any]:
    values: list[Any] = array.ravel().tolist()
    if array.dtype == object:
        return [dump_scalar(value) for value in values]
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [value if np.isfinite(value) else str(value) for value in values]  # "nan", "inf", "-inf"
    return values


def _array(entry: Any, path: str) -> Array:
    dtype, shape = _describe(entry, path)
    values = expect(list, entry.get("values"), path)
    try:
        if dtype.kind == "O":
            flat = np.empty(len(values), dtype=object)
            flat[:] = [read_scalar(value, path) for value in values]
        else:
            flat = np.array([SPECIAL_FLOATS[v] if isinstance(v, str) else v for v in values], dtype=dtype)
        return flat.reshape(shape)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise FormatError(f"{path} does not hold {dtype} of shape {shape} ({error})") from error


def _from_json(content: bytes) -> Parts:
    kind, plain, described = _parse_head(content, "the file")
    arrays = {axis: {path: _array(e, path) for path, e in described[axis].items()} for axis in AXES}
    return Parts(kind, plain=plain, **arrays)


def _import_arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet as pq
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "pyarrow") from error
    return pa, pq


def _to_parquet(parts: Parts) -> bytes:
    """Return a table with a line per row; several numbers per row, and its examples, are lists."""
    pa, pq = _import_arrow()
    n, row = len(next(iter(parts.rows.values()))), parts.examples.get("row", np.empty(0, dtype=np.intp))
    columns = {}
    for prefix, arrays, counts in (
        ("", parts.rows, np.ones(n, dtype=np.intp)),
        ("examples.", parts.examples, np.bincount(row, minlength=n)),
    ):
        for path, array in arrays.items():
            width = int(np.prod(array.shape[1:], dtype=np.int64))
            values: Any = array.ravel()
            if array.dtype == object:
                values = [json.dumps(dump_scalar(value)) for value in values.tolist()]
            column = pa.array(values, type=pa.string() if array.dtype == object else None)
            if prefix or array.ndim > 1:
                offsets = pa.array(np.append(0, np.cumsum(counts * width)), type=pa.int64())
                column = pa.LargeListArray.from_arrays(offsets, column)
            columns[f"{prefix}{path}"] = column
    table = pa.table(columns).replace_schema_metadata({"illume": _head(parts, axes=("shared",))})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _from_parquet(content: bytes) -> Parts:
    _, pq = _import_arrow()
    try:
        table = pq.read_table(io.BytesIO(content))
        metadata = table.schema.metadata or {}
    except Exception as error:  # Arrow has many errors of its own
        raise FormatError(f"this is no Parquet file, or a damaged one ({error})") from error
    if b"illume" not in metadata:
        raise FormatError("this is a Parquet file, but no result of illume")
    kind, plain, described = _parse_head(metadata[b"illume"], "the head")
    return Parts(
        kind,
        rows={path: _read_column(table, path, entry) for path, entry in described["rows"].items()},
        examples={
            path: _read_column(table, f"examples.{path}", entry)
            for path, entry in described["examples"].items()
        },
        shared={path: _array(entry, path) for path, entry in described["shared"].items()},
        plain=plain,
    )


def _read_column(table: Any, name: str, entry: Any) -> Array:
    dtype, shape = _describe(entry, name)
    if name not in table.column_names:
        raise FormatError(f"the column {name} is missing")
    try:
        column = table[name].combine_chunks()
        flat = column.flatten() if hasattr(column.type, "value_type") else column
        values = np.array(flat.to_numpy(zero_copy_only=False)) if not flat.null_count else None
    except Exception as error:  # Arrow has many errors of its own
        raise FormatError(f"the column {name} cannot be read ({error})") from error
    if values is None:
        raise FormatError(f"{name} holds missing values")
    if dtype.kind == "O":
        texts, values = values, np.empty(len(values), dtype=object)
        values[:] = [read_scalar(archive.parse_json(str(t).encode("utf-8"), name), name) for t in texts]
    if values.dtype != dtype or values.size != math.prod(shape):
        raise FormatError(f"{name} holds {values.size} of {values.dtype}, expected {shape} of {dtype}")
    return values.reshape(shape)

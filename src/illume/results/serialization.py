"""Save results to JSON and Parquet, and load them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from illume.data import archive
from illume.data.stored_arrays import TYPES
from illume.data.typed_json import SPECIAL_FLOATS, dump_scalar, expect, expect_fields, read, read_scalar
from illume.errors import FormatError, MissingExtraError
from illume.results.apart import Apart, Array, head_of
from illume.results.older import upgraded

FORMAT = "illume result"
VERSION = 3
LONGEST = 2**32  # along one axis
DTYPES = {dtype.name: dtype for dtype in TYPES.values()} | {"object": np.dtype(object)}
HEAD = {
    "format": str,
    "version": int,
    "kind": str,
    "rows": dict,
    "examples": dict,
    "shared": dict,
    "plain": dict,
}


def save(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a result, to JSON or Parquet as the name says."""
    write, _ = _by_suffix(path)
    archive.write(path, write(Apart.of(result)))


def load_result(path: str | os.PathLike[str]) -> Any:
    """Read `Attributions`, `Rules` or `Counterfactuals` that were saved to JSON or Parquet.

    All arrays, names and texts are as they were. A file that is damaged, of another kind or newer than this
    version of illume raises `FormatError`.
    """
    _, parse = _by_suffix(path)
    content = Path(path).read_bytes()
    try:
        return parse(content).together()
    except FormatError as error:
        raise FormatError(f"{Path(path).name}: {error}") from error


def _by_suffix(path: str | os.PathLike[str]) -> tuple[Callable[[Apart], bytes], Callable[[bytes], Apart]]:
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return to_json, from_json
    if suffix == ".parquet":
        return to_parquet, from_parquet
    raise ValueError(f"the name must end in .json or .parquet, found {Path(path).name!r}")


def to_json(apart: Apart) -> bytes:
    """Return a result as JSON."""
    values = {
        place: {path: {**_described(array), "values": _listed(array)} for path, array in arrays.items()}
        for place, arrays in (("rows", apart.rows), ("examples", apart.examples))
    }
    return json.dumps(_head(apart, **values), allow_nan=False).encode("utf-8")


def from_json(content: bytes) -> Apart:
    """Return the result that JSON stands for."""
    version, kind, rows, examples, shared, plain = _checked_head(archive.parse_json(content, "the file"))
    rows, examples, shared = (
        {path: _array(entry, path) for path, entry in part.items()} for part in (rows, examples, shared)
    )
    return upgraded(Apart(kind, rows, examples, shared, plain), version)


def to_parquet(apart: Apart) -> bytes:
    """Return a result as a Parquet file."""
    pa, pq = _arrow()
    described = {
        place: {path: _described(array) for path, array in arrays.items()}
        for place, arrays in (("rows", apart.rows), ("examples", apart.examples))
    }
    n = len(next(iter(apart.rows.values())))
    columns = {path: _column(pa, array) for path, array in apart.rows.items() if _width(array)}
    for path, array in apart.examples.items():
        if _width(array) and path != "row":
            per_row = np.bincount(apart.examples["row"], minlength=n) * _width(array)
            offsets = pa.array(np.append(0, np.cumsum(per_row)), type=pa.int64())
            columns[f"examples.{path}"] = pa.LargeListArray.from_arrays(offsets, _flat(pa, array))
    if "row" in apart.examples:
        columns["n_examples"] = pa.array(np.bincount(apart.examples["row"], minlength=n))
    table = pa.table(columns).replace_schema_metadata({"illume": json.dumps(_head(apart, **described))})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def from_parquet(content: bytes) -> Apart:
    """Return the result that a Parquet file holds."""
    _, pq = _arrow()
    try:
        table = pq.read_table(io.BytesIO(content))
        metadata = table.schema.metadata or {}
    except Exception as error:  # Arrow has many errors of its own
        raise FormatError(f"this is no Parquet file, or a damaged one ({error})") from error
    if b"illume" not in metadata:
        raise FormatError("this is a Parquet file, but no result of illume")
    version, kind, rows, examples, shared, plain = _checked_head(
        archive.parse_json(metadata[b"illume"], "the head")
    )
    found = {path: _from_column(table, path, entry, table.num_rows) for path, entry in rows.items()}
    per_example = {}
    if "row" in examples:
        n = table.num_rows
        counts = _from_column(table, "n_examples", {"type": "int64", "shape": [n]}, n)
        if (counts < 0).any() or counts.sum() > len(content) * 64:
            raise FormatError("n_examples holds numbers that cannot be")
        per_example["row"] = np.repeat(np.arange(table.num_rows), counts)
        for path, entry in examples.items():
            if path != "row":
                per_example[path] = _from_column(table, f"examples.{path}", entry, int(counts.sum()))
    all_share = {path: _array(entry, path) for path, entry in shared.items()}
    return upgraded(Apart(kind, found, per_example, all_share, plain), version)


def _head(apart: Apart, rows: Any, examples: Any) -> dict[str, Any]:
    shared = {path: {**_described(array), "values": _listed(array)} for path, array in apart.shared.items()}
    parts = {"rows": rows, "examples": examples, "shared": shared, "plain": apart.plain}
    return {"format": FORMAT, "version": VERSION, "kind": apart.kind, **parts}


def _checked_head(values: Any) -> tuple[Any, ...]:
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise FormatError("this is no result of illume")
    version = values.get("version")
    if type(version) is int and version > VERSION:
        raise FormatError(
            f"the result has format version {version}, and this illume reads up to {VERSION}; update it"
        )
    _, version, *rest = head_of(values, HEAD)
    if version < 1:
        raise FormatError(f"the format version is {version}")
    return (version, *rest)


def _described(array: Array) -> dict[str, Any]:
    return {"type": array.dtype.name, "shape": list(array.shape)}


def _typed(entry: Any, path: str) -> tuple[Any, tuple[int, ...]]:
    """Return the type and the shape of an array."""
    kind, shape = expect_fields(
        {name: entry[name] for name in entry if name != "values"}, ("type", "shape"), path
    )
    sizes: tuple[int, ...] = read(tuple[int, ...], shape, path)
    if kind not in DTYPES or not 1 <= len(sizes) <= 3 or any(not 0 <= size <= LONGEST for size in sizes):
        raise FormatError(f"{path} is of type {kind!r} and shape {shape!r}")
    return DTYPES[kind], sizes


def _listed(array: Array) -> list[Any]:
    flat = array.ravel()
    if array.dtype == object:
        return [dump_scalar(value) for value in flat.tolist()]
    if array.dtype.kind == "f" and not np.isfinite(flat).all():
        odd = {value: name for name, value in SPECIAL_FLOATS.items() if name != "nan"}
        return [value if np.isfinite(value) else odd.get(value, "nan") for value in flat.tolist()]
    values: list[Any] = flat.tolist()
    return values


def _array(entry: Any, path: str) -> Array:
    dtype, shape = _typed(expect(dict, entry, path), path)
    values = expect(list, entry.get("values"), path)
    try:
        if dtype.kind == "O":
            flat = np.empty(len(values), dtype=object)
            flat[:] = [read_scalar(value, path) for value in values]
        else:
            plain = [SPECIAL_FLOATS[value] if isinstance(value, str) else value for value in values]
            flat = np.array(plain, dtype=dtype)
        return flat.reshape(shape)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise FormatError(f"{path} does not hold {dtype} of shape {shape} ({error})") from error


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet as pq
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "pyarrow") from error
    return pa, pq


def _width(array: Array) -> int:
    return int(np.prod(array.shape[1:], dtype=np.int64))


def _flat(pa: Any, array: Array) -> Any:
    flat = array.ravel()
    if array.dtype == object:
        return pa.array([json.dumps(dump_scalar(value)) for value in flat.tolist()], type=pa.string())
    return pa.array(flat)


def _column(pa: Any, array: Array) -> Any:
    flat = _flat(pa, array)
    return flat if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, _width(array))


def _from_column(table: Any, name: str, entry: Any, n: int) -> Array:
    dtype, shape = _typed(expect(dict, entry, name), name)
    if shape[0] != n:
        raise FormatError(f"{name} has {shape[0]} entries, expected {n}")
    if 0 in shape[1:]:
        return np.empty(shape, dtype=dtype)
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
        values = _parsed_texts(values, name)
    if values.dtype != dtype or values.size != np.prod(shape):
        raise FormatError(f"{name} holds {values.size} of {values.dtype}, expected {shape} of {dtype}")
    return values.reshape(shape)


def _parsed_texts(texts: Array, name: str) -> Array:
    values = np.empty(len(texts), dtype=object)
    values[:] = [read_scalar(archive.parse_json(str(text).encode("utf-8"), name), name) for text in texts]
    return values

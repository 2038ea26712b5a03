"""Results in JSON and Parquet files."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

from illume.data import archive
from illume.data.frames import Frame, Origin, as_frame
from illume.data.stored_arrays import TYPES, ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.data.typed_json import (
    SPECIAL_FLOATS,
    dump,
    dump_scalar,
    expect,
    expect_fields,
    field_types,
    read,
    read_scalar,
)
from illume.errors import FormatError, MissingExtraError, import_extra
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.rules import Rules

FORMAT, VERSION = "illume result", 6
MAX_LENGTH = 2**32  # along one axis
DTYPES = {dtype.name: dtype for dtype in TYPES.values()} | {"object": np.dtype(object)}
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Attributions, Rules, Counterfactuals)}
# Arrays with an entry per row, or per counterfactual example, and arrays that all rows share
AXES = ("rows", "examples", "shared")

Array = np.ndarray[Any, Any]
Arrays = dict[str, dict[str, Array]]  # by axis, and by the path of the field (`trust.agreement`)


def save_result(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a result to JSON or Parquet, as the file's name says."""
    parquet = _suffix(path) == ".parquet"
    plain: dict[str, Any] = {}
    arrays: Arrays = {axis: {} for axis in AXES}
    _split(result, "", plain, arrays)
    head = {"format": FORMAT, "version": VERSION, "kind": result.__class__.__name__, "plain": plain}
    for axis in AXES:
        head[axis] = {
            name: {"type": array.dtype.name, "shape": list(array.shape)}
            | ({} if parquet and axis != "shared" else {"values": _list_values(array)})
            for name, array in arrays[axis].items()
        }
    content = json.dumps(head, allow_nan=False).encode("utf-8")
    archive.write(path, _to_parquet(arrays, content) if parquet else content)


def load_result(path: str | os.PathLike[str]) -> Any:
    """Read `Attributions`, `Rules` or `Counterfactuals` that were saved to JSON or Parquet.

    All arrays, names and texts are as they were. A file that is damaged, of another kind or of another
    format version raises `FormatError`.
    """
    suffix, content = _suffix(path), Path(path).read_bytes()
    try:
        table = _read_table(content) if suffix == ".parquet" else None
        head = _parse_head(content if table is None else table.schema.metadata[b"illume"])
        arrays: Arrays = {axis: {} for axis in AXES}
        for axis, name, entry in ((key, *each) for key in AXES for each in head[key].items()):
            values = expect(dict, entry, name).get("values")
            if table is not None and axis != "shared":
                values = _read_column(table, f"examples.{name}" if axis == "examples" else name)
            arrays[axis][name] = _read_array(entry, values, name)
        return _Reader(head["plain"], arrays).read(head["kind"])
    except FormatError as error:
        raise FormatError(f"{Path(path).name}: {error}") from error


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".parquet"):
        raise ValueError(f"the name must end in .json or .parquet, found {Path(path).name!r}")
    return suffix


def _parse_head(content: bytes) -> dict[str, Any]:
    head = archive.parse_json(content, "the head")
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise FormatError("this is no result of illume")
    version = head.get("version")
    if version != VERSION:
        advice = "update illume" if type(version) is int and version > VERSION else "save the result again"
        raise FormatError(f"the result has format version {version}, this illume reads {VERSION}; {advice}")
    _, _, kind, *rest = expect_fields(head, ("format", "version", "kind", "plain", *AXES), "head")
    if expect(str, kind, "kind") not in KINDS:
        raise FormatError(f"the result is of kind {kind!r}, expected one of {sorted(KINDS)}")
    for name, each in zip(("plain", *AXES), rest, strict=True):
        expect(dict, each, name)
    return head


def _axis(kind: type[Any], name: str) -> str:
    if name in kind.PER_ROW:
        return "rows"
    return "examples" if name in getattr(kind, "PER_EXAMPLE", ()) or name == "row" else "shared"


def _split(value: Any, prefix: str, plain: dict[str, Any], arrays: Arrays) -> None:
    """Add the fields of a dataclass to the plain values or the arrays, by their paths."""
    for name, hint in field_types(value.__class__).items():
        path, inner = f"{prefix}{name}", getattr(value, name)
        if hasattr(hint, "from_dict"):
            plain[path] = dump(hint, inner)
        elif isinstance(inner, np.ndarray):
            arrays[_axis(value.__class__, name)][path] = inner
        elif isinstance(inner, Origin):
            plain[f"{path}.index"] = None
            if inner.index is not None:
                import pandas as pd

                index = as_frame(pd.DataFrame({"index": pd.Series(inner.index.array)}))
                plain[f"{path}.index"] = _split_frame(index, f"{path}.index", arrays)
            plain[f"{path}.backend"] = inner.backend
            plain[f"{path}.name"] = dump_scalar(getattr(inner.index, "name", None))
        elif hint is Frame:
            plain[path] = _split_frame(inner, path, arrays)
        elif is_dataclass(inner):
            _split(inner, f"{path}.", plain, arrays)
        else:
            plain[path] = None if inner is None else dump(hint, inner)


def _split_frame(frame: Frame, path: str, arrays: Arrays) -> dict[str, Any]:
    found = ArrayWriter()
    described = {"names": list(frame.names), **dump_frame(frame, found)}
    for name, array in found.arrays.items():
        arrays["shared"][f"{path}/{name}"] = array.T if name in found.transposed else array
    return described


class _Reader:
    """Builds a result of plain values and arrays; both are emptied on the way."""

    def __init__(self, plain: dict[str, Any], arrays: Arrays) -> None:
        self.plain, self.arrays = dict(plain), arrays

    def read(self, kind: str) -> Any:
        lengths = [(axis, name, len(array)) for axis in AXES[:2] for name, array in self.arrays[axis].items()]
        try:
            result = self._join(KINDS[kind], "")
            left = [name for found in (*self.arrays.values(), self.plain) for name in found]
            if left:
                raise FormatError(f"there are unknown parts: {left[:5]}")
            _require_shapes(result, lengths)
            repr(result)  # fails for most parts that do not fit together
        except (FormatError, MissingExtraError):
            raise
        except Exception as error:
            raise FormatError(f"the parts do not fit together ({error})") from error
        return result

    def _join(self, kind: Any, prefix: str) -> Any:
        hints = field_types(kind).items()
        return kind(**{name: self._value(kind, name, hint, f"{prefix}{name}") for name, hint in hints})

    def _value(self, kind: type[Any], name: str, hint: Any, path: str) -> Any:
        if type(None) in get_args(hint):
            if self.plain.get(path, "") is None:
                return self.plain.pop(path)
            hint = next(each for each in get_args(hint) if each is not type(None))
        if get_origin(hint) is np.ndarray:
            array = _pop(self.arrays[_axis(kind, name)], path)
            expected = [get_origin(each) or each for each in get_args(get_args(hint)[1])]
            if expected and not issubclass(array.dtype.type, expected[0]):
                raise FormatError(f"{path} holds {array.dtype}, expected {expected[0].__name__}")
            return array
        if hint is Origin:
            return self._origin(path)
        if hasattr(hint, "from_dict"):
            return read(hint, _pop(self.plain, path), path)
        if hint is Frame:
            return self._frame(path)
        return (
            self._join(hint, f"{path}.") if is_dataclass(hint) else read(hint, _pop(self.plain, path), path)
        )

    def _origin(self, path: str) -> Origin:
        frame, backend = self._frame(f"{path}.index"), _pop(self.plain, f"{path}.backend")
        name = read_scalar(_pop(self.plain, f"{path}.name"), path)
        if backend not in (None, "pandas", "polars", "pyarrow"):
            raise FormatError(f"{path}.backend is {backend!r}, expected pandas, polars, pyarrow or null")
        if frame is None:
            return Origin(backend)
        import pandas as pd

        return Origin(backend, pd.Index(frame.native["index"], name=name))

    def _frame(self, path: str) -> Frame | None:
        described = _pop(self.plain, path)
        if described is None:
            return None
        rest, shared = dict(expect(dict, described, path)), self.arrays["shared"]
        names = expect(list, rest.pop("names", None), path)
        stored = [name for name in shared if name.startswith(f"{path}/")]
        arrays = ArrayReader({name.removeprefix(f"{path}/"): shared.pop(name) for name in stored}, path)
        frame = read_frame(rest, arrays, names)
        arrays.finish()
        return frame


def _pop(found: dict[str, Any], path: str) -> Any:
    if path not in found:
        raise FormatError(f"{path} is missing")
    return found.pop(path)


def _require_shapes(result: Any, lengths: list[tuple[str, str, int]]) -> None:
    n, row = len(result), getattr(result, "row", np.empty(0, dtype=np.intp))
    for axis, path, found in lengths:
        expected = n if axis == "rows" else len(row)
        if found != expected:
            raise FormatError(f"{path} has {found} {axis}, expected {expected}")
    if len(row) and not (row[0] >= 0 and row[-1] < n and (np.diff(row) >= 0).all()):
        raise FormatError("the rows of examples must ascend and be rows of the result")
    _require_answers(result)
    if isinstance(result, Attributions):
        if result.kind not in ("shapley", "pullback"):
            raise FormatError(
                f"the kind of contributions is {result.kind!r}, expected 'shapley' or 'pullback'"
            )
        if result.standard_errors.shape != result.values.shape:
            shapes = f"{result.standard_errors.shape}, expected {result.values.shape}"
            raise FormatError(f"standard_errors has the shape {shapes}")


def _require_answers(result: Any) -> None:
    question, interval = getattr(result, "question", None), getattr(result, "interval", None)
    if question is not None and not question.is_sound(len(result.outputs)):
        raise FormatError(f"the question is {question}, which {result.outputs} do not answer")
    if interval is not None and interval.shape != (len(result), 2):
        raise FormatError(f"interval has the shape {interval.shape}, expected {(len(result), 2)}")
    if result.predictions.shape != (len(result), len(result.outputs)):
        raise FormatError(f"predictions has the shape {result.predictions.shape}, outputs {result.outputs}")


def _list_values(array: Array) -> list[Any]:
    values: list[Any] = array.ravel().tolist()
    if array.dtype == object:
        return [dump_scalar(value) for value in values]
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [value if np.isfinite(value) else str(value) for value in values]  # "nan", "inf", "-inf"
    return values


def _read_array(entry: dict[str, Any], values: Any, path: str) -> Array:
    """Return an array of the type and shape that an entry of the head describes."""
    described = {name: each for name, each in entry.items() if name != "values"}
    kind, shape = expect_fields(described, ("type", "shape"), path)
    sizes: tuple[int, ...] = read(tuple[int, ...], shape, path)
    if kind not in DTYPES or not 1 <= len(sizes) <= 3 or any(not 0 <= size <= MAX_LENGTH for size in sizes):
        raise FormatError(f"{path} is of type {kind!r} and shape {shape!r}")
    dtype = DTYPES[kind]
    if not isinstance(values, np.ndarray):
        values = expect(list, values, path)
    try:
        if dtype.kind == "O":
            flat = np.empty(len(values), dtype=object)
            flat[:] = [read_scalar(value, path) for value in values]
        elif isinstance(values, np.ndarray):
            flat = values
        else:
            flat = np.array([SPECIAL_FLOATS[v] if isinstance(v, str) else v for v in values], dtype=dtype)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise FormatError(f"{path} does not hold {dtype} of shape {sizes} ({error})") from error
    if flat.dtype != dtype or flat.size != math.prod(sizes):
        raise FormatError(f"{path} holds {flat.size} of {flat.dtype}, expected {sizes} of {dtype}")
    return flat.reshape(sizes)


def _import_arrow() -> tuple[Any, Any]:
    return import_extra("pyarrow", "pyarrow"), import_extra("pyarrow.parquet", "pyarrow")


def _to_parquet(arrays: Arrays, head: bytes) -> bytes:
    """Return a table with a line per row; several numbers per row, and its examples, are lists."""
    pa, pq = _import_arrow()
    n, columns = len(next(iter(arrays["rows"].values()))), {}
    row = arrays["examples"].get("row", np.empty(0, dtype=np.intp))
    counts = {"rows": np.ones(n, dtype=np.intp), "examples": np.bincount(row, minlength=n)}
    for axis, path, array in ((key, *each) for key in counts for each in arrays[key].items()):
        values: Any = array.ravel()
        if array.dtype == object:
            values = [json.dumps(dump_scalar(value)) for value in values.tolist()]
        column = pa.array(values, type=pa.string() if array.dtype == object else None)
        if axis == "examples" or array.ndim > 1:
            offsets = np.append(0, np.cumsum(counts[axis] * math.prod(array.shape[1:])))
            column = pa.LargeListArray.from_arrays(pa.array(offsets, type=pa.int64()), column)
        columns[f"examples.{path}" if axis == "examples" else path] = column
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata({"illume": head}), buffer)
    return buffer.getvalue()


def _read_table(content: bytes) -> Any:
    _, pq = _import_arrow()
    try:
        table = pq.read_table(io.BytesIO(content))
    except Exception as error:  # Arrow has many errors of its own
        raise FormatError(f"this is no Parquet file, or a damaged one ({error})") from error
    if b"illume" not in (table.schema.metadata or {}):
        raise FormatError("this is a Parquet file, but no result of illume")
    return table


def _read_column(table: Any, name: str) -> Any:
    """Return all values of a column; texts are JSON."""
    if name not in table.column_names:
        raise FormatError(f"the column {name} is missing")
    try:
        column = table[name].combine_chunks()
        flat = column.flatten() if hasattr(column.type, "value_type") else column
        values = np.array(flat.to_numpy(zero_copy_only=False))
    except Exception as error:  # Arrow has many errors of its own
        raise FormatError(f"the column {name} cannot be read ({error})") from error
    if flat.null_count:
        raise FormatError(f"{name} holds missing values")
    if values.dtype == object:
        return [archive.parse_json(str(text).encode("utf-8"), name) for text in values]
    return values

"""Results in JSON and Parquet files."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

from illume.data import archive
from illume.data.frames import Frame, Origin, as_frame
from illume.data.limits import Budget
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
from illume.errors import FormatError, MissingExtraError
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.result_ranges import AXES, require_ranges, require_shapes
from illume.results.result_tables import (
    CODE,
    Array,
    Arrays,
    ResultTable,
    column_name,
    number_values,
    to_parquet,
)
from illume.results.rules import Rules

FORMAT, VERSION = "illume result", 8
MAX_LENGTH = 2**32  # along one axis
DTYPES = {dtype.name: dtype for dtype in TYPES.values()} | {"object": np.dtype(object)}
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Attributions, Rules, Counterfactuals)}


def save_result(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a result to JSON or Parquet, as the file's name says."""
    parquet = _suffix(path) == ".parquet"
    plain: dict[str, Any] = {}
    arrays: Arrays = {axis: {} for axis in AXES}
    _split(result, "", plain, arrays)
    head = {"format": FORMAT, "version": VERSION, "kind": result.__class__.__name__, "plain": plain}
    head["sha256"] = _digest(head, arrays)
    for axis in AXES:
        head[axis] = {
            name: {"type": array.dtype.name, "shape": list(array.shape)}
            for name, array in arrays[axis].items()
        }
        for name, array in arrays[axis].items():
            if not parquet or axis == "shared":
                head[axis][name]["values"] = _list_values(array)
            elif array.dtype == object:
                arrays[axis][name], head[axis][name]["values"] = number_values(array)
    content = json.dumps(head, allow_nan=False).encode("utf-8")
    archive.write(path, to_parquet(arrays, content) if parquet else content)


def load_result(path: str | os.PathLike[str], *, max_bytes: float | None = None) -> Any:
    """Read `Attributions`, `Rules` or `Counterfactuals` that were saved to JSON or Parquet.

    All arrays, names and texts are as they were. A file that is damaged or was changed, is of another kind or
    format version, or would take more memory than `max_bytes` (2 GiB, or what the variable ILLUME_MAX_BYTES
    says) raises `FormatError`.
    """
    suffix, budget = _suffix(path), Budget(max_bytes)
    try:
        table = ResultTable(path, budget) if suffix == ".parquet" else None
        head = _parse_head(_read_json(path, budget) if table is None else table.head, budget)
        arrays: Arrays = {axis: {} for axis in AXES}
        for axis, name, entry in ((key, *each) for key in AXES for each in head[key].items()):
            values = expect(dict, entry, name).get("values")
            if table is not None and axis != "shared":
                column = table.column(column_name(axis, name))
                values = column if values is None else _pick(values, column, name)
            arrays[axis][name] = _read_array(entry, values, name)
        require_ranges(arrays)
        digest = _digest({name: head[name] for name in ("format", "version", "kind", "plain")}, arrays)
        result = _Reader(head["plain"], arrays).read(head["kind"])
        if digest != head["sha256"]:
            raise FormatError(
                "the result was changed or damaged after it was saved (its digest differs); save it again"
            )
        return result
    except FormatError as error:
        raise FormatError(f"{Path(path).name}: {error}") from error


def _digest(head: dict[str, Any], arrays: Arrays) -> str:
    """Hash all of a result, the same for JSON and Parquet: its plain values and the bits of its arrays."""
    found = hashlib.sha256(_canonical(head))
    for axis, name, array in ((key, *each) for key in AXES for each in sorted(arrays[key].items())):
        found.update(_canonical([axis, name, array.dtype.name, array.shape]))
        if array.dtype == object:
            found.update(_canonical(_list_values(array)))
            continue
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)  # JSON has one NaN
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _canonical(values: Any) -> bytes:
    try:
        return json.dumps(values, allow_nan=False, sort_keys=True).encode("ascii")
    except ValueError as error:
        raise FormatError(f"a number is out of range ({error})") from error


def _pick(listed: Any, codes: Array, name: str) -> list[Any]:
    values = expect(list, listed, name)
    if codes.dtype != CODE or (len(codes) and codes.max() >= len(values)):
        raise FormatError(f"{name} holds numbers of values that are not listed")
    return [values[code] for code in codes.tolist()]


def _read_json(path: str | os.PathLike[str], budget: Budget) -> bytes:
    budget.spend(os.stat(path).st_size, f"reading {Path(path).name}")
    return Path(path).read_bytes()


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".parquet"):
        raise ValueError(f"the name must end in .json or .parquet, found {Path(path).name!r}")
    return suffix


def _parse_head(content: bytes, budget: Budget) -> dict[str, Any]:
    head = archive.parse_json(content, "the head", budget)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise FormatError("this is no result of illume")
    archive.require_format(head.get("version"), VERSION, "explain and save the result again")
    _, _, kind, *rest = expect_fields(head, ("format", "version", "kind", "plain", *AXES, "sha256"), "head")
    if expect(str, kind, "kind") not in KINDS:
        raise FormatError(f"the result is of kind {kind!r}, expected one of {sorted(KINDS)}")
    for name, each in zip(("plain", *AXES), rest, strict=False):
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
            require_shapes(result, lengths)
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

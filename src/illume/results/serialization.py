"""Results as named arrays and plain values, and back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, get_args, get_origin

import numpy as np

from illume.data.frames import Frame, Origin, as_frame
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.data.typed_json import dump, dump_scalar, expect, field_types, read, read_scalar
from illume.errors import FormatError, MissingExtraError
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.rules import Rules

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Attributions, Rules, Counterfactuals)}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Parts:
    """A result as named arrays and plain values, by the path of their field (`trust.agreement`).

    Parameters
    ----------
    kind
        The name of the result's class.
    rows, examples, shared
        Arrays with an entry per row, or per counterfactual example, and arrays that all rows share.
    plain
        All other values, as JSON.
    """

    kind: str
    rows: dict[str, Array] = field(default_factory=dict)
    examples: dict[str, Array] = field(default_factory=dict)
    shared: dict[str, Array] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_result(cls, result: Any) -> Parts:
        """Split a result."""
        parts = cls(result.__class__.__name__)
        parts._split(result, KINDS[parts.kind], "")
        return parts

    def _axis(self, kind: type[Any], name: str) -> dict[str, Array]:
        if name in kind.PER_ROW:
            return self.rows
        return self.examples if name in getattr(kind, "PER_EXAMPLE", ()) or name == "row" else self.shared

    def _split(self, value: Any, kind: type[Any], prefix: str) -> None:
        for name, hint in _hints(kind).items():
            path, inner = f"{prefix}{name}", getattr(value, name)
            if inner is None:
                self.plain[path] = None
            elif isinstance(inner, np.ndarray):
                self._axis(kind, name)[path] = inner
            elif isinstance(inner, Origin):
                self._split_frame(f"{path}.index", _index_frame(inner))
                self.plain[f"{path}.backend"] = inner.backend
                self.plain[f"{path}.name"] = dump_scalar(getattr(inner.index, "name", None))
            elif hint is Frame:
                self._split_frame(path, inner)
            elif is_dataclass(inner):
                self._split(inner, _without_none(hint), f"{path}.")
            else:
                self.plain[path] = dump(hint, inner)

    def _split_frame(self, path: str, frame: Frame | None) -> None:
        arrays = ArrayWriter()
        described = None if frame is None else {"names": list(frame.names), **dump_frame(frame, arrays)}
        self.plain[path] = described
        for name, array in arrays.arrays.items():
            self.shared[f"{path}/{name}"] = array.T if name in arrays.transposed else array

    def to_result(self) -> Any:
        """Return the result; raise `FormatError` if the parts do not fit together."""
        if self.kind not in KINDS:
            raise FormatError(f"the result is of kind {self.kind!r}, expected one of {sorted(KINDS)}")
        rest = Parts(self.kind, dict(self.rows), dict(self.examples), dict(self.shared), dict(self.plain))
        try:
            result = rest._join(KINDS[self.kind], "")
            left = [*rest.rows, *rest.examples, *rest.shared, *rest.plain]
            if left:
                raise FormatError(f"there are unknown parts: {left[:5]}")
            self._require_lengths(result)
            repr(result)  # fails for most parts that do not fit together
        except (FormatError, MissingExtraError):
            raise
        except Exception as error:
            raise FormatError(f"the parts do not fit together ({error})") from error
        return result

    def _join(self, kind: type[Any], prefix: str) -> Any:
        return kind(
            **{name: self._value(kind, name, hint, f"{prefix}{name}") for name, hint in _hints(kind).items()}
        )

    def _value(self, kind: type[Any], name: str, hint: Any, path: str) -> Any:
        if type(None) in get_args(hint) and self.plain.get(path, "") is None:
            return self.plain.pop(path)
        hint = _without_none(hint)
        if get_origin(hint) is np.ndarray:
            return _require_dtype(hint, _pop(self._axis(kind, name), path), path)
        if hint is Origin:
            return self._origin(path)
        if hint is Frame:
            return self._frame(path)
        if is_dataclass(hint):
            return self._join(hint, f"{path}.")  # type: ignore[arg-type]
        return read(hint, _pop(self.plain, path), path)

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
        rest = dict(expect(dict, described, path))
        names = expect(list, rest.pop("names", None), path)
        stored = [name for name in self.shared if name.startswith(f"{path}/")]
        arrays = ArrayReader({name.removeprefix(f"{path}/"): self.shared.pop(name) for name in stored}, path)
        frame = read_frame(rest, arrays, names)
        arrays.finish()
        return frame

    def _require_lengths(self, result: Any) -> None:
        n, row = len(result), self.examples.get("row", np.empty(0, dtype=np.intp))
        for arrays, length, what in ((self.rows, n, "rows"), (self.examples, len(row), "examples")):
            for path, array in arrays.items():
                if len(array) != length:
                    raise FormatError(f"{path} has {len(array)} {what}, expected {length}")
        if len(row) and not (row[0] >= 0 and row[-1] < n and (np.diff(row) >= 0).all()):
            raise FormatError("the rows of examples must ascend and be rows of the result")
        if isinstance(result, Attributions):
            if result.kind not in ("shapley", "pullback"):
                raise FormatError(
                    f"the kind of contributions is {result.kind!r}, expected 'shapley' or 'pullback'"
                )
            found, expected = result.standard_errors.shape, result.values.shape
            if found != expected:
                raise FormatError(f"standard_errors has the shape {found}, expected {expected}")


def _hints(kind: Any) -> dict[str, Any]:
    types = field_types(kind)
    return {each.name: types[each.name] for each in fields(kind)}


def _without_none(hint: Any) -> Any:
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return kinds[0] if len(kinds) < len(get_args(hint)) else hint


def _index_frame(origin: Origin) -> Frame | None:
    if origin.index is None:
        return None
    import pandas as pd

    return as_frame(pd.DataFrame({"index": pd.Series(origin.index.array)}))


def _pop(found: dict[str, Any], path: str) -> Any:
    if path not in found:
        raise FormatError(f"{path} is missing")
    return found.pop(path)


def _require_dtype(hint: Any, array: Array, path: str) -> Array:
    expected = [get_origin(kind) or kind for kind in get_args(get_args(hint)[1])]
    if expected and not issubclass(array.dtype.type, expected[0]):
        raise FormatError(f"{path} holds {array.dtype}, expected {expected[0].__name__}")
    return array

"""Results taken apart into named arrays and a head of plain values, and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from illume.data.frames import Frame, Origin, as_frame
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.data.typed_json import dump, dump_scalar, expect, expect_fields, read, read_scalar
from illume.errors import FormatError, MissingExtraError
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.rules import Rules

Array = np.ndarray[Any, Any]

KINDS: dict[str, type[Any]] = {
    "Attributions": Attributions,
    "Rules": Rules,
    "Counterfactuals": Counterfactuals,
}
PER_EXAMPLE = frozenset({"row", "changed", "after", "example_probabilities", "distance", "plausibility"})
SHARED = frozenset({"owner", "unit", "first", "mean", "scale"})  # the same for all rows


@dataclass(frozen=True)
class Apart:
    """A result as plain things.

    Parameters
    ----------
    kind
        The name of the result's class.
    rows, examples
        Arrays by the path of their field, with an entry per row, or per counterfactual example.
    shared
        Arrays that all rows share.
    plain
        All else as JSON values, by path.
    """

    kind: str
    rows: dict[str, Array] = field(default_factory=dict)
    examples: dict[str, Array] = field(default_factory=dict)
    shared: dict[str, Array] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Any) -> Apart:
        """Take a result apart."""
        apart = cls(result.__class__.__name__)
        apart._take(result, "")
        return apart

    def _take(self, value: Any, prefix: str) -> None:
        hints = get_type_hints(value.__class__)
        for each in fields(value):
            path, inner = f"{prefix}{each.name}", getattr(value, each.name)
            if isinstance(inner, np.ndarray):
                self._place(path)[path] = inner
            elif isinstance(inner, Origin):
                self._take_frame(f"{path}.index", _index_frame(inner))
                self.plain[f"{path}.backend"] = inner.backend
                self.plain[f"{path}.name"] = dump_scalar(getattr(inner.index, "name", None))
            elif hints[each.name] is Frame:
                self._take_frame(path, inner)
            elif is_dataclass(inner):
                self._take(inner, f"{path}.")
            elif inner is None:
                self.plain[path] = None
            else:
                self.plain[path] = dump(hints[each.name], inner)

    def _place(self, path: str) -> dict[str, Array]:
        if path.rpartition(".")[2] in SHARED:
            return self.shared
        return self.examples if self.kind == "Counterfactuals" and path in PER_EXAMPLE else self.rows

    def _take_frame(self, path: str, frame: Frame | None) -> None:
        arrays = ArrayWriter()
        described = None if frame is None else {"names": list(frame.names), **dump_frame(frame, arrays)}
        self.plain[path] = described
        for name, array in arrays.arrays.items():
            self.shared[f"{path}/{name}"] = array.T if name in arrays.transposed else array

    def together(self) -> Any:
        """Put the result together; whatever does not fit is a `FormatError`."""
        if self.kind not in KINDS:
            raise FormatError(f"the result is of kind {self.kind!r}, expected one of {sorted(KINDS)}")
        rest = Apart(self.kind, dict(self.rows), dict(self.examples), dict(self.shared), dict(self.plain))
        try:
            result = rest._make(KINDS[self.kind], "")
            left = [*rest.rows, *rest.examples, *rest.shared, *rest.plain]
            if left:
                raise FormatError(f"there are parts of no use: {left[:5]}")
            _require_lengths(self, result)
            _require_contributions(result)
            repr(result)  # whatever does not fit together fails here
        except (FormatError, MissingExtraError):
            raise
        except Exception as error:
            raise FormatError(f"the parts do not fit together ({error})") from error
        return result

    def _make(self, kind: type[Any], prefix: str) -> Any:
        hints = get_type_hints(kind)
        return kind(
            **{each.name: self._value(hints[each.name], f"{prefix}{each.name}") for each in fields(kind)}
        )

    def _value(self, hint: Any, path: str) -> Any:
        if type(None) in get_args(hint) and path not in self.plain:  # it may be None, and is not
            (hint,) = (each for each in get_args(hint) if each is not type(None))
        if get_origin(hint) is np.ndarray:
            return _fitting(hint, _popped(self._place(path), path), path)
        if hint is Origin:
            return self._origin(path)
        if hint is Frame:
            return self._frame(path)
        if is_dataclass(hint) and path.rpartition(".")[2] not in ("features",):
            return self._make(hint, f"{path}.")  # type: ignore[arg-type]
        return read(hint, _popped(self.plain, path), path)

    def _origin(self, path: str) -> Origin:
        frame, backend = self._frame(f"{path}.index"), _popped(self.plain, f"{path}.backend")
        name = read_scalar(_popped(self.plain, f"{path}.name"), path)
        if backend not in (None, "pandas", "polars", "pyarrow"):
            raise FormatError(f"{path}.backend is {backend!r}")
        if frame is None:
            return Origin(backend)
        import pandas as pd

        return Origin(backend, pd.Index(frame.native["index"], name=name))

    def _frame(self, path: str) -> Frame | None:
        described = _popped(self.plain, path)
        if described is None:
            return None
        names = expect(dict, described, path).get("names")
        rest = {name: each for name, each in described.items() if name != "names"}
        arrays = ArrayReader({}, path)
        for name in [name for name in self.shared if name.startswith(f"{path}/")]:
            arrays.arrays[name.removeprefix(f"{path}/")] = self.shared.pop(name)
        frame = read_frame(rest, arrays, expect(list, names, path))
        arrays.finish()
        return frame


def _index_frame(origin: Origin) -> Frame | None:
    if origin.index is None:
        return None
    import pandas as pd

    return as_frame(pd.DataFrame({"index": pd.Series(origin.index.array)}))


def _popped(found: dict[str, Any], path: str) -> Any:
    if path not in found:
        raise FormatError(f"{path} is missing")
    return found.pop(path)


def _fitting(hint: Any, array: Array, path: str) -> Array:
    """Return an array that must be of the type that its field has."""
    wanted = [get_origin(kind) or kind for kind in get_args(get_args(hint)[1])]
    if wanted and not issubclass(array.dtype.type, wanted[0]):
        raise FormatError(f"{path} holds {array.dtype}, expected {wanted[0].__name__}")
    return array


def _require_lengths(apart: Apart, result: Any) -> None:
    n = len(result)
    for path, array in apart.rows.items():
        if len(array) != n:
            raise FormatError(f"{path} has {len(array)} rows, expected {n}")
    row = apart.examples.get("row")
    for path, array in apart.examples.items():
        if row is None or len(array) != len(row):
            raise FormatError(f"{path} has {len(array)} examples, which does not fit")
    if row is not None and len(row) and not (row[0] >= 0 and row[-1] < n and (np.diff(row) >= 0).all()):
        raise FormatError("the rows of examples must ascend and be rows of the result")


def _require_contributions(result: Any) -> None:
    if not isinstance(result, Attributions):
        return
    if result.kind not in ("shapley", "pullback"):
        raise FormatError(f"the kind of contributions is {result.kind!r}, expected 'shapley' or 'pullback'")
    if result.standard_errors.shape != result.values.shape:
        found, wanted = result.standard_errors.shape, result.values.shape
        raise FormatError(f"standard_errors has the shape {found}, expected {wanted}")


def head_of(values: Any, names: Mapping[str, type]) -> tuple[Any, ...]:
    """Return what stands in a head under these names, each of its type."""
    found = expect_fields(values, tuple(names), "head")
    return tuple(expect(kind, each, name) for each, (name, kind) in zip(found, names.items(), strict=True))

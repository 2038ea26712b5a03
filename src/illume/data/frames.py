"""Frames of pandas, polars, Arrow and NumPy behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from illume._typing import FloatArray, IntArray
from illume.data.answers import is_missing
from illume.data.column_values import (
    Storage,
    common_type,
    numbers_of_values,
    stack,
    storage_of_values,
    taker,
)
from illume.errors import SchemaError, import_extra


class Frame(Protocol):
    """Rows with named columns; `native` is what a model is called with."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def native(self) -> Any: ...
    @property
    def origin(self) -> Origin: ...
    def __len__(self) -> int: ...
    def storage(self, name: str) -> Storage: ...
    def numbers(self, name: str) -> FloatArray: ...
    def block(self, names: Sequence[str]) -> np.ndarray[Any, Any] | None:
        """Return columns of numbers as one array, or None if that takes as long as one by one."""

    def labels(self, name: str) -> list[Hashable | None]: ...
    def select(self, names: Sequence[str]) -> Frame: ...
    def slice(self, start: int, stop: int) -> Frame: ...
    def take(self, index: IntArray) -> Frame: ...
    def with_columns(self, columns: Mapping[str, FloatArray | Frame]) -> Frame: ...
    def mixer(self, other: Frame) -> Mixer: ...


# From rows (n,), and the row of another frame that each of their values comes from (n, n_columns), -1 for
# their own, to these rows
Mixer = Callable[[IntArray, IntArray], Frame]


@dataclass(frozen=True, eq=False)
class Origin:
    """Library and index of the rows, for results that are frames."""

    backend: str | None = None
    index: Any = None

    def take(self, index: Any) -> Origin:
        """Keep some rows of the index."""
        return self if self.index is None else replace(self, index=self.index[index])

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Build a frame of the same library (pandas for NumPy rows) with the same index."""
        backend = self.backend or "pandas"
        import_extra(backend, backend)
        native = nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
        if self.index is not None:
            native.index = self.index
        return native


class IsFrame:
    """Base of frames that `as_frame` returns unchanged."""


def as_frame(data: Any) -> Frame:
    """Wrap the user's rows."""
    if isinstance(data, IsFrame):
        wrapped: Any = data
        return cast("Frame", wrapped)
    if isinstance(data, np.ndarray):
        return NumpyFrame.from_array(data)
    try:
        view = nw.from_native(data, eager_only=True)
    except DuplicateError as error:
        raise SchemaError(f"column names must be unique: {error}") from error
    except TypeError as error:
        raise SchemaError(
            f"rows must come as a pandas, polars or Arrow frame or a 2-D NumPy array, found "
            f"{type(data).__name__}; {_advice(type(data).__name__)}"
        ) from error
    names = tuple(str(name) for name in view.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"column names must be unique, found {twice!r} twice")
    return NarwhalsFrame(view, names)


def _advice(kind: str) -> str:
    by_kind = {"Series": "one row is frame.iloc[[0]]", "LazyFrame": "collect it first"}
    if kind in ("str", "PosixPath", "WindowsPath", "FileSystemDataset"):
        return "explainer.stream reads Parquet files and datasets piece by piece"
    return by_kind.get(kind, "make a data frame of it first")


def chunks(frame: Frame, size: int) -> Iterator[tuple[slice, Frame]]:
    """Yield pieces of at most `size` rows, each with its slice."""
    if size < 1:
        raise ValueError(f"a piece must hold at least one row, found {size}")
    for start in range(0, len(frame), size):
        stop = min(start + size, len(frame))
        yield slice(start, stop), frame.slice(start, stop)


@dataclass(frozen=True, eq=False)
class NarwhalsFrame(IsFrame):
    """A pandas, polars or Arrow frame seen through narwhals."""

    view: nw.DataFrame[Any]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.view)

    @property
    def native(self) -> Any:
        return self.view.to_native()

    @property
    def origin(self) -> Origin:
        backend = self.view.implementation
        return Origin(backend.value, nw.maybe_get_index(self.view))

    def _column(self, name: str) -> nw.Series[Any]:
        return self.view[:, self.names.index(name)]

    def storage(self, name: str) -> Storage:
        column = self._column(name)
        dtype = column.dtype
        if dtype.is_numeric():
            return Storage.NUMBER
        if dtype == nw.Boolean:
            return Storage.BOOLEAN
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return Storage.LABEL
        if dtype == nw.Object:
            return storage_of_values(self.labels(name))
        untyped = str(getattr(column.to_native(), "type", "")) == "null"  # as Arrow calls it
        if untyped or (len(self) and column.is_null().all()):  # a column without any value
            return Storage.NUMBER
        raise SchemaError(
            f"column {name!r} holds {dtype}, which is neither a number nor a category; "
            f"convert it (for instance to days since a date) or drop it"
        )

    def numbers(self, name: str) -> FloatArray:
        column = self._column(name)
        if column.dtype == nw.Object:
            return numbers_of_values(name, self.labels(name))
        if column.dtype.is_integer() and self.view.implementation.is_pyarrow():
            # Arrow refuses to cast whole numbers that a float cannot hold to the last digit.
            values = column.fill_null(0).to_numpy().astype(np.float64)
            return np.where(column.is_null().to_numpy(), np.nan, values)
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)

    def block(self, names: Sequence[str]) -> np.ndarray[Any, Any] | None:
        if not self.view.implementation.is_pandas():
            return None
        native = self.select(names).native
        plain = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in set(native.dtypes))
        return native.to_numpy(dtype=np.float64) if plain else None

    def labels(self, name: str) -> list[Hashable | None]:
        column = self._column(name)
        values: list[Hashable | None] = column.to_list()
        for i in np.flatnonzero(column.is_null().to_numpy()):
            values[i] = None
        return values

    def select(self, names: Sequence[str]) -> NarwhalsFrame:
        if tuple(names) == self.names:
            return self
        index = [self.names.index(name) for name in names]
        return NarwhalsFrame(self.view[:, index], tuple(names))

    def slice(self, start: int, stop: int) -> NarwhalsFrame:
        return replace(self, view=self.view[start:stop])

    def take(self, index: IntArray) -> NarwhalsFrame:
        return replace(self, view=self.view[index])

    def with_columns(self, columns: Mapping[str, FloatArray | Frame]) -> NarwhalsFrame:
        """Replace columns by numbers (kept in the column's own type) or by another frame's column."""
        view = nw.maybe_reset_index(self.view)
        replaced = [self._replacement(view, name, new) for name, new in columns.items()]
        return replace(self, view=view.with_columns(replaced))

    def mixer(self, other: Frame) -> Mixer:
        """Return a function that mixes rows with values of another frame, in its dtypes if possible."""
        if isinstance(other, NumpyFrame):
            columns = dict(zip(other.names, other.array.T.tolist(), strict=True))
            other = as_frame(nw.from_dict(columns, backend=self.view.implementation).to_native())
        theirs = cast(NarwhalsFrame, other)
        both = [stack(self._column(name), theirs._column(name)) for name in self.names]
        take = taker(dict(zip(self.view.columns, both, strict=True)))

        def mixed(mine: IntArray, source: IntArray) -> NarwhalsFrame:
            return replace(self, view=take(np.where(source >= 0, source, len(other) + mine[:, None])))

        return mixed

    def _replacement(self, view: nw.DataFrame[Any], name: str, new: FloatArray | Frame) -> nw.Series[Any]:
        old = view[:, self.names.index(name)]
        if isinstance(new, NarwhalsFrame):
            column = nw.maybe_reset_index(new.view)[:, new.names.index(name)]
        else:
            backend = view.implementation
            column = nw.new_series(old.name, new, nw.Float64, backend=backend)
            missing = column.is_nan()
            if old.dtype.is_integer():  # a missing integer is null, and rounding came before
                column = column.zip_with(~missing, old)
            column = column.cast(old.dtype) if old.dtype != nw.Object else column
        return column.alias(old.name)


@dataclass(frozen=True, eq=False)
class NumpyFrame(IsFrame):
    """A 2-D array with columns x0, x1 and so on."""

    array: np.ndarray[Any, Any]
    names: tuple[str, ...]
    origin: Origin = Origin()

    @classmethod
    def from_array(cls, array: np.ndarray[Any, Any]) -> NumpyFrame:
        """Check the shape and the type, and name the columns."""
        if array.ndim != 2:
            raise SchemaError(
                f"a NumPy array of rows must have 2 dimensions, found {array.ndim}; one row is array[None, :]"
            )
        if array.dtype.kind not in "fiubOUS":
            raise SchemaError(f"arrays of {array.dtype} cannot be explained; use numbers or strings")
        return cls(array, tuple(f"x{j}" for j in range(array.shape[1])))

    def __len__(self) -> int:
        return len(self.array)

    @property
    def native(self) -> np.ndarray[Any, Any]:
        return self.array

    def _column(self, name: str) -> np.ndarray[Any, Any]:
        return self.array[:, self.names.index(name)]

    def storage(self, name: str) -> Storage:
        match self.array.dtype.kind:
            case "f" | "i" | "u":
                return Storage.NUMBER
            case "b":
                return Storage.BOOLEAN
            case "U" | "S":
                return Storage.LABEL
        return storage_of_values(self.labels(name))

    def numbers(self, name: str) -> FloatArray:
        column = self._column(name)
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        return numbers_of_values(name, self.labels(name))

    def block(self, names: Sequence[str]) -> np.ndarray[Any, Any] | None:
        return self.select(names).array if self.array.dtype.kind in "fiub" else None

    def labels(self, name: str) -> list[Hashable | None]:
        values: list[Hashable | None] = self._column(name).tolist()
        return [None if is_missing(value) else value for value in values]

    def select(self, names: Sequence[str]) -> NumpyFrame:
        if tuple(names) == self.names:
            return self
        index = [self.names.index(name) for name in names]
        return NumpyFrame(self.array[:, index], tuple(names))

    def slice(self, start: int, stop: int) -> NumpyFrame:
        return replace(self, array=self.array[start:stop])

    def take(self, index: IntArray) -> NumpyFrame:
        return replace(self, array=self.array[index])

    def with_columns(self, columns: Mapping[str, FloatArray | Frame]) -> NumpyFrame:
        array = self.array.copy()
        for name, new in columns.items():
            j = self.names.index(name)
            array[:, j] = new._column(name) if isinstance(new, NumpyFrame) else new
        return replace(self, array=array)

    def mixer(self, other: Frame) -> Mixer:
        """Return a function that mixes rows with values of another frame, in a dtype that holds both."""
        values = other.native
        if not isinstance(other, NumpyFrame):
            values = other.select(self.names).native
            values = nw.from_native(values).to_numpy()
        dtype = common_type(self.array, values)

        def mixed(mine: IntArray, source: IntArray) -> NumpyFrame:
            array = self.array[mine].astype(dtype)
            row, column = np.nonzero(source >= 0)
            array[row, column] = values[source[row, column], column]
            return replace(self, array=array)

        return mixed

"""Arrays in safetensors, each read with the type and shape that it must have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume.data.limits import Budget
from illume.errors import FormatError

Array = np.ndarray[Any, Any]

# The types that a file may hold, by their names in safetensors
TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
}


class ArrayWriter:
    """Arrays by name, to be written to one member of a file."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.transposed: list[str] = []

    def add(self, name: str, array: Array) -> None:
        """Add an array; its memory order is kept, because sums depend on it."""
        array = np.asarray(array)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            self.transposed.append(name)
            array = array.T
        self.arrays[name] = np.ascontiguousarray(array)

    def to_bytes(self) -> bytes:
        """Return all arrays as safetensors."""
        from safetensors.numpy import save

        return save(self.arrays)


class ArrayReader:
    """Arrays of one member of a file; every array must be taken, with its expected type and shape."""

    def __init__(self, arrays: dict[str, Array], what: str, budget: Budget | None = None) -> None:
        self.arrays, self.what, self.budget = arrays, what, budget or Budget()

    @classmethod
    def from_bytes(
        cls, content: bytes, transposed: Sequence[str], what: str, budget: Budget | None = None
    ) -> ArrayReader:
        """Read safetensors; `budget` is what may still be made of them."""
        arrays = _parse(content, what)
        for name in transposed:
            if name in arrays and arrays[name].ndim == 2:
                arrays[name] = arrays[name].T
        return cls(arrays, what, budget)

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def take(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...] | None = None,
        *,
        finite: bool = True,
        nan: bool = False,
    ) -> Array:
        """Return an array of this type, or kind of types, and shape (None is any length), all finite.

        With `nan` it may hold NaN; unless it is `finite`, both, as rows of users do.
        """
        if name not in self.arrays:
            raise FormatError(f"{self.what}: {name} is missing")
        array = self.arrays.pop(name)
        if not np.issubdtype(array.dtype, dtype):
            wanted = getattr(dtype, "__name__", dtype)
            raise FormatError(f"{self.what}: {name} holds {array.dtype}, expected {wanted}")
        if shape is not None and not (
            len(array.shape) == len(shape)
            and all(wanted in (None, found) for found, wanted in zip(array.shape, shape, strict=True))
        ):
            raise FormatError(f"{self.what}: {name} has shape {array.shape}, expected {shape}")
        if finite and array.dtype.kind == "f":
            wrong = np.isinf(array) if nan else ~np.isfinite(array)
            what = "infinity" if nan else "NaN or infinity"
            self.require(not wrong.any(), f"{name} holds {what}, which it never does")
        return array

    def positions(self, name: str, shape: tuple[int | None, ...], low: int, high: int) -> Array:
        """Return integers from `low` to below `high`."""
        array = self.take(name, np.int64, shape)
        self.require(
            not array.size or bool(low <= array.min() and array.max() < high),
            f"{name} must lie from {low} to {high - 1}",
        )
        return array

    def require(self, holds: bool, message: str) -> None:
        """Raise `FormatError` unless something holds."""
        if not holds:
            raise FormatError(f"{self.what}: {message}")

    def finish(self) -> None:
        """Raise `FormatError` if arrays are left that nobody took."""
        if self.arrays:
            raise FormatError(f"{self.what}: unexpected arrays {sorted(self.arrays)[:5]}")


def _parse(content: bytes, what: str) -> dict[str, Array]:
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(content)
    except (SafetensorError, ValueError, TypeError) as error:
        raise FormatError(f"{what} is not valid safetensors ({error})") from error
    arrays = {}
    for name, entry in found:
        if entry["dtype"] not in TYPES:
            raise FormatError(f"{what}: {name} holds {entry['dtype']}, which illume files never do")
        flat = np.frombuffer(entry["data"], dtype=TYPES[entry["dtype"]])
        if flat.dtype == np.bool_ and (flat.view(np.uint8) > 1).any():
            raise FormatError(f"{what}: {name} holds booleans that are neither true nor false")
        arrays[name] = flat.reshape(entry["shape"])
    return arrays

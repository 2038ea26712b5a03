"""Plain arrays in safetensors, each read with the type and shape that it must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from illume.errors import FormatError

Array = np.ndarray[Any, Any]

# What a file may hold, by safetensors' names
TYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "U16": np.dtype(np.uint16),
    "U32": np.dtype(np.uint32),
    "U64": np.dtype(np.uint64),
    "I8": np.dtype(np.int8),
    "I16": np.dtype(np.int16),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
}


class ArrayWriter:
    """Arrays by name, on their way into a member."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.transposed: list[str] = []

    def add(self, name: str, array: Array) -> None:
        """Take an array; one that lies in memory by columns comes back so, for sums depend on that."""
        array = np.asarray(array)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            self.transposed.append(name)
            array = array.T
        self.arrays[name] = np.ascontiguousarray(array)

    def content(self) -> bytes:
        """Return all arrays as safetensors."""
        from safetensors.numpy import save

        return save(self.arrays)


class ArrayReader:
    """Arrays of a member, each of which must be asked for, with what is known of it."""

    def __init__(self, content: bytes, transposed: Sequence[str], what: str) -> None:
        self.what, self.transposed = what, set(transposed)
        self.arrays = _parsed(content, what)

    @classmethod
    def none(cls, what: str) -> ArrayReader:
        """Return a reader of nothing."""
        reader = cls.__new__(cls)
        reader.what, reader.transposed, reader.arrays = what, set(), {}
        return reader

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def names(self, prefix: str) -> list[str]:
        """Return the names of arrays that begin so, without that beginning."""
        return [name.removeprefix(prefix) for name in self.arrays if name.startswith(prefix)]

    def take(self, name: str, dtype: Any, shape: tuple[int | None, ...], *, finite: bool = True) -> Array:
        """Return an array that must have this type and shape (None is any length) and no NaN or infinity."""
        array = self.any(name)
        if array.dtype != np.dtype(dtype):
            raise FormatError(f"{self.what}: {name} holds {array.dtype}, expected {np.dtype(dtype)}")
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, found) for found, wanted in zip(array.shape, shape, strict=True)
        )
        if not fits:
            raise FormatError(f"{self.what}: {name} has shape {array.shape}, expected {shape}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FormatError(f"{self.what}: {name} holds NaN or infinity, which it never does")
        return array

    def positions(self, name: str, shape: tuple[int | None, ...], low: int, high: int) -> Array:
        """Return whole numbers from `low` to below `high`."""
        array = self.take(name, np.int64, shape)
        if array.size and not (low <= array.min() and array.max() < high):
            raise FormatError(f"{self.what}: {name} must lie from {low} to {high - 1}")
        return array

    def any(self, name: str) -> Array:
        """Return an array of any type and shape."""
        if name not in self.arrays:
            raise FormatError(f"{self.what}: {name} is missing")
        array = self.arrays.pop(name)
        return array.T if name in self.transposed and array.ndim == 2 else array

    def require(self, holds: bool, found: str) -> None:
        """Refuse what does not hold."""
        if not holds:
            raise FormatError(f"{self.what}: {found}")

    def finish(self) -> None:
        """Refuse arrays that nobody asked for."""
        if self.arrays:
            raise FormatError(f"{self.what}: there are arrays of no use: {sorted(self.arrays)[:5]}")


def _parsed(content: bytes, what: str) -> dict[str, Array]:
    from safetensors import SafetensorError, deserialize

    try:
        found: list[tuple[str, Mapping[str, Any]]] = deserialize(content)
    except (SafetensorError, ValueError, TypeError) as error:
        raise FormatError(f"{what} is not valid safetensors ({error})") from error
    arrays = {}
    for name, entry in found:
        if entry["dtype"] not in TYPES:
            raise FormatError(f"{what}: {name} holds {entry['dtype']}, which files of illume never do")
        flat = np.frombuffer(bytearray(entry["data"]), dtype=TYPES[entry["dtype"]])
        if flat.dtype == np.bool_ and (flat.view(np.uint8) > 1).any():
            raise FormatError(f"{what}: {name} holds booleans that are neither true nor false")
        arrays[name] = flat.reshape(entry["shape"])
    return arrays

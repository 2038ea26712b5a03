"""The rows of a result as a Parquet table, whose memory is known before it is read.

Columns hold numbers only, so that a value takes as many bytes in memory as its type says, however the file is
compressed. Texts and other values are numbered; the head lists them. Before the footer stands the
SHA-256 of all the rest; it is checked first, because Arrow may crash on damaged files. Others skip it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from illume.data.limits import Budget
from illume.data.typed_json import dump_scalar
from illume.errors import FormatError, import_extra

HEAD, DIGEST, ENDING = b"illume", 32, 8
CODE = np.uint32
CODECS = ("SNAPPY", "UNCOMPRESSED")
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "FIXED_LEN_BYTE_ARRAY": 2}
LEVELS = 16  # bytes for the ends of lists, and for what is missing
MAX_FOOTER = 2**31 - 1

Array = np.ndarray[Any, Any]
Arrays = dict[str, dict[str, Array]]  # by axis, and by the path of the field (`trust.share`)


def number_values(array: Array) -> tuple[Array, list[Any]]:
    """Return where each value of an object array stands in a list of different values, and that list.

    >>> number_values(np.array(["b", 1, "b"], dtype=object))
    (array([0, 1, 0], dtype=uint32), ['b', 1])
    """
    numbers: dict[str, int] = {}
    listed = [dump_scalar(value) for value in array.ravel().tolist()]
    codes = [numbers.setdefault(json.dumps(value), len(numbers)) for value in listed]
    return np.array(codes, dtype=CODE).reshape(array.shape), [json.loads(text) for text in numbers]


def to_parquet(arrays: Arrays, head: bytes) -> bytes:
    """Return a table with a line per row; several numbers per row, and its examples, are lists."""
    pa = import_extra("pyarrow", "pyarrow")
    n, columns = len(next(iter(arrays["rows"].values()))), {}
    row = arrays["examples"].get("row", np.empty(0, dtype=np.intp))
    counts = {"rows": np.ones(n, dtype=np.intp), "examples": np.bincount(row, minlength=n)}
    for axis, path, array in ((key, *each) for key in counts for each in arrays[key].items()):
        column = pa.array(array.ravel())
        if axis == "examples" or array.ndim > 1:
            offsets = np.append(0, np.cumsum(counts[axis] * math.prod(array.shape[1:])))
            column = pa.LargeListArray.from_arrays(pa.array(offsets, type=pa.int64()), column)
        columns[column_name(axis, path)] = column
    return write_table(pa.table(columns), head)


def write_table(table: Any, head: bytes) -> bytes:
    """Return a table and a head as Parquet, with a digest of both."""
    pq, buffer = import_extra("pyarrow.parquet", "pyarrow"), io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema, compression="snappy", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({HEAD: head})
    content = buffer.getvalue()
    start = len(content) - _footer_bytes(content[-ENDING:])
    return b"".join([content[:start], hashlib.sha256(content).digest(), content[start:]])


def _footer_bytes(ending: bytes) -> int:
    """Return the size of the footer and what follows: its length in four bytes, and a mark."""
    return int.from_bytes(ending[:4], "little") + ENDING


def column_name(axis: str, path: str) -> str:
    """Return the name of the column of an array."""
    return f"examples.{path}" if axis == "examples" else path


class ResultTable:
    """A Parquet file of a result; its sizes are checked when it is opened."""

    def __init__(self, path: str | os.PathLike[str], budget: Budget) -> None:
        pq = import_extra("pyarrow.parquet", "pyarrow")
        size = os.stat(path).st_size
        budget.spend(size, f"reading {Path(path).name}")
        _require_digest(path)
        try:
            self.file = pq.ParquetFile(path, thrift_string_size_limit=min(size + 1, MAX_FOOTER))
        except Exception as error:  # Arrow has many errors of its own
            raise FormatError(f"this is no Parquet file, or a damaged one ({error})") from error
        about = self.file.metadata
        if HEAD not in (about.metadata or {}):
            raise FormatError("this is a Parquet file, but no result of illume")
        self.head: bytes = about.metadata[HEAD]
        budget.spend(_memory(about), f"its {about.num_rows:,} rows of {about.num_columns} columns")
        self._table: Any = None

    def column(self, name: str) -> Array:
        """Return all numbers of a column."""
        if name not in self.file.schema_arrow.names:
            raise FormatError(f"the column {name} is missing")
        try:
            if self._table is None:
                self._table = self.file.read()
            column = self._table[name].combine_chunks()
            flat = column.flatten() if hasattr(column.type, "value_type") else column
            values = np.array(flat.to_numpy(zero_copy_only=False))
        except Exception as error:  # Arrow has many errors of its own
            raise FormatError(f"the column {name} cannot be read ({error})") from error
        if flat.null_count:
            raise FormatError(f"{name} holds missing values")
        return values


def _require_digest(path: str | os.PathLike[str]) -> None:
    content = Path(path).read_bytes()
    at = len(content) - _footer_bytes(content[-ENDING:]) - DIGEST
    found, rest = content[max(at, 0) : max(at + DIGEST, 0)], memoryview(content)
    if at < 0 or found != hashlib.sha256(b"".join([rest[:at], rest[at + DIGEST :]])).digest():
        raise FormatError(
            "this Parquet file is no result of illume, or it was changed or damaged after it was saved (its "
            "digest differs); save it again"
        )


def _memory(about: Any) -> int:
    """Return how many bytes the columns of a file take; raise if that cannot be known."""
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    total = 8 * int(about.num_rows)
    for chunk in (group.column(j) for group in groups for j in range(group.num_columns)):
        if chunk.physical_type not in WIDTHS or chunk.compression not in CODECS:
            kind = f"{chunk.physical_type}, {chunk.compression}"
            raise FormatError(f"the column {chunk.path_in_schema} is of {kind}, which illume never writes")
        total += (2 * WIDTHS[chunk.physical_type] + LEVELS) * int(chunk.num_values)
    return total

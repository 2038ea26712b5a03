"""The columns of a partition's explanations: the same names and types whatever its rows are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume.errors import MissingExtraError

DDL = {
    "bool": "boolean",
    "double": "double",
    "float": "float",
    "int32": "int",
    "int64": "bigint",
    "large_string": "string",
    "string": "string",
}


def arrow() -> Any:
    """Return pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "pyarrow") from error
    return pa


@dataclass(frozen=True)
class Column:
    """One column: its name, its Arrow type, and all its values where it holds few texts.

    Parameters
    ----------
    type
        The name of an Arrow type.
    values
        The texts that positions stand for, where the column is dictionary-encoded.
    """

    name: str
    type: str
    values: tuple[str, ...] = ()

    def arrow_type(self) -> Any:
        """Return the type as Arrow knows it."""
        pa = arrow()
        return pa.dictionary(pa.int32(), pa.string()) if self.values else getattr(pa, _maker(self.type))()

    def array(self, found: Any) -> Any:
        """Return an Arrow array of a NumPy array or a list; positions become the texts they stand for."""
        pa = arrow()
        if self.values:
            return pa.DictionaryArray.from_arrays(np.asarray(found, dtype=np.int32), pa.array(self.values))
        if isinstance(found, (pa.Array, pa.ChunkedArray)):
            return found
        return pa.array(found, type=self.arrow_type())


@dataclass(frozen=True)
class Columns:
    """The columns of one kind of explanation, and those that are carried through before them.

    Parameters
    ----------
    own
        What explaining adds.
    kept
        Names and Arrow types of columns of the rows themselves, and what they are called in the output.
    """

    own: tuple[Column, ...]
    kept: tuple[tuple[str, str, Any], ...] = ()

    @classmethod
    def of(cls, about: Sequence[Column], features: Sequence[Column], keep: Mapping[str, Any]) -> Columns:
        """Tell columns apart: what is said about a row gives way to features, kept columns to both."""
        taken = {column.name for column in features}
        renamed = []
        for column in about:
            renamed.append(replace(column, name=free(column.name, taken)))
            taken.add(renamed[-1].name)
        kept = []
        for name, kind in keep.items():
            kept.append((name, free(name, taken), kind))
            taken.add(kept[-1][1])
        return cls((*renamed, *features), tuple(kept))

    def schema(self) -> Any:
        """Return the Arrow schema."""
        pa = arrow()
        kept = [(name, kind) for _, name, kind in self.kept]
        return pa.schema([*kept, *((column.name, column.arrow_type()) for column in self.own)])

    def table(self, found: Sequence[Any], kept: Sequence[Any]) -> Any:
        """Return the Arrow table of one array per column."""
        pa = arrow()
        own = [column.array(each) for column, each in zip(self.own, found, strict=True)]
        return pa.Table.from_arrays([*kept, *own], schema=self.schema())

    def empty(self) -> Any:
        """Return a table without rows that still knows its texts."""
        pa = arrow()
        found: list[Any] = [np.empty(0, dtype=np.int32) if column.values else [] for column in self.own]
        return self.table(found, [pa.array([], type=kind) for _, _, kind in self.kept])


def free(name: str, taken: Iterable[str]) -> str:
    """Return the name, with underscores until it is not taken.

    >>> free("status", {"status", "age"})
    'status_'
    """
    while name in taken:
        name += "_"
    return name


def plain_texts(table: Any) -> Any:
    """Return a table whose dictionary-encoded texts are plain ones."""
    pa = arrow()
    schema = pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
    )
    return table.cast(schema)


def ddl(schema: Any) -> str:
    """Return an Arrow schema in the words of Spark; a dictionary-encoded text is a string.

    >>> import pyarrow as pa
    >>> ddl(pa.schema([("age", pa.float64()), ("a `b`", pa.dictionary(pa.int32(), pa.string()))]))
    '`age` double, `a ``b``` string'
    """
    words = []
    for field in schema:
        kind = getattr(field.type, "value_type", field.type)
        quoted = field.name.replace("`", "``")
        words.append(f"`{quoted}` {DDL.get(str(kind), str(kind))}")
    return ", ".join(words)


def _maker(kind: str) -> str:
    return {"double": "float64", "float": "float32", "bool": "bool_"}.get(kind, kind)

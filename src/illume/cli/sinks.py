"""Where explanations go: CSV, JSON or Parquet, to a file that is replaced at once, or to stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from illume.cli.writing import as_json
from illume.data.archive import atomic_path
from illume.errors import MissingExtraError

SUFFIXES = (".parquet", ".csv", ".json", ".jsonl")


class Sink(Protocol):
    """Takes the pieces of a result; `nested` ones take records, the others frames."""

    nested: bool

    def add(self, piece: Any) -> None:
        """Take the next piece."""

    def end(self) -> None:
        """Write what is left to write."""


class CsvSink:
    """A line per row, the names of the columns first."""

    nested = False

    def __init__(self, stream: IO[str]) -> None:
        self.stream, self.header = stream, True

    def add(self, piece: Any) -> None:
        """Write a frame."""
        piece.to_csv(self.stream, index=False, header=self.header)
        self.header = False

    def end(self) -> None:
        """Nothing is left to write."""


class JsonLinesSink:
    """A record per line."""

    nested = True

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def add(self, piece: list[dict[str, Any]]) -> None:
        """Write records."""
        self.stream.writelines(f"{as_json(record)}\n" for record in piece)

    def end(self) -> None:
        """Nothing is left to write."""


class JsonSink:
    """One array of records."""

    nested = True

    def __init__(self, stream: IO[str]) -> None:
        self.stream, self.before = stream, "[\n"

    def add(self, piece: list[dict[str, Any]]) -> None:
        """Write records."""
        for record in piece:
            self.stream.write(f"{self.before}{as_json(record)}")
            self.before = ",\n"

    def end(self) -> None:
        """Close the array."""
        self.stream.write("[]\n" if self.before == "[\n" else "\n]\n")


class ParquetSink:
    """A table, written when all pieces are there."""

    nested = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pieces: list[Any] = []

    def add(self, piece: Any) -> None:
        """Keep a frame."""
        self.pieces.append(piece)

    def end(self) -> None:
        """Write them all."""
        import pandas as pd

        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "cli") from error
        table = pd.concat(self.pieces, ignore_index=True) if self.pieces else pd.DataFrame()
        table.to_parquet(self.path, engine="pyarrow", index=False)


@contextmanager
def opened(path: Path | None, json: bool = False) -> Iterator[Sink]:
    """Yield where pieces go: stdout without a path, else by the path's suffix."""
    if path is None:
        sink: Sink = JsonLinesSink(sys.stdout) if json else CsvSink(sys.stdout)
        yield sink
        sink.end()
        return
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            sink = ParquetSink(temporary)
            yield sink
            sink.end()
            return
        kinds: dict[str, Callable[[IO[str]], Sink]] = {
            ".csv": CsvSink,
            ".json": JsonSink,
            ".jsonl": JsonLinesSink,
        }
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            sink = kinds[path.suffix.lower()](stream)
            yield sink
            sink.end()

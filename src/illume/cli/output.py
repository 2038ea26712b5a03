"""Results as CSV, JSON or Parquet, in files that are replaced at once or on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import typer

from illume.cli.messages import CommandError, UsageError
from illume.data.archive import atomic_path
from illume.errors import import_extra

if TYPE_CHECKING:
    from illume.data.schema import Schema

Kind = Literal["attributions", "rules", "counterfactuals"]
JSON = (".json", ".jsonl")
SUFFIXES = (".parquet", ".csv", *JSON)


def require_output(path: Path, suffixes: tuple[str, ...], *inputs: Path | None) -> None:
    """Raise if an output cannot be written or is one of the inputs."""
    if not path.name.lower().endswith(suffixes):
        raise UsageError(f"the output {path} must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise CommandError(f"the output {path} is a folder; name a file in it")
    if not path.resolve().parent.is_dir():
        raise CommandError(f"the folder of the output {path} does not exist; create it first")
    for given in inputs:
        if given is not None and given.exists() and path.exists() and given.samefile(path):
            raise UsageError(f"the output {path} is also an input; name another file")


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON text in which NaN and infinity are null.

    >>> as_json({"r2": float("nan"), "name": "größer"})
    '{"r2":null,"name":"größer"}'
    """
    from pydantic_core import to_json

    fallback = lambda value: value.item() if hasattr(value, "item") else str(value)  # noqa: E731
    return to_json(value, indent=indent, inf_nan_mode="null", fallback=fallback).decode()


def print_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    typer.echo(as_json(value, indent=2))


def write(pieces: Iterable[Any], path: Path | None, json: bool = False) -> None:
    """Write frames, or records for JSON, to a file by its suffix, or to stdout."""
    if path is None:
        _write_text(pieces, sys.stdout, ".jsonl" if json else ".csv")
        return
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(pieces, temporary)
            return
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            _write_text(pieces, stream, suffix)


def _write_text(pieces: Iterable[Any], stream: IO[str], suffix: str) -> None:
    if suffix == ".json":
        stream.write(f"{as_json([record for records in pieces for record in records])}\n")
        return
    for i, piece in enumerate(pieces):
        if suffix == ".csv":
            piece.to_csv(stream, index=False, header=i == 0)
        else:
            stream.writelines(f"{as_json(record)}\n" for record in piece)


def _write_parquet(frames: Iterable[Any], path: Path) -> None:
    """Write one table; its column types are those of all rows together."""
    import pandas as pd

    import_extra("pyarrow", "cli")
    pd.concat(list(frames), ignore_index=True).to_parquet(path, engine="pyarrow", index=False)


@dataclass(frozen=True, eq=False)
class Layout:
    """Lays out every piece of a result with the same columns."""

    kind: Kind
    long: bool  # a line per row and feature (condition, change) instead of one per row (example)
    kept: Any  # a pandas frame with the columns of all explained rows to copy
    schema: Schema

    def frame(self, piece: Any) -> Any:
        """Return a pandas frame with the rows' positions in its first column."""
        table = piece.to_frame("long" if self.long else "wide")
        if not self.long and self.kind == "counterfactuals":
            table = self._typed_changes(table, piece)
        elif not self.long:
            self._insert_outputs(table, piece)
        position = table.iloc[:, 0].to_numpy()
        for i, name in enumerate(self.kept.columns):
            _insert(table, 1 + i, name, self.kept[name].iloc[position].to_numpy())
        return table.reset_index(drop=True)

    def records(self, piece: Any) -> list[dict[str, Any]]:
        """Return a record per row."""
        records = []
        for position, result in zip(piece.origin.index.tolist(), piece, strict=True):
            kept = {"kept": self.kept.iloc[position].to_dict()} if len(self.kept.columns) else {}
            records.append({"row": position} | kept | result.to_dict())
        return records

    def _insert_outputs(self, table: Any, piece: Any) -> None:
        """Insert the row's position, whether the model was missing, and the explained class."""
        if self.kind == "attributions":
            names = piece.output_names
            outputs = names * len(piece) if len(names) == 1 else [names[c] for c in piece.decisions]
            base = _free_name("base_value", self.schema.names)
            _insert(table, table.columns.get_loc(base), "output", list(outputs))
        _insert(table, 0, "stand_in", piece.stand_in)
        _insert(table, 0, "row", table.index)

    def _typed_changes(self, table: Any, piece: Any) -> Any:
        """Give every feature a column of one type; what does not change is missing."""
        import pandas as pd

        from illume.results.text import format_value

        columns = {name: table[name] for name in table.columns if name not in self.schema.names}
        for j, feature in enumerate(self.schema.features):
            show, dtype = ((lambda value: value), "float64") if feature.numeric else (format_value, "str")
            pairs = zip(piece.after[:, j], piece.changed[:, j], strict=True)
            values = [show(value) if changed else None for value, changed in pairs]
            columns[feature.name] = pd.Series(values, dtype=dtype)
        return pd.DataFrame(columns)


def _insert(table: Any, position: int, name: str, values: Any) -> None:
    table.insert(position, _free_name(name, table.columns), values)


def _free_name(name: str, taken: Any) -> str:
    """Append underscores to a name until it is not taken."""
    while name in taken:
        name += "_"
    return name

"""Rows from a CSV or Parquet file, as a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from illume.cli.csv_files import CSV, STDIN, Reading, Say, read_csv
from illume.cli.errors import CommandError
from illume.errors import MissingExtraError, SchemaError

PARQUET = (".parquet", ".pq")


def read_rows(path: Path, reading: Reading | None = None, say: Say | None = None) -> Any:
    """Return the rows of a file, numbered from 0.

    Parameters
    ----------
    path
        Ends in .csv, .tsv (both also with .gz), .parquet or .pq; `-` is CSV from stdin.
    reading
        How the cells of CSV are read.
    say
        Is told what cells of CSV were taken for by their looks.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "cli") from error
    if path != STDIN and not path.is_file():
        raise CommandError(
            f"{path} {'is a folder' if path.is_dir() else 'does not exist'}; expected a file of rows"
        )
    name = path.name.lower()
    if path == STDIN or name.endswith(CSV):
        frame = read_csv(path, reading or Reading(), say)
    elif name.endswith(PARQUET):
        frame = _parquet(pd, path)
    else:
        raise CommandError(f"{path} is of no known kind; expected .csv, .csv.gz, .tsv or .parquet")
    frame.columns = [str(column) for column in frame.columns]
    return frame


def require(frame: Any, names: Iterable[str], option: str) -> None:
    """Refuse names that are no columns of a frame, and suggest the nearest."""
    require_names(frame.columns, names, option)


def require_names(columns: Iterable[str], names: Iterable[str], option: str) -> None:
    """Refuse names that are none of the columns, and suggest the nearest."""
    from illume.data.schema import describe_unknown

    columns = list(columns)
    for name in names:
        if name not in columns:
            raise SchemaError(f"{option} names {describe_unknown(name, columns)}")


def _parquet(pd: Any, path: Path) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "cli") from error
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (pa.ArrowException, ValueError) as error:
        raise CommandError(f"{path} cannot be read as Parquet: {error}") from error
    # A named index is a column like others; one without a name only counts the rows.
    return frame.reset_index(drop=all(name is None for name in frame.index.names))

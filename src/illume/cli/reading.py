"""Rows from a CSV or Parquet file, as a pandas frame."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from illume.cli.errors import CommandError
from illume.errors import MissingExtraError, SchemaError

SEPARATORS = (",", ";", "\t", "|")
STDIN = Path("-")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")


def read_rows(path: Path, texts: Iterable[str] = ()) -> Any:
    """Return the rows of a file, numbered from 0.

    Parameters
    ----------
    path
        Ends in .csv, .tsv (both also with .gz), .parquet or .pq; `-` is CSV from stdin.
    texts
        Columns to read as text, even where all their values look like numbers.
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
        frame = _csv(pd, path, texts)
    elif name.endswith(PARQUET):
        frame = _parquet(pd, path)
    else:
        raise CommandError(f"{path} is of no known kind; expected .csv, .csv.gz, .tsv or .parquet")
    frame.columns = [str(column) for column in frame.columns]
    return frame


def separator(header: str) -> str:
    r"""Return what stands most often between the names of a header; a comma where others do not more often.

    >>> separator("age;income;job"), separator("age"), separator("a,b;c"), separator("a\tb")
    (';', ',', ',', '\t')
    >>> separator('a,"b; c; d"')
    ','
    """
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def require(frame: Any, names: Iterable[str], option: str) -> None:
    """Refuse names that are no columns of a frame, and suggest the nearest."""
    require_names(frame.columns, names, option)


def require_names(columns: Iterable[str], names: Iterable[str], option: str) -> None:
    """Refuse names that are none of the columns, and suggest the nearest."""
    from illume.data.schema import unknown_name

    columns = list(columns)
    for name in names:
        if name not in columns:
            raise SchemaError(f"{option} names {unknown_name(name, columns)}")


def _csv(pd: Any, path: Path, texts: Iterable[str]) -> Any:
    source = sys.stdin.buffer if path == STDIN else path
    named = "stdin" if path == STDIN else str(path)
    dtype = dict.fromkeys(texts, "str")
    try:
        sep = "," if path == STDIN else separator(_header(path))
        return pd.read_csv(source, sep=sep, dtype=dtype, low_memory=False, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{named} is not UTF-8 text (byte {error.start}); save it as CSV in UTF-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise CommandError(f"{named} is empty; expected a line of column names and rows below it") from error
    except (pd.errors.ParserError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise CommandError(f"{named} cannot be read as CSV: {error}") from error


def _header(path: Path) -> str:
    import gzip

    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig") as file:
        return str(file.readline())


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

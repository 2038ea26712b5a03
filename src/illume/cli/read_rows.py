"""Rows of CSV and Parquet files as pandas frames."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from illume.cli.messages import CommandError, UsageError
from illume.cli.options import Names, split_names
from illume.data.limits import VARIABLE, most_bytes
from illume.data.table_files import CSV, is_csv, is_parquet
from illume.errors import SchemaError, import_extra

STDIN = Path("-")
LEAST_LIMIT, LEAST_RATIO = 2**28, 100  # bytes of a decompressed CSV that are allowed, or times its size
SEPARATORS = (",", ";", "\t", "|")
MISSING = (  # words that pandas reads as missing
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
    *("None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)


def read_rows(
    path: Path,
    *,
    text: Names = None,
    missing: Names = None,
    categories: Mapping[str, Iterable[Any]] | None = None,
) -> Any:
    """Return the rows of a CSV or Parquet file, as pandas reads them.

    Parameters
    ----------
    text
        Columns of CSV that are text, whatever they look like.
    missing
        Words of CSV for a missing value, besides empty cells; by default `MISSING`.
    categories
        The known categories of columns; where one is text, all are, and none of them is missing.
    """
    pd = import_extra("pandas", "cli")
    if path != STDIN and not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise CommandError(f"{path} {found}; expected a file of rows")
    if path == STDIN or is_csv(path):
        known = {
            name: [each for each in values if isinstance(each, str)]
            for name, values in (categories or {}).items()
        }
        frame = _read_csv(pd, path, text, MISSING if missing is None else split_names(missing), known)
    elif is_parquet(path):
        frame = _read_parquet(pd, path)
    else:
        raise CommandError(f"{path} is of an unknown type; expected {', '.join(CSV)} or .parquet")
    frame.columns = [str(column) for column in frame.columns]
    return frame


def require_csv(path: Path, *options: Any) -> None:
    """Raise if any option of CSV is given for Parquet."""
    if is_parquet(path) and any(option is not None for option in options):
        raise UsageError("--text and --missing are for CSV; Parquet files have column types")


def require_names(columns: Iterable[str], names: Iterable[str], option: str) -> None:
    """Raise if a name is not a column, and suggest the nearest."""
    from illume.data.schema import describe_unknown

    columns = list(columns)
    for name in names:
        if name not in columns:
            raise SchemaError(f"{option} names {describe_unknown(name, columns)}")


def file_name(path: Path) -> str:
    """Return the name of a file of rows for messages."""
    return "stdin" if path == STDIN else str(path)


def _read_parquet(pd: Any, path: Path) -> Any:
    pa = import_extra("pyarrow", "cli")
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (pa.ArrowException, ValueError) as error:
        raise CommandError(f"{path} cannot be read as Parquet: {error}") from error
    # A named index is a column; an unnamed one only counts the rows.
    return frame.reset_index(drop=all(name is None for name in frame.index.names))


def _read_csv(
    pd: Any, path: Path, text: Names, missing: Sequence[str], known: Mapping[str, Sequence[str]]
) -> Any:
    name = file_name(path)
    with _csv_errors(pd, name):
        content = _read_text(path)
        header = re.sub(r'"[^"]*"', "", content.partition("\n")[0])
        separator = max(SEPARATORS, key=header.count)
        _require_names_once(next(csv.reader(io.StringIO(content, newline=""), delimiter=separator), []), name)
        # Without index_col=False, the first field is an index if lines are longer than the header.
        options: dict[str, Any] = {"sep": separator, "index_col": False, "low_memory": False}
        columns = pd.read_csv(io.StringIO(content), nrows=0, **options).columns.tolist()
        texts = {*split_names(text, columns), *(column for column in columns if known.get(column))}
        return pd.read_csv(
            io.StringIO(content),
            dtype=dict.fromkeys(texts & set(columns), "str"),
            keep_default_na=False,
            na_values={column: ["", *(set(missing) - set(known.get(column, ())))] for column in columns},
            **options,
        )


def _read_text(path: Path) -> str:
    content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    if path.name.lower().endswith(".gz"):
        content = _decompress(content, path)
    return content.decode("utf-8-sig")


def _decompress(content: bytes, path: Path) -> bytes:
    """Return the content of a gzip file; raise if it is far more than its size lets expect."""
    most = most_bytes()
    if VARIABLE not in os.environ:
        most = min(most, max(LEAST_RATIO * len(content), LEAST_LIMIT))
    with gzip.open(io.BytesIO(content)) as stream:
        found = stream.read(int(min(most, 2**62)) + 1)
    if len(found) > most:
        raise CommandError(
            f"{path}, of {len(content) / 1e6:,.1f} MB, is more than the limit of {most / 1e6:,.0f} MB when "
            f"it is decompressed; if you trust it, set {VARIABLE}, for example to 8e9"
        )
    return found


def _require_names_once(names: Iterable[str], name: str) -> None:
    twice = [repr(column) for column, n in Counter(names).items() if n > 1 and column]
    if twice:
        raise CommandError(
            f"{name} names {', '.join(twice[:5])} for more than one column; rename or remove all but one"
        )


@contextmanager
def _csv_errors(pd: Any, name: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.ParserWarning as error:
        raise CommandError(
            f"{name} has lines with more fields than the header names columns; name every column, or remove "
            f"the extra fields"
        ) from error
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{name} is not UTF-8 text (byte {error.start}); save it as CSV in UTF-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise CommandError(f"{name} is empty; expected a line of column names and rows below it") from error
    except (pd.errors.ParserError, csv.Error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise CommandError(f"{name} cannot be read as CSV: {error}") from error

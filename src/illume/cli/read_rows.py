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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from illume.cli.messages import CommandError, UsageError
from illume.cli.options import split_names
from illume.data.limits import VARIABLE, most_bytes
from illume.errors import SchemaError, import_extra

STDIN = Path("-")
LEAST_LIMIT, LEAST_RATIO = 2**28, 100  # bytes of a decompressed CSV that are allowed, or times its size
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
SEPARATORS = (",", ";", "\t", "|")
MISSING = (  # as pandas
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
    *("None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
BOOLEANS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
CODE = r"\s*0[0-9]+\s*"  # 01010 is a code; 0, 0.5 and 10 are numbers
DIGITS = r"[-+.0-9]+"


@dataclass(frozen=True)
class CsvOptions:
    """How the cells of a CSV file are read."""

    text: tuple[str, ...] = ()  # columns read as text, even if all values look like numbers
    plain: tuple[str, ...] = ()  # columns read as numbers, even with leading zeros, if all values are
    missing: tuple[str, ...] = MISSING  # words for a missing value, besides empty cells
    categories: Mapping[str, frozenset[str]] = field(default_factory=dict)  # known values, never missing


def read_rows(path: Path, options: CsvOptions | None = None, note: Callable[[str], Any] = str) -> Any:
    """Return the rows of a CSV or Parquet file; `note` is told how ambiguous cells of CSV were read."""
    pd = import_extra("pandas", "cli")
    if path != STDIN and not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise CommandError(f"{path} {found}; expected a file of rows")
    name = path.name.lower()
    if path == STDIN or name.endswith(CSV):
        frame = _read_csv(pd, path, options or CsvOptions(), note)
    elif name.endswith(PARQUET):
        frame = _read_parquet(pd, path)
    else:
        raise CommandError(f"{path} is of an unknown type; expected .csv, .csv.gz, .tsv or .parquet")
    frame.columns = [str(column) for column in frame.columns]
    return frame


def is_parquet(path: Path) -> bool:
    """Whether rows are in a Parquet file or a folder of them."""
    return path.is_dir() or path.name.lower().endswith(PARQUET)


def require_csv(path: Path, *options: Any) -> None:
    """Raise if any option of CSV is given for Parquet."""
    if is_parquet(path) and any(option is not None for option in options):
        raise UsageError("--text, --number and --missing are for CSV; Parquet files have column types")


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


def _read_csv(pd: Any, path: Path, options: CsvOptions, note: Callable[[str], Any]) -> Any:
    # The type inference of pandas and pyarrow turns the code 01010 into 1010 and does not tell which words
    # it took for missing. So all cells are read as text, and converted here.
    with _csv_errors(pd, file_name(path)):
        cells = _read_cells(pd, path)
    text, plain = (split_names(names, list(cells.columns)) for names in (options.text, options.plain))
    columns, words = {}, Counter[tuple[str, str]]()
    for name, column in cells.items():
        known = options.categories.get(name, frozenset())
        missing = column.isin(["", *(word for word in options.missing if word not in known)])
        present = column[~missing]
        values = _strip_codes(present, known) if name in text else _convert(pd, present)
        if name not in (*text, *plain) and values.dtype.kind in "iuf":
            whole = present[values % 1 == 0]  # only these can be codes
            codes = whole[whole.str.fullmatch(CODE)].str.strip()
            if len(codes):
                values = present.str.strip()
                note(
                    f"column {name!r} holds digits with leading zeros, such as {codes.iloc[0]!r}, and is "
                    f"read as text; --number {name} reads numbers"
                )
        columns[name] = values.reindex(cells.index)
        words.update((name, word) for word in column[missing] if word)
    if words:
        note(_describe_missing(words))
    return pd.DataFrame(columns)


def _convert(pd: Any, present: Any) -> Any:
    """Return numbers or booleans if all cells are, else text."""
    if len(present) and present.isin(list(BOOLEANS)).all():
        return present.map(BOOLEANS).astype(bool)
    try:
        return pd.to_numeric(present)
    except ValueError:
        return present


def _strip_codes(present: Any, known: frozenset[str]) -> Any:
    """Remove spaces around digits that are known without them: `fit` did so."""
    codes = {word for word in known if re.fullmatch(DIGITS, word)}
    bare = present.str.strip() if codes else present
    return present.where(present.isin(known) | ~bare.isin(codes), bare)


def _describe_missing(words: Counter[tuple[str, str]]) -> str:
    shown = [f"{word!r} in {name!r} {n:,} times" for (name, word), n in words.most_common(5)]
    counts = ", ".join([*shown, *(["…"] if len(words) > 5 else [])])
    return (
        f"{words.total():,} cells count as missing by the word they hold: {counts}; "
        f"--missing A,B names the words that do, and --missing '' none"
    )


def _read_cells(pd: Any, path: Path) -> Any:
    """Return all cells as text."""
    content = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
    if path.name.lower().endswith(".gz"):
        content = _decompress(content, path)
    text = content.decode("utf-8-sig")
    header = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    separator = max(SEPARATORS, key=header.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    _require_names_once(next(lines, []), file_name(path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        # index_col: if lines are longer than the header, their first field is not an index.
        cells = pd.read_csv(io.StringIO(text), sep=separator, index_col=False, dtype="str", na_filter=False)
    if any(issubclass(warning.category, pd.errors.ParserWarning) for warning in caught):
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        _require_empty_extras(lines, len(cells.columns), file_name(path))
    return cells


def _decompress(content: bytes, path: Path) -> bytes:
    """Return what a gzip file holds, but not more than what its size lets expect."""
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


def _require_empty_extras(lines: Any, n_columns: int, name: str) -> None:
    """Raise if fields beyond the header hold values; empty ones follow a comma at the end of a line."""
    for fields in lines:
        if any(value.strip() for value in fields[n_columns:]):
            raise CommandError(
                f"line {lines.line_num} of {name} has {len(fields)} fields, but the header names {n_columns} "
                f"columns; name every column, or remove the extra fields"
            )


@contextmanager
def _csv_errors(pd: Any, name: str) -> Iterator[None]:
    try:
        yield
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

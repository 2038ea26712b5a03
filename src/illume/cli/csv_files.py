"""CSV files as pandas frames: which words count as missing, and which columns are text though digits."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from illume.cli.errors import CommandError
from illume.cli.options import listed

SEPARATORS = (",", ";", "\t", "|")
STDIN = Path("-")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
MISSING = (
    *("NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
    *("None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
CODE = r"\s*0[0-9]+\s*"  # 01010 is no number, but 0, 0.5 and 10 are
DIGITS = r"[-+.0-9]+"
LOOK_ROWS = 100_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """How the cells of a CSV file are read.

    Parameters
    ----------
    texts
        Columns that are text, even where all their values look like numbers.
    plain
        Columns that are read as they look: as numbers where they are digits, leading zeros or not.
    missing
        Words that stand for a missing value; an empty cell always does.
    categories
        Values that columns are known to have: they are not missing, though they be such words.
    """

    texts: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    categories: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, columns: Sequence[str]) -> Reading:
        """Return the same with names of columns, which may be given with commas between."""
        return replace(self, texts=listed(self.texts, columns), plain=listed(self.plain, columns))

    def words(self, column: str) -> list[str]:
        """Return what stands for a missing value in a column."""
        known = self.categories.get(column, frozenset())
        return ["", *(word for word in self.missing if word not in known)]


def read_csv(path: Path, reading: Reading, say: Say | None = None) -> Any:
    """Return the rows of a CSV file; what was taken for missing, or for text, by its looks is said."""
    import pandas as pd

    with _readable(pd, named(path)):
        file = _File(path, pd)
        reading = reading.of(file.columns)
        frame = file.read(reading, reading.texts)
        codes, words = _looked_at(file, frame, {*reading.texts, *reading.plain}, counts=say is not None)
        if codes:
            frame = file.read(reading, (*reading.texts, *codes))
        for name in codes:
            frame[name] = frame[name].str.strip()
        for name, known in reading.categories.items():
            if name in frame and name in reading.texts:
                frame[name] = _without_spaces(frame[name], known)
    if say is not None:
        _tell(say, codes, words)
    return frame


def _tell(say: Say, codes: Mapping[str, str], words: Counter[tuple[str, str]]) -> None:
    for name, example in codes.items():
        say(
            f"column {name!r} holds digits with leading zeros, such as {example!r}, and is read as text; "
            f"--number {name} reads numbers"
        )
    if words:
        shown = [f"{word!r} in {name!r} {n:,} times" for (name, word), n in words.most_common(5)]
        counts = ", ".join([*shown, *(["…"] if len(words) > 5 else [])])
        say(
            f"{words.total():,} cells count as missing by the word they hold: {counts}; "
            f"--missing A,B names the words that do, and --missing '' none"
        )


def separator(header: str) -> str:
    r"""Return what stands most often between the names of a header; a comma where others do not more often.

    >>> separator("age;income;job"), separator("age"), separator("a,b;c"), separator("a\tb")
    (';', ',', ',', '\t')
    >>> separator('a,"b; c; d"')
    ','
    """
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


class _File:
    """A CSV file that is read more than once; of stdin, all bytes are kept."""

    def __init__(self, path: Path, pd: Any) -> None:
        self.path, self.pd, self.longer = path, pd, "error"
        self.content = sys.stdin.buffer.read() if path == STDIN else None
        self.options = {
            "sep": "," if path == STDIN else separator(_header(path)),
            "encoding": "utf-8-sig",
            "keep_default_na": False,
            "index_col": False,  # no first field without a name, where lines are longer than the header
        }
        self.columns = [str(name) for name in pd.read_csv(self._source(), nrows=0, **self.options).columns]

    def _source(self) -> Any:
        return self.path if self.content is None else io.BytesIO(self.content)

    def read(self, reading: Reading, texts: tuple[str, ...]) -> Any:
        """Return all rows."""
        words = {name: reading.words(name) for name in self.columns}
        how = {"dtype": dict.fromkeys(texts, "str"), "na_values": words, "low_memory": False}
        try:
            return self._read(**how)
        except self.pd.errors.ParserWarning:
            self._require_empty_rests()
        return self._read(**how)

    def _read(self, **how: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter(self.longer, self.pd.errors.ParserWarning)  # type: ignore[arg-type]
            return self.pd.read_csv(self._source(), **how, **self.options)

    def _require_empty_rests(self) -> None:
        """Refuse lines with more fields than the header, unless these are empty, as after a last comma."""
        most = len(self.columns)
        with _opened(self.path, self.content) as file:
            lines = csv.reader(file, delimiter=str(self.options["sep"]))
            for fields in lines:
                if any(field.strip() for field in fields[most:]):
                    raise CommandError(
                        f"line {lines.line_num} of {named(self.path)} has {len(fields)} fields, and the "
                        f"header names {most} columns; name every column, or take out what is too much"
                    )
        self.longer = "ignore"

    def texts(self, columns: list[str]) -> Iterator[Any]:
        """Yield some columns as they stand in the file, so many rows at a time."""
        options = {"dtype": "str", "na_filter": False, "usecols": columns, "chunksize": LOOK_ROWS}
        with self.pd.read_csv(self._source(), **options, **self.options) as pieces:
            yield from pieces


def _looked_at(
    file: _File, frame: Any, settled: set[str], counts: bool
) -> tuple[dict[str, str], Counter[tuple[str, str]]]:
    """Return columns of numbers that are codes, with an example, and how often words count as missing.

    Of columns that are settled, only missing values are counted, and these only if they are wanted.
    """
    columns = [name for name in file.columns if name in frame]
    numbers = [name for name in columns if name not in settled and frame[name].dtype.kind in "iuf"]
    gaps = [name for name in columns if counts and frame[name].isna().any()]
    codes: dict[str, str] = {}
    words: Counter[tuple[str, str]] = Counter()
    if not numbers and not gaps:
        return codes, words
    start = 0
    for piece in file.texts([name for name in columns if name in {*numbers, *gaps}]):
        for name in gaps:
            missing = frame[name].iloc[start : start + len(piece)].isna().to_numpy()
            words.update((name, word) for word in piece[name][missing] if word)
        for name in numbers:
            found = piece[name][piece[name].str.fullmatch(CODE)]
            if len(found) and name not in codes:
                codes[name] = str(found.iloc[0]).strip()
        start += len(piece)
    return codes, words


def _without_spaces(column: Any, known: frozenset[str]) -> Any:
    """Return texts, less the spaces around digits that are known without: those of a fit were read so."""
    codes = {word for word in known if re.fullmatch(DIGITS, word)}
    bare = column.str.strip() if codes else column
    return column.where(column.isin(known) | ~bare.isin(codes), bare)


@contextmanager
def _readable(pd: Any, name: str) -> Iterator[None]:
    """Say in words of ours what is wrong with a file."""
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


def named(path: Path) -> str:
    """Return what to call a file of rows."""
    return "stdin" if path == STDIN else str(path)


def _header(path: Path) -> str:
    with _opened(path) as file:
        return str(file.readline())


def _opened(path: Path, content: bytes | None = None) -> Any:
    """Return the text of a file, or of content that was read."""
    if content is not None:
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    return opened(path, "rt", encoding="utf-8-sig", newline="")

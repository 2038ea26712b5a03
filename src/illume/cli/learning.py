"""The rows that `illume fit` learns from: read whole, or left where they are to be read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from illume.cli.csv_files import Reading
from illume.cli.errors import UsageError
from illume.cli.options import listed
from illume.cli.reading import PARQUET, read_rows, require_names
from illume.cli.voice import Voice

UNNAMED = "Unnamed: 0"  # what pandas calls an index that was saved without a name


@dataclass(frozen=True, eq=False)
class Learning:
    """Features, as a pandas frame or as a source of rows, and the target's column, if one is known."""

    rows: Any
    columns: tuple[str, ...]
    n_rows: int
    target: Any = None
    row_budget: int | None = None

    @property
    def described(self) -> str:
        """How many rows are learned from."""
        if self.row_budget is None or self.row_budget >= self.n_rows:
            return f"{self.n_rows:,} rows"
        return f"{self.row_budget:,} of {self.n_rows:,} rows"


def rows_to_learn(
    path: Path,
    target: str | None,
    drop: tuple[str, ...],
    row_budget: int | None,
    seed: int,
    *,
    reading: Reading,
    whole: bool,
    voice: Voice,
) -> Learning:
    """Return the features of a file or a folder, less what is dropped.

    Parquet files are left where they are, unless rows are needed as a whole frame, to train a model on:
    then as many as the budget allows are drawn.
    """
    if not in_parquet(path):
        rows = read_rows(path, reading, voice.note)
        for option, names in (("--text", reading.texts), ("--number", reading.plain)):
            require_names(rows.columns, listed(names, list(rows.columns)), option)
        return replace(_of_frame(rows, target, drop, whole, voice), row_budget=row_budget)
    if whole:
        return _of_frame(_drawn(path, row_budget, seed, voice), target, drop, whole, voice)
    return _of_source(path, target, drop, row_budget)


def in_parquet(path: Path) -> bool:
    """Whether rows are in a Parquet file, or a folder of them: there, columns have types."""
    return path.is_dir() or path.name.lower().endswith(PARQUET)


def require_csv(path: Path, *options: Any) -> None:
    """Refuse options that say how cells of CSV are read, where any is given, for rows in Parquet."""
    if in_parquet(path) and any(option is not None for option in options):
        raise UsageError("--text, --number and --missing are for CSV; Parquet says what its columns hold")


def _of_source(path: Path, target: str | None, drop: tuple[str, ...], row_budget: int | None) -> Learning:
    from illume.data.load_rows import STREAM_ROWS
    from illume.data.row_sources import open_rows

    source = open_rows(path)
    out = {*_dropped(source.names, drop), *_target(source.names, target)}
    columns = tuple(name for name in source.names if name not in out)
    if not columns:
        raise UsageError("no column is left to learn from")
    return Learning(source.only(columns), columns, source.n_rows or 0, None, row_budget or STREAM_ROWS)


def _drawn(path: Path, row_budget: int | None, seed: int, voice: Voice) -> Any:
    from illume.data.load_rows import RowLimit, sample_frame
    from illume.data.row_sources import open_rows

    drawing = RowLimit(row_budget, seed, "pandas", verbose=False if voice.quiet else None)
    rows, n_rows = sample_frame(open_rows(path), drawing)
    if len(rows) < n_rows:
        voice.note(f"{len(rows):,} of {n_rows:,} rows are learned from, drawn at random with seed {seed}")
    return rows


def _of_frame(rows: Any, target: str | None, drop: tuple[str, ...], whole: bool, voice: Voice) -> Learning:
    rows = rows.drop(columns=list(_dropped(rows.columns, drop)))
    if whole:
        rows = _without_names(rows, target, voice)
    if not _target(rows.columns, target):
        return Learning(rows, tuple(rows.columns), len(rows))
    known = rows[target].notna()
    if whole and not known.all():
        voice.note(f"{int((~known).sum()):,} rows without {target!r} are left out")
        rows = rows[known].reset_index(drop=True)
    features = rows.drop(columns=target)
    return Learning(features, tuple(features.columns), len(rows), rows[target])


def _dropped(names: Iterable[str], drop: tuple[str, ...]) -> tuple[str, ...]:
    dropped = listed(drop, list(names))
    require_names(names, dropped, "--drop")
    return tuple(dropped)


def _target(names: Iterable[str], target: str | None) -> tuple[str, ...]:
    wanted = () if target is None else (target,)
    require_names(names, wanted, "--target")
    return wanted


def _without_names(rows: Any, target: str | None, voice: Voice) -> Any:
    """Leave out columns that only number or name the rows."""
    names = [
        name
        for name in rows.columns
        if name != target and rows[name].dtype.kind not in "biufM" and rows[name].nunique() == len(rows)
    ]
    for name in [*names, *({UNNAMED} & set(rows.columns))]:
        voice.note(f"column {name!r} only tells the rows apart and is left out")
        rows = rows.drop(columns=name)
    return rows

"""Results as CSV, JSON or Parquet, in files that are replaced at once or on stdout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from illume.cli.messages import CommandError, UsageError, show
from illume.data.terminal_text import CONTROLS
from illume.errors import import_extra

Kind = Literal["attributions", "rules", "counterfactuals"]
JSON = (".json", ".jsonl")
# How cells begin that spreadsheets run; a sign alone, or before a number, is no formula
FORMULA = re.compile(r"[=@\t\r]|[+-](?!((\d+\.?\d*|\.\d+)(e[+-]?\d+)?)?\Z)", re.IGNORECASE | re.DOTALL)
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
    r"""Return JSON text in which NaN and infinity are null, and control characters are written as codes.

    >>> as_json({"r2": float("nan"), "name": "größer"})
    '{"r2":null,"name":"größer"}'
    >>> print(as_json(chr(155)))
    "\u009b"
    """
    from pydantic_core import to_json

    fallback = lambda value: value.item() if hasattr(value, "item") else str(value)  # noqa: E731
    text = to_json(value, indent=indent, inf_nan_mode="null", fallback=fallback).decode()
    return CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def print_json(value: Any) -> None:
    """Print a result to stdout as JSON."""
    show(as_json(value, indent=2))


def write(pieces: Iterable[Any], path: Path | None, json: bool = False, escape: bool = True) -> None:
    """Write frames, or records for JSON, to a file by its suffix, or to stdout; see `escape_formulas`.

    CSV on stdout, which may be a terminal, has codes for control characters; files have texts as they are.
    """
    from illume.data.archive import atomic_path

    if path is None:
        _write_text(pieces, partial(show, end=""), ".jsonl" if json else ".csv", escape)
        return
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(pieces, temporary)
            return
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            _write_text(pieces, stream.write, suffix, escape)


def escape_formulas(frame: Any) -> Any:
    """Return a frame whose texts are no formulas: those that begin as one get an apostrophe in front.

    >>> import pandas as pd
    >>> escape_formulas(pd.DataFrame({"=a": [-5, 1], "b": ["=1+1", "-1.5"]})).to_csv(index=False).split()
    ["'=a,b", "-5,'=1+1", '1,-1.5']
    """
    frame = frame.rename(columns=lambda name: _escape(str(name)))
    for j, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":  # texts, categories and mixed values
            frame.isetitem(j, frame.iloc[:, j].astype(object).map(_escape))
    return frame


def _escape(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def _write_text(pieces: Iterable[Any], put: Callable[[str], Any], suffix: str, escape: bool) -> None:
    if suffix == ".json":
        put(f"{as_json([record for records in pieces for record in records])}\n")
        return
    for i, piece in enumerate(pieces):
        if suffix == ".csv":
            frame = escape_formulas(piece) if escape else piece
            put(frame.to_csv(index=False, header=i == 0, lineterminator="\n"))
        else:
            put("".join(f"{as_json(record)}\n" for record in piece))


def _write_parquet(frames: Iterable[Any], path: Path) -> None:
    """Write one table; its column types are those of all rows together."""
    import pandas as pd

    import_extra("pyarrow", "cli")
    pd.concat(list(frames), ignore_index=True).to_parquet(path, engine="pyarrow", index=False)

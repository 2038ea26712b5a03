"""Which row groups of which Parquet files make a part, and which parts a folder already holds."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from illume.data.archive import atomic_path
from illume.data.locks import lock
from illume.distributed.columns import arrow
from illume.errors import SchemaError

PLAN, LOCK, SUCCESS = "_illume.json", "_illume.lock", "_SUCCESS"
PATIENCE, PAUSE = 30.0, 0.5  # seconds
LEAST_PARTS = 4  # per worker, so that none waits long for the last one


@dataclass(frozen=True)
class Part:
    """Some row groups of one file, from `first_group` up to `end_group`, and where their rows stand."""

    number: int
    path: str
    first_group: int
    end_group: int
    first_row: int
    n_rows: int

    @property
    def name(self) -> str:
        """What the part's own file is called.

        >>> Part(3, "a.parquet", 0, 1, 0, 10).name
        'part-00003.parquet'
        """
        return f"part-{self.number:05}.parquet"

    @property
    def rows(self) -> str:
        """Which rows these are, in words.

        >>> Part(3, "a.parquet", 0, 1, first_row=1_000, n_rows=10).rows
        'rows 1,000 to 1,009 of the source'
        """
        return f"rows {self.first_row:,} to {self.first_row + self.n_rows - 1:,} of the source"


@dataclass(frozen=True)
class Written:
    """What `explain_parquet` did.

    Parameters
    ----------
    folder
        Where the parts are, one Parquet file each, in the rows' order.
    n_rows, n_lines
        How many rows were explained, and how many lines that made, those of earlier runs included.
    n_parts, n_skipped, n_retried
        How many parts there are, how many were there already, and how often one was done again because its
        process had died.
    """

    folder: Path
    n_rows: int
    n_lines: int
    n_parts: int
    n_skipped: int = 0
    n_retried: int = 0


def files_of(source: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet files that a path names: itself, or all in a folder, by name."""
    path = Path(source)
    if path.is_file():
        return [path]
    inside = [each.relative_to(path) for each in path.rglob("*.parquet")] if path.is_dir() else []
    shown = [each for each in inside if not any(part.startswith(("_", ".")) for part in each.parts)]
    if not shown:
        found = "holds no .parquet file" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {found}; expected a Parquet file or a folder of them")
    return [path / each for each in sorted(shown)]


def split(files: list[Path], part_rows: int, workers: int) -> list[Part]:
    """Put row groups together until a part has enough rows; a part never reaches into another file."""
    from pyarrow import ArrowInvalid
    from pyarrow import parquet as pq

    groups = {}
    for path in files:
        try:
            about = pq.read_metadata(path)
        except (ArrowInvalid, OSError) as error:
            raise SchemaError(f"{path} cannot be read as a Parquet file: {error}") from error
        groups[path] = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    n_rows = sum(map(sum, groups.values()))
    most = max(1, min(part_rows, -(-n_rows // (LEAST_PARTS * max(workers, 1)))))
    parts: list[Part] = []
    first_row = 0
    for path, sizes in groups.items():
        for start, end in grouped(sizes, most):
            n = sum(sizes[start:end])
            parts.append(Part(len(parts), str(path), start, end, first_row, n))
            first_row += n
    return parts or [Part(0, str(files[0]), 0, 0, 0, 0)]  # no rows at all still make a file with columns


def grouped(sizes: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of sizes whose sums stay within `most`; one that is larger stands alone.

    >>> list(grouped([2, 2, 2, 9, 1], most=5))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    start = total = 0
    for i, size in enumerate(sizes):
        if i > start and total + size > most:
            yield start, i
            start, total = i, 0
        total += size
    if sizes:
        yield start, len(sizes)


def fingerprint(files: list[Path], settings: dict[str, Any]) -> str:
    """Return what changes when the rows, the explainer or the settings do."""
    stamps = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(json.dumps([stamps, settings], default=str).encode()).hexdigest()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, which is made if it is not there, while the block runs."""
    folder.mkdir(parents=True, exist_ok=True)

    def refuse(holder: str) -> FileExistsError:
        return FileExistsError(
            f"another run, of {holder}, is writing explanations into {folder}; wait until it is done, or "
            f"name another folder"
        )

    with lock(folder / LOCK, refuse):
        yield


def begun(folder: Path, mark: str, parts: list[Part]) -> list[Part]:
    """Write the plan into a folder, or take up the one that is there, if it is of the same work."""
    path = folder / PLAN
    if path.is_file():
        found = json.loads(path.read_text())
        if found["fingerprint"] != mark:
            raise FileExistsError(
                f"{folder} holds explanations of other rows, of another explainer or with other settings; "
                f"name another folder, or remove this one"
            )
        forget_halves(folder)
        return [Part(**part) for part in found["parts"]]
    if any(each.name != LOCK for each in folder.iterdir()):
        raise FileExistsError(f"{folder} holds other files; name a new or an empty folder")
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps({"fingerprint": mark, "parts": [asdict(part) for part in parts]}))
    return parts


def forget_halves(folder: Path) -> int:
    """Remove what processes that died had begun to write, and return how many did."""
    halves = list(folder.glob(".part-*.tmp*"))
    for half in halves:
        half.unlink(missing_ok=True)
    return len(halves)


def require_written(
    folder: Path, parts: list[Part], patience: float = PATIENCE, wait: Callable[[float], None] = time.sleep
) -> None:
    """Refuse a folder that workers say they have filled, but that does not hold their parts.

    On a file system that machines share, what another one wrote may be seen only after a while: `patience`
    seconds, at most.
    """
    lost, waited = _missing(folder, [part.name for part in parts]), 0.0
    while lost and waited < patience:
        wait(PAUSE)
        waited += PAUSE
        lost = _missing(folder, lost)
    if lost:
        raise FileNotFoundError(
            f"{len(lost)} parts, {lost[0]} among them, were written but are not in {folder}; workers need a "
            f"folder that all of them and this process share"
        )


def _missing(folder: Path, names: list[str]) -> list[str]:
    """Return which files are neither in the folder's list, which may be old, nor found by their names."""
    listed = set(os.listdir(folder))
    return [name for name in names if name not in listed and not (folder / name).exists()]


def finished(folder: Path, parts: list[Part]) -> dict[int, int]:
    """Return which parts are there, by number, with their lines."""
    arrow()
    from pyarrow import parquet as pq

    there = [part for part in parts if (folder / part.name).is_file()]
    return {part.number: pq.read_metadata(folder / part.name).num_rows for part in there}

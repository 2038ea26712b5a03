"""What a run over Parquet files has to do: parts, which are runs of row groups of one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from illume.data.archive import atomic_path
from illume.distributed.output_columns import pyarrow
from illume.errors import FormatError

PLAN, LOCK = "_illume.json", "_illume.lock"
PARTS_PER_WORKER = 4  # at least, so that no worker waits long for the last one


@dataclass(frozen=True)
class Part:
    """Row groups `first_group` to before `end_group` of one file, and where their rows are in all rows."""

    number: int
    path: str
    first_group: int
    end_group: int
    first_row: int
    n_rows: int

    @property
    def name(self) -> str:
        """The name of the part's own file."""
        return f"part-{self.number:05}.parquet"

    def lines(self, folder: Path) -> int | None:
        """Return how many lines the part's file has; None if it is not there, or cannot be read."""
        try:
            return int(pyarrow().parquet.read_metadata(folder / self.name).num_rows)
        except (pyarrow().ArrowInvalid, OSError):
            return None


def split(files: list[Path], part_rows: int, workers: int) -> list[Part]:
    """Divide files into runs of row groups; one that is larger than `part_rows` is a part by itself."""
    groups = {}
    for path in files:
        with read_errors(path):
            about = pyarrow().parquet.read_metadata(path)
        groups[path] = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    n_rows = sum(map(sum, groups.values()))
    most = max(1, min(part_rows, -(-n_rows // (PARTS_PER_WORKER * max(workers, 1)))))
    parts: list[Part] = []
    first_row = 0
    for path, sizes in groups.items():
        start = n = 0
        for i, size in enumerate(sizes):
            n += size
            if i + 1 == len(sizes) or n + sizes[i + 1] > most:
                parts.append(Part(len(parts), str(path.absolute()), start, i + 1, first_row, n))
                first_row, start, n = first_row + n, i + 1, 0
    return parts or [Part(0, str(files[0].absolute()), 0, 0, 0, 0)]  # no rows still make a file with columns


def planned_parts(folder: Path, fingerprint: str, parts: list[Part]) -> list[Part]:
    """Write the plan into a folder, or return the one that is there if it is for the same work."""
    path = folder / PLAN
    if path.is_file():
        try:
            plan = json.loads(path.read_text())
            known, whole = plan["parts"], plan["sha256"] == _digest(plan["parts"])
        except (ValueError, KeyError, TypeError):
            known, whole = [], False
        if not whole:
            raise FormatError(
                f"{path}, the plan of the run, is damaged; remove {folder} or name another folder, "
                f"and run again"
            )
        if plan["fingerprint"] != fingerprint:
            raise FileExistsError(
                f"{folder} holds explanations of other rows, of another explainer or with other settings; "
                f"name another folder, or remove this one"
            )
        return [Part(**part) for part in known]
    if any(each.name != LOCK for each in folder.iterdir()):
        raise FileExistsError(f"{folder} holds other files; name a new or an empty folder")
    listed = [asdict(part) for part in parts]
    plan = {"fingerprint": fingerprint, "parts": listed, "sha256": _digest(listed)}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(plan))
    return parts


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


@contextmanager
def read_errors(path: str | Path) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except (pyarrow().ArrowInvalid, OSError) as error:
        raise FormatError(f"{path} cannot be read as Parquet: {error}") from error

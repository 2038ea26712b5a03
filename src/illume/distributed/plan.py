"""What a run over Parquet files has to do, and what it has done: the parts, and digests of their files."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from illume.data.archive import atomic_path
from illume.errors import FormatError

PLAN, DONE, LOCK = "_illume.json", "_illume.parts", "_illume.lock"


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


@dataclass(frozen=True)
class PartDone:
    """The lines of a part's file, and a digest of both."""

    lines: int
    sha256: str

    @classmethod
    def of(cls, path: Path, lines: int) -> PartDone:
        """Hash a file."""
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256")
        found.update(str(lines).encode())
        return cls(lines, found.hexdigest())


def record(folder: Path, part: Part, done: PartDone) -> None:
    """Add a line about a part whose file is complete; every process adds its own."""
    with (folder / DONE).open("a") as file:
        file.write(json.dumps({"part": part.number, **asdict(done)}) + "\n")


def finished_parts(folder: Path, parts: list[Part]) -> dict[int, PartDone]:
    """Return the parts whose files are as they were written; warn of those that are not."""
    known: dict[int, PartDone] = {}
    text = (folder / DONE).read_text(errors="replace") if (folder / DONE).is_file() else ""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            known[int(entry["part"])] = PartDone(int(entry["lines"]), str(entry["sha256"]))
        except (ValueError, KeyError, TypeError):  # cut off or damaged: the part is done again
            continue
    found = {}
    for part in parts:
        path, done = folder / part.name, known.get(part.number)
        if done is None or not path.is_file():
            continue
        if PartDone.of(path, done.lines) == done:
            found[part.number] = done
        else:
            said = f"{path} was damaged or changed after it was written; it is made again"
            warnings.warn(said, UserWarning, stacklevel=3)
    return found


def planned_parts(folder: Path, fingerprint: str, parts: list[Part]) -> list[Part]:
    """Write the plan into a folder, or return the one that is there if it is for the same work."""
    path = folder / PLAN
    if path.is_file():
        plan = _read_plan(path)
        if plan["fingerprint"] != fingerprint:
            raise FileExistsError(
                f"{folder} holds explanations of other rows, of another explainer or with other settings; "
                f"name another folder, or remove this one"
            )
        return [Part(**part) for part in plan["parts"]]
    if any(each.name != LOCK for each in folder.iterdir()):
        raise FileExistsError(f"{folder} holds other files; name a new or an empty folder")
    plan = {"fingerprint": fingerprint, "parts": [asdict(part) for part in parts]}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps({**plan, "sha256": _digest(plan)}))
    return parts


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads(path.read_text())
        whole = plan.pop("sha256") == _digest(plan)
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise FormatError(
            f"{path}, the plan of the run, is damaged; remove {path.parent} or name another folder, "
            f"and run again"
        )
    return plan


def _digest(plan: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()

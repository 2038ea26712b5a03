"""Checkpoints: what a fit has done so far, stage by stage, in a folder that belongs to this fit alone."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from illume.errors import CheckpointError, CheckpointWarning, FormatError, SaveError
from illume.storage import archive
from illume.storage.arrays import ArrayReader, ArrayWriter
from illume.storage.locks import HeldError, locked_or
from illume.storage.values import items_of, of_type

SUFFIX = ".checkpoint"
HEAD = "fit"
LOCK = "fit.lock"
ARRAYS = "arrays.safetensors"
COST = 20.0  # writing takes no more than one part in so many of the time


@dataclass(frozen=True)
class Checkpoints:
    """Where and how often a fit writes down what it has done.

    Parameters
    ----------
    folder
        Where to; it is made if it is not there, and belongs to one fit.
    every
        Seconds between two checkpoints of a training, at least; never so often that writing takes more than
        a twentieth of the time. 0 writes after every epoch.
    keep
        Keep the checkpoints when the fit is done; otherwise they are removed.
    """

    folder: str | os.PathLike[str]
    every: float = 10.0
    keep: bool = False

    def __post_init__(self) -> None:
        """Refuse options that cannot work."""
        if not self.every >= 0:
            raise ValueError(f"every must be 0 or more seconds, found {self.every!r}")

    @classmethod
    def of(cls, folder: Any) -> Checkpoints:
        """Return the options themselves, or the usual ones for a folder."""
        return folder if isinstance(folder, cls) else cls(folder)


@dataclass(frozen=True, eq=False)
class Stage:
    """What a file of a stage holds: values, as JSON, and arrays."""

    values: Any
    arrays: ArrayReader


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other fits out of a folder, which is made if it is not there, while the block runs.

    Within it, the same thread may hold the folder again.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"the folder {folder} for checkpoints cannot be made: {error.strerror or error}"
        ) from error

    def refused(holder: HeldError) -> CheckpointError:
        return CheckpointError(
            f"another fit, of {holder}, is using {folder}; wait until it is done, or use another folder"
        )

    with locked_or(folder / LOCK, refused):
        yield


class Stages:
    """The stages of one fit.

    `mark` says which fit: its settings, a digest of its data, the versions of libraries. Every file carries
    it, or a digest of it.
    """

    def __init__(self, options: Checkpoints, mark: Mapping[str, Any]) -> None:
        self.options, self.mark = options, dict(mark)
        self.digest = hashlib.sha256(archive.printed(self.mark)).hexdigest()
        self.folder = Path(options.folder)
        self.warned = False
        self.resumed = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other fits out of the folder while the block runs."""
        with held(self.folder):
            yield

    def begin(self) -> None:
        """Make the folder ready; one that belongs to another fit is refused, and left as it is."""
        if self._path(HEAD).exists():
            self._require_mine(_read(self._path(HEAD)).manifest.get("mark"))
            self.resumed = True
        for left in self.folder.glob(f".*{SUFFIX}.*.tmp"):  # of a process that was killed while writing
            left.unlink(missing_ok=True)
        self._write(HEAD, archive.zipped({"mark": self.mark}, {}))

    def load(self, name: str) -> Stage | None:
        """Return what a stage has done, or None."""
        path = self._path(name)
        if not path.exists():
            return None
        found = _read(path)
        if found.manifest.get("digest") != self.digest:
            raise CheckpointError(f"{path} belongs to another fit; {_advice(self.folder)}")
        names = ("format", "version", "members", "digest", "values", "transposed")
        *_, values, transposed = items_of(found.manifest, names, path.name)
        arrays = ArrayReader(found.members[ARRAYS], of_type(list, transposed, "transposed"), path.name)
        return Stage(values, arrays)

    def save(self, name: str, values: Any, arrays: ArrayWriter) -> None:
        """Write down what a stage has done; where that cannot be, say so and go on."""
        head = {"digest": self.digest, "values": values, "transposed": arrays.transposed}
        self._write(name, archive.zipped(head, {ARRAYS: arrays.content()}))

    def finish(self) -> None:
        """Remove the files, unless they are to be kept."""
        if not self.options.keep:
            self.remove()

    def remove(self) -> None:
        """Remove the files, the one that names the fit at last."""
        for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stem == HEAD):
            path.unlink(missing_ok=True)

    def slot(self, name: str) -> Slot:
        """Return the place of one stage."""
        return Slot(self, name)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def _write(self, name: str, content: bytes) -> None:
        try:
            archive.write(self._path(name), content)
        except SaveError as error:
            if not self.warned:
                self.warned = True
                warnings.warn(
                    f"a checkpoint could not be written, fitting goes on: {error}",
                    CheckpointWarning,
                    stacklevel=2,
                )

    def _require_mine(self, mark: Any) -> None:
        if mark == self.mark:
            return
        theirs = mark if isinstance(mark, dict) else {}
        differ = [name for name in self.mark if theirs.get(name) != self.mark[name]]
        raise CheckpointError(
            f"{self.folder} holds the checkpoint of another fit, which differs in "
            f"{', '.join(differ) or 'kind'}; {_advice(self.folder)}"
        )


class Slot:
    """The place of one stage: read once, written now and then."""

    def __init__(self, stages: Stages, name: str) -> None:
        self.stages, self.name = stages, name
        self.written, self.cost = time.monotonic(), 0.0

    def load(self) -> Stage | None:
        """Return what was done before, or None."""
        return self.stages.load(self.name)

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        every = self.stages.options.every
        return not every or time.monotonic() - self.written >= max(every, COST * self.cost)

    def save(self, values: Any, arrays: ArrayWriter) -> None:
        """Write what was done."""
        start = time.monotonic()
        self.stages.save(self.name, values, arrays)
        self.written = time.monotonic()
        self.cost = self.written - start


def slot_of(stages: Stages | None, name: str) -> Slot | None:
    """Return the place of a stage, where checkpoints are wanted."""
    return None if stages is None else stages.slot(name)


def _read(path: Path) -> archive.Archive:
    try:
        return archive.read(path)
    except (FormatError, OSError) as error:
        raise CheckpointError(f"a checkpoint cannot be read: {error}; {_advice(path.parent)}") from error


def _advice(folder: Path) -> str:
    return f"use another folder, or remove the {SUFFIX} files in {folder} to begin again"

"""Checkpoints: the results of each stage of a fit, in a folder that belongs to this fit alone."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from illume.data import archive
from illume.data.locks import lock
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import expect, expect_fields
from illume.errors import CheckpointError, CheckpointWarning, FormatError, SaveError

SUFFIX = ".checkpoint"
HEAD = "fit"
LOCK = "fit.lock"
ARRAYS = "arrays.safetensors"
MAX_SHARE = 1 / 20  # of the time may go into writing checkpoints


@dataclass(frozen=True)
class Checkpoints:
    """Where and how often a fit writes checkpoints.

    Parameters
    ----------
    folder
        Created if it does not exist; it belongs to one fit.
    every
        Least seconds between two checkpoints of a training, more if writing would take over 5 % of the time.
        0 writes after every epoch.
    keep
        Keep the checkpoints when the fit is done; by default they are removed.
    """

    folder: str | os.PathLike[str]
    every: float = 10.0
    keep: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        if not self.every >= 0:
            raise ValueError(f"every must be 0 or more seconds, found {self.every!r}")

    @classmethod
    def from_option(cls, folder: Any) -> Checkpoints:
        """Return `folder` itself if it is a `Checkpoints`, else the default options for it."""
        return folder if isinstance(folder, cls) else cls(folder)


@dataclass(frozen=True, eq=False)
class Stage:
    """The content of a checkpoint: JSON values and arrays."""

    values: Any
    arrays: ArrayReader


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Create a folder and keep other fits out of it while the block runs; reentrant in a thread."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"the folder {folder} for checkpoints cannot be made: {error.strerror or error}"
        ) from error

    def refuse(holder: str) -> CheckpointError:
        return CheckpointError(
            f"another fit, of {holder}, is using {folder}; wait until it is done, or use another folder"
        )

    with lock(folder / LOCK, refuse):
        yield


class Stages:
    """The checkpoints of one fit.

    `mark` identifies the fit: its settings, a digest of its data, the versions of libraries.
    """

    def __init__(self, options: Checkpoints, mark: Mapping[str, Any]) -> None:
        self.options, self.mark = options, dict(mark)
        self.digest = hashlib.sha256(archive.format_json(self.mark)).hexdigest()
        self.folder = Path(options.folder)
        self.warned = False

    def begin(self) -> None:
        """Prepare the folder; raise `CheckpointError` if it belongs to another fit."""
        if self.path(HEAD).exists():
            self._require_same_fit(_read(self.path(HEAD)).manifest.get("mark"))
        for partial in self.folder.glob(f".*.tmp{SUFFIX}"):  # of a process that was killed while writing
            partial.unlink(missing_ok=True)
        self.write(HEAD, archive.pack({"mark": self.mark}, {}))

    def finish(self) -> None:
        """Remove the checkpoints, unless they are to be kept."""
        if not self.options.keep:
            self.remove()

    def remove(self) -> None:
        """Remove the checkpoints; the one that identifies the fit goes last."""
        for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stem == HEAD):
            path.unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Return the path of a stage's checkpoint."""
        return self.folder / f"{name}{SUFFIX}"

    def write(self, name: str, content: bytes) -> None:
        """Write the checkpoint of a stage; warn once if that is not possible."""
        try:
            archive.write(self.path(name), content)
        except SaveError as error:
            if not self.warned:
                self.warned = True
                warnings.warn(
                    f"a checkpoint could not be written, fitting goes on: {error}",
                    CheckpointWarning,
                    stacklevel=2,
                )

    def _require_same_fit(self, mark: Any) -> None:
        if mark == self.mark:
            return
        theirs = mark if isinstance(mark, dict) else {}
        differ = [name for name in self.mark if theirs.get(name) != self.mark[name]]
        raise CheckpointError(
            f"{self.folder} holds the checkpoint of another fit, which differs in "
            f"{', '.join(differ) or 'kind'}; {_advice(self.folder)}"
        )


class Slot:
    """The checkpoint of one stage: read once, written from time to time."""

    def __init__(self, stages: Stages, name: str) -> None:
        self.stages, self.name = stages, name
        self.written, self.cost = time.monotonic(), 0.0

    def load(self) -> Stage | None:
        """Return the checkpoint, or None."""
        path = self.stages.path(self.name)
        if not path.exists():
            return None
        found = _read(path)
        if found.manifest.get("digest") != self.stages.digest:
            raise CheckpointError(f"{path} belongs to another fit; {_advice(path.parent)}")
        names = (*archive.FIELDS, "digest", "values", "transposed")
        *_, values, transposed = expect_fields(found.manifest, names, path.name)
        transposed = expect(list, transposed, "transposed")
        return Stage(
            values, ArrayReader.from_bytes(found.members[ARRAYS], transposed, path.name, found.budget)
        )

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        every = self.stages.options.every
        return not every or time.monotonic() - self.written >= max(every, self.cost / MAX_SHARE)

    def save(self, values: Any, arrays: ArrayWriter) -> None:
        """Write the checkpoint; warn if that is not possible."""
        start = time.monotonic()
        head = {"digest": self.stages.digest, "values": values, "transposed": arrays.transposed}
        self.stages.write(self.name, archive.pack(head, {ARRAYS: arrays.to_bytes()}))
        self.written = time.monotonic()
        self.cost = self.written - start


def checkpoint_slot(stages: Stages | None, name: str) -> Slot | None:
    """Return the slot of a stage, or None without checkpoints."""
    return None if stages is None else Slot(stages, name)


def _read(path: Path) -> archive.Archive:
    try:
        return archive.read(path, max_bytes=math.inf)  # the user's own
    except (FormatError, OSError) as error:
        raise CheckpointError(f"a checkpoint cannot be read: {error}; {_advice(path.parent)}") from error


def _advice(folder: Path) -> str:
    return f"use another folder, or remove the {SUFFIX} files in {folder} to begin again"

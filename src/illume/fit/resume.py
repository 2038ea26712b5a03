"""Match checkpoints to a fit; delete them when it is done."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from illume.data.archive import library_versions
from illume.data.checkpoints import Checkpoints, Slot, Stages, checkpoint_slot, lock_folder
from illume.data.column_values import Storage
from illume.data.frames import Frame, as_frame
from illume.data.load_rows import LoadedRows
from illume.errors import CheckpointError, CheckpointWarning, SchemaError
from illume.fit.settings import Settings

# On what is trained; the model is compared by its answers
NO_EFFECT = {"model", "labels", "verbose", "checkpoint_dir", "positive_class", "threshold"}
ADDRESS = r" at 0x[0-9a-fA-F]+"  # of an object in memory, which differs between processes
LIBRARIES = ("numpy", "scikit-learn", "torch")


@contextmanager
def open_checkpoint(settings: Settings, source: LoadedRows) -> Iterator[Stages | None]:
    """Yield the stages of a fit, locked against other fits; None without a checkpoint folder."""
    if settings.checkpoint_dir is None:
        yield None
        return
    stages = Stages(Checkpoints.from_option(settings.checkpoint_dir), fingerprint(settings, source))
    with lock_folder(stages.folder):
        stages.begin()
        yield stages


@contextmanager
def reopen_for_rules(stages: Stages | None) -> Iterator[Slot | None]:
    """Yield the checkpoint of the rules' training; if another fit uses its folder, warn and yield None."""
    with ExitStack() as stack:
        try:
            if stages is not None:
                stack.enter_context(lock_folder(stages.folder))
                stages.begin()
        except CheckpointError as error:
            warnings.warn(f"rules are trained without checkpoints: {error}", CheckpointWarning, stacklevel=4)
            stages = None
            stack.close()
        yield checkpoint_slot(stages, "rules")


def fingerprint(settings: Settings, source: LoadedRows) -> dict[str, Any]:
    """Return what the result of a fit depends on, except the model: parameters, data and versions."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    if settings.background is not None:
        values["background"] = hash_frame(as_frame(settings.background))
    mark = {name: re.sub(ADDRESS, "", repr(values[name])) for name in sorted(values.keys() - NO_EFFECT)}
    mark |= {f"the version of {name}": found for name, found in library_versions(LIBRARIES).items()}
    mark["the version of illume"] = import_module("illume").__version__
    mark["the data"] = hash_frame(source.frame)
    if source.partial:  # rows that were not drawn count by their number, ranges and categories
        rest = repr((source.n_rows, source.schema.features, sorted(source.missing)))
        mark["the data"] += hashlib.sha256(rest.encode()).hexdigest()
    return mark


def hash_frame(frame: Frame) -> str:
    """Return a hash of a frame's columns: names, kinds and values."""
    found = hashlib.sha256(repr((frame.origin.backend, len(frame), frame.names)).encode())
    for name in frame.names:
        found.update(_column_bytes(frame, name))
    return found.hexdigest()


def _column_bytes(frame: Frame, name: str) -> bytes:
    try:
        if frame.storage(name) in (Storage.NUMBER, Storage.BOOLEAN):
            return np.ascontiguousarray(frame.numbers(name)).tobytes()
    except SchemaError:  # a column that the model may not use at all
        pass
    return repr(frame.labels(name)).encode("utf-8", "surrogatepass")

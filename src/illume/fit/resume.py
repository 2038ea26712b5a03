"""Match checkpoints to a fit; delete them when it is done."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from illume.data.archive import library_versions
from illume.data.checkpoints import Checkpoints, Slot, Stages, checkpoint_slot
from illume.data.column_values import Storage
from illume.data.frames import Frame, as_frame
from illume.data.load_rows import LoadedRows
from illume.errors import CheckpointError, CheckpointWarning, SchemaError
from illume.io.settings import dump_setting

NO_EFFECT = {
    "model",
    "verbose",
    "checkpoint_dir",
}  # on the result of a fit; the model is compared by its answers
LIBRARIES = ("numpy", "scikit-learn", "torch")


@contextmanager
def open_checkpoint(parameters: Mapping[str, Any], source: LoadedRows) -> Iterator[Stages | None]:
    """Yield the stages of a fit, locked against other fits; None without a checkpoint folder."""
    if parameters["checkpoint_dir"] is None:
        yield None
        return
    stages = Stages(Checkpoints.of(parameters["checkpoint_dir"]), fingerprint(parameters, source))
    with stages.lock():
        stages.begin()
        yield stages


@contextmanager
def reopen_for_rules(stages: Stages | None) -> Iterator[Slot | None]:
    """Yield the checkpoint of the rules' training; where the folder is in use by now, warn and yield None."""
    with ExitStack() as stack:
        try:
            if stages is not None:
                stack.enter_context(stages.lock())
                stages.begin()
        except CheckpointError as error:
            warnings.warn(f"rules are trained without checkpoints: {error}", CheckpointWarning, stacklevel=4)
            stages = None
            stack.close()
        yield checkpoint_slot(stages, "rules")


def fingerprint(parameters: Mapping[str, Any], source: LoadedRows) -> dict[str, Any]:
    """Return what the result of a fit depends on, except the model: parameters, data and versions."""
    settings = dict(parameters)
    if settings["background"] is not None:
        settings["background"] = hash_frame(as_frame(settings["background"]))
    mark = {
        name: _drop_addresses(dump_setting(settings[name])) for name in sorted(settings.keys() - NO_EFFECT)
    }
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


def _drop_addresses(value: Any) -> Any:
    """Remove the memory addresses in an object's repr, which differ between processes."""
    if isinstance(value, dict):
        return {name: _drop_addresses(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_drop_addresses(each) for each in value]
    return re.sub(r" at 0x[0-9a-fA-F]+", "", value) if isinstance(value, str) else value

"""Which fit a checkpoint belongs to, and when it has served."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np

from illume.data.archive import library_versions
from illume.data.checkpoints import Checkpoints, Slot, Stages, checkpoint_slot
from illume.data.column_values import Storage
from illume.data.frames import Frame, as_frame
from illume.data.load_rows import LoadedRows
from illume.encoders.ranks import ranks
from illume.errors import CheckpointError, CheckpointWarning, SchemaError
from illume.io.settings import dump_setting

OF_NO_CONSEQUENCE = {"model", "verbose", "checkpoint_dir"}
LIBRARIES = ("numpy", "scikit-learn", "torch")


@contextmanager
def opened(explainer: Any, rows: LoadedRows) -> Iterator[Stages | None]:
    """Yield the stages of a fit, ready to be read and written by it alone, if checkpoints are wanted."""
    if explainer.checkpoint_dir is None:
        yield None
        return
    mark = mark_of(explainer, rows.frame)
    if rows.partial:  # what was not drawn counts by its number, ranges and categories
        rest = hashlib.sha256(repr((rows.n_rows, rows.schema.features, sorted(rows.missing))).encode())
        mark["the data"] += rest.hexdigest()
    stages = Stages(Checkpoints.of(explainer.checkpoint_dir), mark)
    with stages.lock():
        stages.begin()
        yield stages


@contextmanager
def going_on(explainer: Any, trains: bool) -> Iterator[Slot | None]:
    """Yield the place of the rules' training among the stages of a fit, for it alone, if it has one.

    Where the folder is in use, or is another fit's by now, there is a warning, and no place.
    """
    stages = getattr(explainer, "stages_", None) if trains else None
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


def finish(explainer: Any, *, interrupted: bool) -> None:
    """Remove the checkpoints of a fit, unless it was interrupted or rules have an encoder of their own.

    To be called while the folder is held, else they may be another fit's.
    """
    stages = explainer.stages_
    if interrupted:
        explainer.stages_ = None
    elif stages is not None and (explainer.rule_objective == "shared" or explainer.encoder == "identity"):
        stages.finish()


def finish_rules(explainer: Any, slot: Slot | None, *, interrupted: bool) -> None:
    """Remove the checkpoints of a fit whose rules had a place among them, unless they were interrupted.

    To be called while the folder is held, too.
    """
    if interrupted:
        explainer.stages_ = None
    elif slot is not None:
        slot.stages.finish()


def mark_of(explainer: Any, frame: Frame) -> dict[str, Any]:
    """Return what a fit's result depends on, beside the model: settings, data and libraries."""
    settings = explainer.get_params(deep=False)
    if settings["background"] is not None:
        settings["background"] = digest(as_frame(settings["background"]))
    kept = settings.keys() - OF_NO_CONSEQUENCE
    mark = {name: _plain(dump_setting(settings[name])) for name in sorted(kept)}
    mark |= {f"the version of {name}": found for name, found in library_versions(LIBRARIES).items()}
    mark["the version of illume"] = import_module("illume").__version__
    return mark | {"the data": digest(frame)}


def digest(frame: Frame) -> str:
    """Return a hash of a frame's columns: names, kinds and values."""
    found = hashlib.sha256(repr((frame.origin.backend, len(frame), frame.names)).encode())
    for name in frame.names:
        found.update(_column(frame, name))
    return found.hexdigest()


def _column(frame: Frame, name: str) -> bytes:
    try:
        if frame.storage(name) in (Storage.NUMBER, Storage.BOOLEAN):
            return np.ascontiguousarray(frame.numbers(name)).tobytes()
    except SchemaError:  # a column that the model may not use at all
        pass
    return repr(frame.labels(name)).encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    """Leave out where objects lie in memory, which is elsewhere in every process."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return re.sub(r" at 0x[0-9a-fA-F]+", "", value) if isinstance(value, str) else value


def require_seed(explainer: Any) -> None:
    """Refuse checkpoints of a fit that draws otherwise when it is started again, or of many processes."""
    if explainer.checkpoint_dir is None:
        return
    if not ranks().alone:
        raise ValueError(
            "checkpoint_dir cannot be used by several processes that train together; leave it out"
        )
    for what in (explainer, explainer.encoder):
        seed = getattr(what, "random_state", 0)
        if not isinstance(seed, Integral):
            raise ValueError(
                f"with checkpoint_dir, random_state must be a number, found {seed!r}: a fit that is started "
                f"again must draw what it drew before"
            )

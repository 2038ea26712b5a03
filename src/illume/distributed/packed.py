"""An explainer and its model as bytes that travel to other processes, and are loaded there once."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from illume.data.schema import Unknown

if TYPE_CHECKING:
    from illume.explainer import Explainer

KEPT = 4  # explainers that a process keeps loaded
_loaded: OrderedDict[Hashable, Explainer] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True)
class Packed:
    """An explainer's file and, where there is one, its model, as bytes.

    Parameters
    ----------
    content, model
        The bytes.
    digest
        What tells explainers and models apart.
    unknown
        What to do with categories that were not seen, where not as the file says; it may change from one run
        to the next, and the digest does not.
    """

    content: bytes
    model: bytes | None
    digest: str
    unknown: Unknown | None = None

    @classmethod
    def of(cls, explainer: Any, model: Any = None, trust_model: bool = False, rules: bool = True) -> Packed:
        """Pack an explainer, or what stands in a file, with a model, or what stands in a joblib file.

        An explainer is packed with all its rows and its own model. `rules` are grown before, if they will be
        asked for: else every process would grow them anew.
        """
        unknown = None
        if not _named(explainer):
            from illume.io.saving import content as saved

            _require_own(model)
            unknown, model = explainer.unknown, explainer.model
            strict = _strict(explainer.fit_rules() if rules else explainer)
            content = saved(strict._fitted(), strict.get_params(deep=False), "all")
        else:
            content = Path(explainer).read_bytes()
        travelling = None if model is None else _model_bytes(model, trust_model)
        digest = hashlib.sha256(content + b"\0" + (travelling or b"")).hexdigest()
        return cls(content, travelling, digest, unknown)

    def explainer(self) -> Explainer:
        """Return the explainer, loaded by the first call in a process."""
        return _once((self.digest, self.unknown), self._load)

    def _load(self) -> Explainer:
        import joblib

        from illume.loading import load

        model = None if self.model is None else joblib.load(io.BytesIO(self.model))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "explainer.illume"
            path.write_bytes(self.content)
            loaded = load(path, model)
        return loaded if self.unknown is None else loaded.set_params(unknown=self.unknown)


def explainer_of(explainer: Any, model: Any = None, trust_model: bool = False) -> Explainer:
    """Return an explainer that is one, is packed, or is in a file; a file is read once, until it changes."""
    if isinstance(explainer, Packed):
        return explainer.explainer()
    if not _named(explainer):
        _require_own(model)
        given: Explainer = explainer
        return given
    named = _named(model)
    if named:
        _require_trust(model, trust_model)
    key = (_stamp(explainer), _stamp(model) if named else id(model))

    def read() -> Explainer:
        import joblib

        from illume.loading import load

        return load(explainer, joblib.load(model) if named else model)

    return _once(key, read)


def _strict(explainer: Explainer) -> Explainer:
    """Return an explainer that refuses unseen categories; the one given stays as it is."""
    return copy(explainer).set_params(unknown="error")


def _once(key: Hashable, read: Callable[[], Explainer]) -> Explainer:
    with _lock:
        if key not in _loaded:
            _loaded[key] = read()
            while len(_loaded) > KEPT:
                _loaded.popitem(last=False)
        _loaded.move_to_end(key)
        return _loaded[key]


def _named(given: Any) -> bool:
    """Whether something is given by the name of its file."""
    return isinstance(given, (str, os.PathLike))


def _stamp(path: Any) -> tuple[str, int, int]:
    """Return what changes when a file does."""
    found = os.stat(path)
    return os.path.realpath(path), found.st_mtime_ns, found.st_size


def _model_bytes(model: Any, trusted: bool) -> bytes:
    if _named(model):
        _require_trust(model, trusted)
        return Path(model).read_bytes()
    try:
        return _dumped(model)
    except Exception as error:  # pickling fails in many ways
        raise ValueError(
            f"the model, a {type(model).__name__}, cannot be sent to other processes ({error}); save it with "
            f"joblib and give the path of its file"
        ) from error


def _dumped(model: Any) -> bytes:
    """Pickle a model; functions of a notebook, too, where cloudpickle is there, as with all engines."""
    try:
        import cloudpickle as pickling
    except ImportError:
        import pickle as pickling  # nosec B403
    packed: bytes = pickling.dumps(model)
    return packed


def _require_own(model: Any) -> None:
    if model is not None:
        raise ValueError("an Explainer brings its own model; leave `model` out, or give the explainer's file")


def _require_trust(path: Any, trusted: bool) -> None:
    if not trusted:
        raise ValueError(
            f"loading the model {os.fspath(path)!r} runs code in it; if you trust who made it, pass "
            f"trust_model=True"
        )

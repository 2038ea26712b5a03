"""Send an explainer and its model to other processes, which load them once."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from illume.data.limits import most_bytes, require_size
from illume.data.model_files import load_trusted, why_untrusted
from illume.data.schema import Unknown

if TYPE_CHECKING:
    from illume.explainer import Explainer

CACHED = 4  # explainers that a process keeps loaded
_cache: OrderedDict[Hashable, Explainer] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True)
class PackedExplainer:
    """The bytes of an explainer's file and of its pickled model, if there is one."""

    content: bytes
    model: bytes | None
    digest: str  # of the bytes; by it, a process knows what it has loaded
    unknown: Unknown | None = None  # overrides what the file says about unknown categories
    max_bytes: float | None = None  # as in `illume.load`

    def load(self) -> Explainer:
        """Load the explainer, once per process."""
        return _load_once((self.digest, self.unknown), self._load)

    def _load(self) -> Explainer:
        from illume.explainer import load

        model = None if self.model is None else load_trusted(self.model)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "explainer.illume"
            path.write_bytes(self.content)
            loaded = load(path, model, max_bytes=self.max_bytes)
        return loaded if self.unknown is None else loaded.set_params(unknown=self.unknown)


def pack(
    explainer: Explainer | str | os.PathLike[str],
    model: Any = None,
    trust_model: bool = False,
    rules: bool = True,
) -> PackedExplainer:
    """Pack an explainer with all its rows and its own model, or a file with a model or its file.

    With `rules`, an explainer grows its rules first; otherwise every process would.
    """
    unknown = max_bytes = None
    if isinstance(explainer, (str, os.PathLike)):
        require_size(2 * os.stat(explainer).st_size, f"reading {explainer}", most_bytes())
        content = Path(explainer).read_bytes()
    else:
        max_bytes = math.inf  # it is in memory already
        _require_no_model(model)
        unknown, model = explainer.unknown, explainer.model
        fitted = explainer.fit_rules() if rules else explainer
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "explainer.illume"
            strict = copy(fitted).set_params(unknown="error")  # the digest does not depend on `unknown`
            strict.save(path, rows="all", rules=rules)
            content = path.read_bytes()
    pickled = None if model is None else _model_bytes(model, trust_model)
    digest = hashlib.sha256(content + b"\0" + (pickled or b"")).hexdigest()
    return PackedExplainer(content, pickled, digest, unknown, max_bytes)


def load_explainer(
    explainer: Explainer | PackedExplainer | str | os.PathLike[str],
    model: Any = None,
    trust_model: bool = False,
) -> Explainer:
    """Return an explainer given itself, packed, or as a file, which is read once until it changes."""
    if isinstance(explainer, PackedExplainer):
        return explainer.load()
    if not isinstance(explainer, (str, os.PathLike)):
        _require_no_model(model)
        return explainer
    path = explainer
    in_file = isinstance(model, (str, os.PathLike))
    if in_file:
        _require_trust(model, trust_model)

    def read() -> Explainer:
        from illume.explainer import load

        return load(path, load_trusted(Path(model).read_bytes()) if in_file else model)

    return _load_once((_file_stamp(path), _file_stamp(model) if in_file else id(model)), read)


def _load_once(key: Hashable, read: Callable[[], Explainer]) -> Explainer:
    with _lock:
        if key not in _cache:
            _cache[key] = read()
            while len(_cache) > CACHED:
                _cache.popitem(last=False)
        _cache.move_to_end(key)
        return _cache[key]


def _file_stamp(path: str | os.PathLike[str]) -> tuple[str, int, int]:
    found = os.stat(path)
    return os.path.realpath(path), found.st_mtime_ns, found.st_size


def _model_bytes(model: Any, trusted: bool) -> bytes:
    if isinstance(model, (str, os.PathLike)):
        _require_trust(model, trusted)
        return Path(model).read_bytes()
    try:
        import cloudpickle as pickler  # also pickles functions defined in a notebook
    except ImportError:
        import pickle as pickler  # nosec B403
    try:
        pickled: bytes = pickler.dumps(model)
    except Exception as error:  # pickling fails in many ways
        raise ValueError(
            f"the model, a {type(model).__name__}, cannot be sent to other processes ({error}); save it with "
            f"joblib and give the path of its file"
        ) from error
    return pickled


def _require_no_model(model: Any) -> None:
    if model is not None:
        raise ValueError("an Explainer brings its own model; leave `model` out, or give the explainer's file")


def _require_trust(path: str | os.PathLike[str], trusted: bool) -> None:
    why = None if trusted else why_untrusted(path)
    if why is not None:
        raise ValueError(f"{why}; if you trust who made it, pass trust_model=True")

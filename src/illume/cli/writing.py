"""Files that are either the old or the new one, never half of it, and a stdout that is only the answer."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from illume.cli.errors import CommandError, UsageError


def require_output(path: Path, suffixes: tuple[str, ...], *inputs: Path | None) -> None:
    """Refuse, before any work is done, an output that cannot be written or is one of the inputs."""
    if not path.name.lower().endswith(suffixes):
        raise UsageError(f"the output {path} must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise CommandError(f"the output {path} is a folder; name a file in it")
    if not path.resolve().parent.is_dir():
        raise CommandError(f"the folder of the output {path} does not exist; make it first")
    for given in inputs:
        if given is not None and given.exists() and path.exists() and given.samefile(path):
            raise UsageError(f"the output {path} is also an input; name another file")


def finite(value: Any) -> Any:
    """Return what JSON knows: no NaN and no infinity, which become null.

    >>> finite({"a": [1.5, float("nan")], "b": (True, None)})
    {'a': [1.5, None], 'b': [True, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON text, as other programs read it.

    >>> as_json({"r2": float("nan"), "name": "größer"})
    '{"r2": null, "name": "größer"}'
    """
    return json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)


def answer(text: str) -> None:
    """Write an answer to stdout."""
    sys.stdout.write(f"{text}\n")

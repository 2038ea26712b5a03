"""Writing a file so that it is there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def destination(path: str | os.PathLike[str]) -> Path:
    """Return where to write, or say at once why that cannot be."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it, such as {target / 'report.html'}")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {target.parent} to write {target.name} into; make it first"
        )
    return target


def write(target: Path, text: str) -> Path:
    """Write text beside the target, then put it in its place in one step."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "xmlcharrefreplace"))
        beside.chmod(0o666 & ~_mask())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return target


def _mask() -> int:
    """Return which permissions new files go without."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

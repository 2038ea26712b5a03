"""Writing a file so that it is there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from illume.data import archive


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
    """Write the page as a whole, or leave what was there."""
    archive.write(target, text.encode("utf-8", "xmlcharrefreplace"))
    return target

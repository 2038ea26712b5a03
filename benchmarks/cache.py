"""The folder of what takes long to make: fitted black boxes and explainers; git does not see it."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "ILLUME_CACHE"


def cache_folder() -> Path:
    """Return the folder, made if need be."""
    path = Path(os.environ.get(CACHE) or Path(__file__).parent / ".cache")
    path.mkdir(parents=True, exist_ok=True)
    if not (path / ".gitignore").exists():
        (path / ".gitignore").write_text("*\n")
    return path

"""Files that appear whole or not at all, written by somebody who wants a path."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the place of `path` once all went well."""
    target = path.resolve()
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}.tmp{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)

"""Models from files: joblib and pickle files, which run code, and skops files, which run none."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from illume.errors import import_extra

ZIP = b"PK\x03\x04"  # skops files are zips, pickles are not
SHOWN = 5


def is_skops(path: str | os.PathLike[str]) -> bool:
    """Whether a file was written by `skops.io.dump`."""
    with Path(path).open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def why_untrusted(path: str | os.PathLike[str]) -> str | None:
    """Return why a model's file needs trust before it is loaded, None if it does not."""
    if not is_skops(path):
        return (
            f"loading the model {os.fspath(path)!r} runs code in it, as with every pickle that joblib writes "
            f"(skops.io.dump writes files without code)"
        )
    unknown = import_extra("skops.io", "skops").get_untrusted_types(file=os.fspath(path))
    if not unknown:
        return None
    names = ", ".join(unknown[:SHOWN]) + (", …" if len(unknown) > SHOWN else "")
    return f"the model {os.fspath(path)!r} holds types that skops does not vouch for: {names}"


def load_trusted(content: bytes) -> Any:
    """Load a model from the content of a file that is trusted, whatever is in it."""
    if content.startswith(ZIP):
        skops = import_extra("skops.io", "skops")
        return skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    import joblib

    return joblib.load(io.BytesIO(content))

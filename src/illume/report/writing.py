"""Writing a file so that it is there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from illume.data import archive
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report.content import content
from illume.report.explained import Options, explain
from illume.report.page import page


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


def write_report(
    fitted: Fitted,
    parameters: Mapping[str, Any],
    X: Any,
    path: str | os.PathLike[str],
    options: Options,
    *,
    title: str | None = None,
    date: Any = None,
) -> Path:
    """Write a report on the user's rows; see `Explainer.report`."""
    target = destination(path)
    frame = fitted.as_frame(X)
    if not len(frame):
        raise SchemaError("the frame holds no rows; a report needs at least one")
    explained = explain(fitted, frame, options, parameters["verbose"])
    return write(target, page(content(fitted, parameters, explained, title, date)))

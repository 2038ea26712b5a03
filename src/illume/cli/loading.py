"""An explainer from its file, with its model where one is given, and rows that fit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from illume.cli.errors import CommandError
from illume.cli.models import load_model
from illume.cli.reading import read_rows
from illume.cli.voice import Voice


def load_explainer(
    path: Path, model: Path | None, voice: Voice, trusted: bool = False, unknown: str | None = None
) -> Any:
    """Return the explainer in a file; the black box, which is not stored, comes from the model's file.

    `unknown` says what to do with categories that were not seen; None is as the explainer was fitted.
    """
    import illume

    if not path.is_file():
        raise CommandError(f"the explainer {path} does not exist; `illume fit` makes one")
    black_box = None if model is None else load_model(model, voice, trusted)
    explainer = illume.load(path, model=black_box)
    if unknown is not None:
        explainer.set_params(unknown=str(unknown))
    return explainer


def model_beside(path: Path) -> Path:
    """Return where `illume fit --train` writes the model of an explainer.

    >>> model_beside(Path("a/loans.illume")).as_posix()
    'a/loans.model.joblib'
    """
    return path.with_name(f"{path.name.removesuffix('.illume')}.model.joblib")


def how_to_give_model(path: Path) -> str:
    """Say how to give the model of an explainer, by its name if it lies beside."""
    beside = model_beside(path)
    return f"--model {beside if beside.is_file() else 'FILE'}"


def rows_for(explainer: Any, path: Path) -> Any:
    """Return the rows of a file; columns that held text while fitting are read as text.

    In a few rows, all values of a column of text may look like numbers.
    """
    texts = [
        feature.name
        for feature in explainer.schema_.features
        if not feature.numeric and any(isinstance(value, str) for value in feature.categories)
    ]
    rows = read_rows(path, texts)
    if not len(rows):
        raise CommandError(f"{path} holds no rows; expected some below the line of column names")
    return rows

"""An explainer from its file, with its model where one is given, and rows that fit it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from illume.cli.csv_files import MISSING, Reading
from illume.cli.errors import CommandError
from illume.cli.models import load_model
from illume.cli.options import words_of
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


def rows_for(explainer: Any, path: Path, missing: Iterable[str] | None = None) -> Any:
    """Return the rows of a file, CSV read as when the explainer was fitted.

    Columns that held text are read as text, for in a few rows all values may look like numbers, and others as
    they look. The words that count as missing are those given, or those of `illume fit`.
    """
    rows = read_rows(path, reading_for(explainer, missing))
    if not len(rows):
        raise CommandError(f"{path} holds no rows; expected some below the line of column names")
    return rows


def reading_for(explainer: Any, missing: Iterable[str] | None = None) -> Reading:
    """Return how CSV is read for an explainer."""
    texts: list[str] = []
    plain: list[str] = []
    categories = {}
    for feature in explainer.schema_.features:
        known = frozenset(value for value in feature.categories if isinstance(value, str))
        (texts if known else plain).append(feature.name)
        categories[feature.name] = known
    words = words_of(missing)
    if words is None:
        words = explainer.fitted_.missing_words
    return Reading(tuple(texts), tuple(plain), MISSING if words is None else words, categories)

"""Explainers, models and rows from files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from illume.cli.messages import CommandError, Messages, UsageError, show
from illume.cli.options import split_names
from illume.cli.read_rows import MISSING, CsvOptions, read_rows
from illume.data.model_files import is_skops, load_trusted, why_untrusted
from illume.errors import SchemaError

if TYPE_CHECKING:
    from illume import Explainer


def load_explainer(
    path: Path, model: Path | None, messages: Messages, trusted: bool = False, unknown: str | None = None
) -> Explainer:
    """Load an explainer, with its model if given; `unknown` overrides how it treats unknown categories."""
    import illume

    require_file(path)
    black_box = None if model is None else load_model(model, messages, trusted)
    explainer = illume.load(path, model=black_box)
    if unknown is not None:
        explainer.set_params(unknown=str(unknown))
    return explainer


def ask(explainer: Explainer, positive_class: str | None, threshold: float | None) -> Explainer:
    """Set the class that explanations are for, and from which probability on it is decided, if given."""
    asked = {"positive_class": positive_class, "threshold": threshold}
    try:
        explainer.set_params(**{name: value for name, value in asked.items() if value is not None})
        explainer._require_fitted()
    except ValueError as error:
        raise UsageError(flag_question(str(error))) from None
    return explainer


def flag_question(text: str) -> str:
    """Return an error about a question with the options of the command line.

    >>> flag_question("threshold must be a probability")
    '--threshold must be a probability'
    """
    return text.replace("positive_class", "--positive-class").replace("threshold", "--threshold", 1)


def require_file(explainer: Path) -> None:
    """Raise if an explainer's file does not exist."""
    if not explainer.is_file():
        raise CommandError(f"the explainer {explainer} does not exist; create it with `illume fit`")


def model_path(explainer: Path) -> Path:
    """Return where `illume fit --train` writes the model.

    >>> model_path(Path("a/loans.illume")).as_posix()
    'a/loans.model.joblib'
    """
    return explainer.with_name(f"{explainer.name.removesuffix('.illume')}.model.joblib")


def model_option(explainer: Path) -> str:
    """Return the option that gives an explainer's model, with its path if it is beside the explainer."""
    path = model_path(explainer)
    return f"--model {path if path.is_file() else 'FILE'} --trust-model"


def note_stand_in(explainer: Path, model: Path | None, messages: Messages) -> None:
    """Tell if there is no model."""
    if model is None:
        option = model_option(explainer)
        messages.note(f"without the model, its twin answers; give it with {option}")


def load_model(path: Path, messages: Messages, trusted: bool = False) -> Any:
    """Load a model from a joblib, pickle or skops file; one that runs code must be trusted."""
    import joblib

    if not path.is_file():
        raise CommandError(
            f"the model {path} does not exist; save yours with joblib.dump(model, {path.name!r})"
        )
    require_trust(path, trusted)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            model = load_trusted(path.read_bytes()) if is_skops(path) else joblib.load(path)
    except ModuleNotFoundError as error:
        raise CommandError(
            f"the model {path} needs the module {error.name!r}, which is not installed; install its package, "
            f"or put its folder on PYTHONPATH"
        ) from error
    except Exception as error:
        raise CommandError(
            f"{path} cannot be loaded as a model: {type(error).__name__}: {error}; "
            f"expected a file written by joblib.dump or skops.io.dump"
        ) from error
    for note in dict.fromkeys(_version_note(path, warning.message) for warning in caught):
        messages.note(note)
    return model


def write_model(model: Any, path: Path, messages: Messages) -> None:
    """Write a model to a joblib file, completely or not at all."""
    import joblib

    from illume.data.archive import atomic_path

    with atomic_path(path) as temporary:
        joblib.dump(model, temporary)
    messages.info(f"Model written to {path}")


def require_trust(path: Path, trusted: bool) -> None:
    """Ask on a terminal whether a model's file is trusted, or raise, before anything of it is loaded."""
    why = None if trusted else why_untrusted(path)
    if why is None:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        show(f"{why[0].upper()}{why[1:]}.", err=True)
        if typer.confirm("Do you trust who made it?", err=True):
            return
    raise CommandError(f"{why}; it was not loaded: if you trust who made it, add --trust-model")


def _version_note(path: Path, warning: Warning | str) -> str:
    saved, here = (getattr(warning, f"{which}_sklearn_version", None) for which in ("original", "current"))
    if saved is None:
        return str(warning)
    return f"{path} was saved under scikit-learn {saved}, this is {here}; its answers may differ"


def require_features(model: Any, columns: Sequence[str], target: str | None) -> None:
    """Raise if rows lack a column that the model uses, or have too many if it does not name its columns."""
    from illume.data.schema import describe_unknown

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    for name in names:
        if name == target:
            raise SchemaError(
                f"the model was trained with the target {name!r} among its features; name another target"
            )
        if name not in columns:
            raise SchemaError(f"the model was trained with {describe_unknown(name, columns)}")
    expected = getattr(model, "n_features_in_", len(columns))
    if not names and expected != len(columns):
        raise SchemaError(
            f"the model takes {expected} columns without naming them, and there are {len(columns)}: "
            f"{', '.join(columns[:8])}{', …' if len(columns) > 8 else ''}; leave others out with --drop A,B"
        )


def read_rows_for(explainer: Explainer, path: Path, missing: Iterable[str] | None = None) -> Any:
    """Return the rows of a file, with CSV read as in `illume fit`."""
    categories = {
        feature.name: frozenset(value for value in feature.categories if isinstance(value, str))
        for feature in explainer.schema_.features
    }
    words = explainer.fitted_.missing_words if missing is None else split_names(missing)
    csv = CsvOptions(
        # Text stays text, even if all values of a few rows look like numbers.
        text=tuple(name for name, known in categories.items() if known),
        plain=tuple(name for name, known in categories.items() if not known),
        missing=MISSING if words is None else words,
        categories=categories,
    )
    rows = read_rows(path, csv)
    if not len(rows):
        raise CommandError(f"{path} holds no rows; expected some below the line of column names")
    return rows

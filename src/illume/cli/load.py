"""Explainers, models and rows from files."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from illume.cli.messages import CommandError, Messages, show
from illume.cli.options import Model, Names, Question
from illume.cli.read_rows import read_rows
from illume.data.model_files import is_skops, load_trusted, why_untrusted
from illume.errors import SchemaError

if TYPE_CHECKING:
    from illume import Explainer

MODEL_OPTION = "--model FILE --trust-model"
NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # module:name


def load_explainer(
    path: Path,
    messages: Messages,
    model: Model | None = None,
    question: Question | None = None,
    unknown: str | None = None,
) -> Explainer:
    """Load an explainer, with its model if given, and ask it a question; `unknown` overrides its own."""
    import illume

    require_file(path)
    explainer = illume.load(path, model=load_model(model, messages) if model else None)
    asked = {**vars(question or Question()), "unknown": None if unknown is None else str(unknown)}
    return explainer.set_params(**{name: value for name, value in asked.items() if value is not None})


def require_file(explainer: Path) -> None:
    """Raise if an explainer's file does not exist."""
    if not explainer.is_file():
        raise CommandError(f"the explainer {explainer} does not exist; create it with `illume fit`")


def note_stand_in(model: Model, messages: Messages) -> None:
    """Tell if there is no model."""
    if model.model is None:
        messages.note(f"without the model, its twin answers; give it with {MODEL_OPTION}")


def model_file(given: Model) -> Path | None:
    """Return the file of a model; None if it is a name in a module, or not given.

    >>> model_file(Model("scoring.models:predict"))
    """
    if given.model is None or (NAMED.fullmatch(given.model) and not Path(given.model).exists()):
        return None
    return Path(given.model)


def load_model(given: Model, messages: Messages) -> Any:
    """Load a model from a joblib, pickle or skops file, which must be trusted if it runs code, or by name."""
    if given.model is None:
        return None
    path = model_file(given)
    if path is None:
        return _import_model(given.model)
    require_model_file(given)
    import joblib

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            model = load_trusted(path.read_bytes()) if is_skops(path) else joblib.load(path)
    except ModuleNotFoundError as error:
        raise _module_error(given.model, error) from error
    except Exception as error:
        raise CommandError(
            f"{path} cannot be loaded as a model: {type(error).__name__}: {error}; "
            f"expected a file written by joblib.dump or skops.io.dump"
        ) from error
    for note in dict.fromkeys(_version_note(path, warning.message) for warning in caught):
        messages.note(note)
    return model


def require_model_file(given: Model) -> None:
    """Raise if a model's file is not there, or not trusted; a terminal is asked. Nothing is loaded."""
    path = model_file(given)
    if path is None:
        return
    if not path.is_file():
        raise CommandError(
            f"the model {path} does not exist; save yours with joblib.dump(model, {path.name!r}), or name it "
            f"by its module: --model MODULE:NAME"
        )
    why = None if given.trust_model else why_untrusted(path)
    if why is None:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        show(f"{why[0].upper()}{why[1:]}.", err=True)
        if typer.confirm("Do you trust who made it?", err=True):
            return
    raise CommandError(f"{why}; it was not loaded: if you trust who made it, add --trust-model")


def _import_model(name: str) -> Any:
    """Import a model, or a function from rows to answers, from a module of the environment or this folder."""
    module, _, attribute = name.partition(":")
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append(str(Path.cwd()))
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        raise _module_error(name, error) from error
    except Exception as error:
        raise CommandError(f"importing {module} failed: {type(error).__name__}: {error}") from error
    try:
        return attrgetter(attribute)(imported)
    except AttributeError as error:
        raise CommandError(
            f"the module {module} has no {attribute!r}; name a model in it, or a function of rows"
        ) from error


def _module_error(model: str, error: ModuleNotFoundError) -> CommandError:
    return CommandError(
        f"the model {model} needs the module {error.name!r}, which is not installed; install its package, "
        f"or put its folder on PYTHONPATH"
    )


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


def read_rows_for(explainer: Explainer, path: Path, missing: Names = None, text: Names = None) -> Any:
    """Return the rows of a file, with CSV read as the explainer's schema says; `text` columns are copied."""
    categories = {feature.name: feature.categories for feature in explainer.schema_.features}
    copied = [name for name in text or () if name not in explainer.fitted_.columns]
    rows = read_rows(path, text=copied, missing=missing, categories=categories)
    if not len(rows):
        raise CommandError(f"{path} holds no rows; expected some below the line of column names")
    return rows

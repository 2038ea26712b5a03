"""Models in joblib files: loading them runs code in them, and that is said."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from illume.cli.errors import CommandError
from illume.cli.voice import Voice
from illume.data.archive import atomic_path
from illume.errors import MissingExtraError, SchemaError


def load_model(path: Path, voice: Voice, trusted: bool = False) -> Any:
    """Return the model in a joblib or pickle file, after a warning unless it is trusted."""
    if not path.is_file():
        raise CommandError(
            f"the model {path} does not exist; save yours with joblib.dump(model, {path.name!r})"
        )
    if not trusted:
        warn_of_code(path, voice)
    try:
        import joblib
    except ImportError as error:
        raise MissingExtraError.of("joblib", "cli") from error
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            model = joblib.load(path)
    except ModuleNotFoundError as error:
        raise CommandError(
            f"the model {path} needs the module {error.name!r}, which is not here; install its package, "
            f"or put its folder on PYTHONPATH"
        ) from error
    except Exception as error:
        raise CommandError(
            f"{path} cannot be loaded as a model: {type(error).__name__}: {error}; "
            f"expected a file of joblib.dump"
        ) from error
    for note in dict.fromkeys(_note(path, warning.message) for warning in caught):
        voice.note(note)
    return model


def warn_of_code(path: Path, voice: Voice) -> None:
    """Warn of what loading a model does."""
    voice.warning(
        f"loading {path} runs code in it; load only models of people you trust (--trust-model: I do)"
    )


def save_model(model: Any, path: Path) -> None:
    """Write a model with joblib; the file is replaced in one step."""
    import joblib

    with atomic_path(path) as temporary:
        joblib.dump(model, temporary)


def require_features(model: Any, columns: Sequence[str], target: str | None) -> None:
    """Refuse rows that lack a column the model was trained with, or have too many where it names none."""
    from illume.data.schema import describe_unknown

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    for name in names:
        if name == target:
            raise SchemaError(
                f"the model was trained with the target {name!r} among its features; name another target"
            )
        if name not in columns:
            raise SchemaError(f"the model was trained with {describe_unknown(name, columns)}")
    taken = getattr(model, "n_features_in_", len(columns))
    if not names and taken != len(columns):
        raise SchemaError(
            f"the model takes {taken} columns and does not say which, and there are {len(columns)}: "
            f"{', '.join(columns[:8])}{', …' if len(columns) > 8 else ''}; leave others out with --drop A,B"
        )


def _note(path: Path, warning: Warning | str) -> str:
    """Say in one line that the versions differ; other warnings are said as they are."""
    trained, here = (getattr(warning, f"{which}_sklearn_version", None) for which in ("original", "current"))
    if trained is None:
        return str(warning)
    return f"{path} was saved under scikit-learn {trained}, this is {here}; its answers may differ"

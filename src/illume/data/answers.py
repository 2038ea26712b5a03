"""Checks of what a model answered, and of single values."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.number_text import count
from illume.errors import BlackBoxError, NewNumberError

MOST_NAMED = 10
SLACK, ROUNDING = 1e-3, 1e-6  # by which a sum may differ from 1, and a probability be outside of 0 to 1
ADVICE = "pass an object with predict_proba or predict, or a callable from a frame to its answers"


def as_answer(answer: Any, n_rows: int) -> np.ndarray[Any, Any]:
    """Return an answer as an array (n,) or (n, c) of numbers or labels; raise for anything else."""
    if hasattr(answer, "detach"):  # a torch tensor that still carries gradients
        answer = answer.detach().cpu()
    try:
        raw = np.asarray(answer)
    except ValueError as error:
        raise BlackBoxError(f"the model's answer is no array: {error}; {ADVICE}") from error
    if raw.ndim not in (1, 2) or len(raw) != n_rows or (raw.ndim == 2 and not raw.shape[1]):
        raise BlackBoxError(
            f"the model answered {count(n_rows, 'row')} with shape {np.shape(answer)}, expected ({n_rows},), "
            f"or ({n_rows}, c) for c classes or numbers"
        )
    if raw.dtype.kind not in "fiubOUST":
        raise BlackBoxError(
            f"the model answered with {raw.dtype}, expected numbers, probabilities or labels; {ADVICE}"
        )
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    raw = _without_objects(raw) if raw.dtype.kind == "O" else raw
    if raw.dtype.kind == "f":
        bad = ~np.isfinite(raw.reshape(n_rows, -1)).all(1)
        if bad.any():
            raise bad_rows(bad, "the model answered NaN or infinity")
    return raw


def _without_objects(raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of objects as numbers, if all are, or as labels in text.

    >>> _without_objects(np.array([1, 2.5, Decimal("0.5")], dtype=object))
    array([1. , 2.5, 0.5])
    """
    missing = np.array([is_missing(value) for value in raw.flat], dtype=bool).reshape(len(raw), -1)
    if missing.any():
        raise bad_rows(np.asarray(missing.any(1)), "the model answered None or NaN")
    if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in raw.flat):
        whole = all(isinstance(value, Integral) and abs(int(value)) < 2**63 for value in raw.flat)
        return raw.astype(np.int64 if whole else np.float64)
    return raw.astype(str)


def is_distribution(raw: np.ndarray[Any, Any]) -> bool:
    """Whether an answer can be probabilities: of the second of two classes, or of several, which sum to 1."""
    if raw.dtype.kind != "f" or not raw.size or raw.min() < 0 or raw.max() > 1:
        return False
    return raw.ndim == 1 or bool(np.abs(raw.sum(1) - 1.0).max() <= SLACK)


def is_labels(raw: np.ndarray[Any, Any]) -> bool:
    """Whether an answer can only be labels of classes: text, or True and False."""
    return raw.dtype.kind not in "fiub" or (raw.ndim == 1 and raw.dtype.kind == "b")


def require_probabilities(raw: np.ndarray[Any, Any]) -> FloatArray:
    """Return an answer as probabilities (n, c); raise unless every row is a distribution over classes."""
    if raw.dtype.kind not in "fiub" or (raw.ndim == 1 and raw.dtype.kind != "f"):
        example = f" such as {raw.flat[:1].tolist()[0]!r}" if raw.size else ""
        raise BlackBoxError(f"the model answered with labels{example}, expected probabilities; {ADVICE}")
    P = raw.astype(np.float64, copy=False)
    if P.ndim == 1:
        P = np.stack([1.0 - P, P], axis=1)
    if not P.size or (P.min() >= 0 and P.max() <= 1 and np.abs(P.sum(1) - 1.0).max() <= SLACK):
        return P
    beyond, off = np.maximum(-P, P - 1.0), np.abs(P.sum(1) - 1.0)  # outside of 0 to 1, and of a sum of 1
    bad = np.asarray((beyond > ROUNDING).any(1) | (off > SLACK))
    if not bad.any():
        return P
    row = int(bad.argmax())
    if off[row] > ROUNDING and beyond[row].max() <= SLACK:
        raise bad_rows(bad, f"the model's probabilities sum to {P[row].sum():.6g}, not to 1; {ADVICE}")
    found = P[row, ::-1][beyond[row, ::-1].argmax()]
    raise bad_rows(bad, f"the model answered {found:.7g}, which is no probability; {ADVICE}")


def require_numbers(raw: np.ndarray[Any, Any], positive: bool = False) -> FloatArray:
    """Return an answer as numbers (n, c); with `positive`, raise unless all are above 0."""
    if raw.dtype.kind not in "fiu":
        example = f" such as {raw.flat[:1].tolist()[0]!r}" if raw.size else ""
        raise BlackBoxError(
            f"the model answered with labels{example}, expected numbers; for a classifier, leave out "
            "task='regression'"
        )
    P = raw.astype(np.float64, copy=False)
    P = P[:, None] if P.ndim == 1 else P
    bad = np.asarray((P <= 0).any(1))
    if positive and bad.any():
        found = P[bad.argmax()].min()
        raise bad_rows(bad, f"the model answered {found:g}, but link='log' needs numbers above 0")
    return P


def label_positions(raw: np.ndarray[Any, Any], known: Sequence[str]) -> IntArray:
    """Return the position of each label among all."""
    if raw.ndim != 1:
        raise BlackBoxError(f"the model answered {raw.shape[1]} values a row, expected one label; {ADVICE}")
    labels, which = np.unique(raw, return_inverse=True)
    unknown = [label for label in labels.tolist() if str(label) not in known]
    if unknown:
        advice = "name all labels with class_names"
        if not is_labels(raw):
            advice = f"say task='regression' if these are numbers, or {advice}"
        error = bad_rows(
            raw == unknown[0],
            f"the model answered {unknown[0]!r}, which is none of the labels seen before, {list(known)}; "
            f"{advice}",
        )
        raise error if is_labels(raw) else NewNumberError(error.message, error.rows, error.more)
    places = [known.index(str(label)) for label in labels.tolist()]
    return np.array(places, dtype=np.intp)[which]


def bad_rows(bad: BoolArray, message: str) -> BlackBoxError:
    """Return an error that names the first bad rows."""
    rows = np.flatnonzero(bad)
    return BlackBoxError(message, tuple(rows[:MOST_NAMED].tolist()), more=len(rows) > MOST_NAMED)


def is_missing(value: Any) -> bool:
    """Whether a single value is None or not a number.

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan")
    (True, True, False)
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA compares to nothing
        return True

"""Labels that a user gives with the rows of a report, checked against what the model answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.answers import is_missing
from illume.data.outputs import Outputs
from illume.errors import SchemaError

MOST_NAMED = 8


def read_labels(outputs: Outputs, y: Any, n_rows: int, model: Any) -> IntArray | FloatArray:
    """Return labels as positions of classes (n,), or as numbers (n, c); raise if they do not fit the rows."""
    raw = np.asarray(y)
    if raw.ndim == 0:
        raise SchemaError(
            f"y must hold the true answer to each row, found {y!r}; pass a column, such as y=frame['target']"
        )
    if len(raw) != n_rows:
        raise SchemaError(f"y holds {len(raw):,} labels, and there are {n_rows:,} rows; pass a label per row")
    columns = raw[:, None] if raw.ndim == 1 else raw
    width = 1 if outputs.decides else len(outputs)
    if columns.ndim != 2 or columns.shape[1] != width:
        expected = f"({n_rows},)" if width == 1 else f"({n_rows}, {width}), a column for each number"
        raise SchemaError(f"y has shape {raw.shape}, expected {expected}")
    missing = np.array([is_missing(label) for label in columns.flat], dtype=bool).reshape(columns.shape)
    if missing.any():
        rows = np.flatnonzero(missing.any(1))
        raise SchemaError(
            f"y is missing for {len(rows):,} of {n_rows:,} rows, first at position {rows[0]}; report on rows "
            f"whose labels are known, or leave y out"
        )
    return _classes(outputs, columns[:, 0], model) if outputs.decides else _numbers(columns)


def _classes(outputs: Outputs, labels: np.ndarray[Any, Any], model: Any) -> IntArray:
    """Return positions of classes; they may have the names that the model itself gives them."""
    found, which = np.unique([_plain(label) for label in labels.tolist()], return_inverse=True)
    own = [_plain(label) for label in np.ravel(getattr(model, "classes_", ())).tolist()]
    for names in (list(outputs.names), own):
        if len(names) == len(outputs) and set(found.tolist()) <= set(names):
            return np.array([names.index(label) for label in found.tolist()], dtype=np.intp)[which]
    unknown = [label for label in found.tolist() if label not in outputs.names]
    shown = ", ".join(map(repr, outputs.names[:MOST_NAMED])) + (", …" if len(outputs) > MOST_NAMED else "")
    raise SchemaError(f"y holds {unknown[0]!r}, which is none of the model's classes: {shown}")


def _plain(label: Any) -> str:
    """Return a label as class names are written.

    >>> _plain(1.0), _plain(True), _plain("1")
    ('1', 'True', '1')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _numbers(columns: np.ndarray[Any, Any]) -> FloatArray:
    try:
        numbers = columns.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"y holds {str(columns.flat[0])!r}, and the model answers with numbers") from error
    if not np.isfinite(numbers).all():
        raise SchemaError("y holds an infinite number; expected finite ones")
    return numbers

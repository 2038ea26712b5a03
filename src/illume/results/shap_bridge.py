"""From attributions to a `shap.Explanation`, for people who have shap's plots in their fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.errors import MissingExtraError

if TYPE_CHECKING:
    from illume.results.attributions import Attributions


OFFSET, REST = "offset of the refinement", "left out"


def explanation(attributions: Attributions, output: int | None, offset: str = "base") -> Any:
    """Return the batch, or one output of it, as shap keeps it: numbers in `data`, the values for display."""
    try:
        import shap
    except ImportError as error:
        raise MissingExtraError.of("shap", "shap") from error
    columns = _in_base(attributions) if offset == "base" else _as_features(attributions, offset)
    values, base, outputs = columns.values, columns.base, attributions.output_names
    if output is not None and values.ndim == 3:
        values, base, outputs = values[:, :, output], base[:, output], outputs[output : output + 1]
    return shap.Explanation(
        values=values,
        base_values=np.ascontiguousarray(base),
        data=_numbers(columns.data),
        display_data=columns.shown,
        feature_names=list(columns.names),
        output_names=list(outputs) if len(outputs) > 1 else outputs[0],
    )


class _Columns(NamedTuple):
    """What shap sees: contributions, base values, the rows, as they are shown, and the columns' names."""

    values: FloatArray
    base: FloatArray
    data: np.ndarray[Any, Any]
    shown: np.ndarray[Any, Any]
    names: tuple[str, ...]


def _in_base(attributions: Attributions) -> _Columns:
    base = attributions.base_values + attributions.offset + attributions.rest
    data = attributions.data
    return _Columns(attributions.values, base, data, data, attributions.feature_names)


def _as_features(attributions: Attributions, offset: str) -> _Columns:
    """Add a column for each term that is no feature's, so that one base value serves all rows."""
    if offset != "feature":
        raise ValueError(f"offset must be 'base' or 'feature', found {offset!r}")
    terms = {OFFSET: attributions.offset, REST: attributions.rest}
    shown = {name: term for name, term in terms.items() if term.any()}
    values = [attributions.values, *(term[:, None] for term in shown.values())]
    data, shape = attributions.data, (len(attributions), len(shown))
    return _Columns(
        np.concatenate(values, axis=1),
        attributions.base_values,
        np.concatenate([data, np.full(shape, np.nan)], axis=1),
        np.concatenate([data, np.full(shape, "", dtype=object)], axis=1),
        (*attributions.feature_names, *shown),
    )


def _numbers(data: np.ndarray[Any, Any]) -> FloatArray:
    """Return numbers as they are, and categories as their position in alphabetical order."""
    if data.dtype != object:
        return data
    columns = [_column(data[:, j]) for j in range(data.shape[1])]
    return np.column_stack(columns) if columns else np.empty(data.shape)


def _column(values: np.ndarray[Any, Any]) -> FloatArray:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)

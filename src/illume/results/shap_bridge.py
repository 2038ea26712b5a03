"""From attributions to a `shap.Explanation`, for people who have shap's plots in their fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.errors import MissingExtraError

if TYPE_CHECKING:
    from illume.results.attributions import Attributions


def explanation(attributions: Attributions, output: int | None) -> Any:
    """Return the batch, or one output of it, as shap keeps it: numbers in `data`, the values for display."""
    try:
        import shap
    except ImportError as error:
        raise MissingExtraError.of("shap", "shap") from error
    outputs = attributions.output_names
    values, base = attributions.values, attributions.base_values + attributions.offset + attributions.rest
    if output is not None and values.ndim == 3:
        values, base, outputs = values[:, :, output], base[:, output], outputs[output : output + 1]
    return shap.Explanation(
        values=values,
        base_values=np.ascontiguousarray(base),
        data=_numbers(attributions.data),
        display_data=attributions.data,
        feature_names=list(attributions.feature_names),
        output_names=list(outputs) if len(outputs) > 1 else outputs[0],
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

"""Attributions as a `shap.Explanation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.errors import import_extra
from illume.results.text import LEFT_OUT, OFFSET

if TYPE_CHECKING:
    from illume.results.attributions import Attributions


def shap_explanation(batch: Attributions, output: int | None, offset: str = "base") -> Any:
    """Return the batch, or one output of it, as a `shap.Explanation`."""
    if offset not in ("base", "feature"):
        raise ValueError(f"offset must be 'base' or 'feature', found {offset!r}")
    shap = import_extra("shap", "shap")
    values, base, data, shown = batch.values, batch.base_values, batch.data, batch.data
    names, outputs = list(batch.feature_names), batch.output_names
    if offset == "base":
        base = base + batch.offset + batch.rest
    else:
        terms = {OFFSET: batch.offset, LEFT_OUT: batch.rest}
        terms = {name: term for name, term in terms.items() if term.any()}
        empty = (len(batch), len(terms))
        values = np.concatenate([values, *(term[:, None] for term in terms.values())], axis=1)
        data = np.concatenate([data, np.full(empty, np.nan)], axis=1)
        shown = np.concatenate([shown, np.full(empty, "", dtype=object)], axis=1)
        names += terms
    if output is not None and values.ndim == 3:
        values, base, outputs = values[:, :, output], base[:, output], outputs[output : output + 1]
    return shap.Explanation(
        values=values,
        base_values=np.ascontiguousarray(base),
        data=_as_numbers(data),
        display_data=shown,
        feature_names=names,
        output_names=list(outputs) if len(outputs) > 1 else outputs[0],
    )


def _as_numbers(data: np.ndarray[Any, Any]) -> FloatArray:
    """Return numbers as they are, and categories as their position in alphabetical order."""
    if data.dtype != object:
        return data
    numbers = np.empty(data.shape)
    for j, column in enumerate(data.T):
        try:
            numbers[:, j] = column.astype(np.float64)
        except (TypeError, ValueError):
            numbers[:, j] = np.unique(column.astype(str), return_inverse=True)[1]
    return numbers

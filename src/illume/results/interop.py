"""Bridges from attributions to shap, shapash and explainerdashboard."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Origin
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


def shapash_contributions(batch: Attributions, output: int | str | None = None) -> dict[str, Any]:
    """Return contributions, a pandas frame or one per class, and base values, (n, n_classes) or (n,).

    For two classes shapash takes the second's contributions alone, and both base values.
    """
    outputs, origin = batch.outputs, Origin("pandas", batch.origin.index)
    tables = [
        origin.frame(dict(zip(batch.feature_names, values.T.copy(), strict=True)))
        for values in outputs.each(batch.values, output)
    ]
    base = outputs.each(batch.base_values + batch.offset + batch.rest, output, total=True)
    return {
        "contributions": tables if len(tables) > 2 else tables[-1],
        "base_values": np.stack(base, axis=1) if len(base) > 1 else base[0],
    }


class DashboardValues(NamedTuple):
    """The two arguments of `set_shap_values`: a base value, and contributions (n, n_features), per class.

    For a number, the base value and the contributions themselves.
    """

    base_value: list[float] | float
    shap_values: list[FloatArray] | FloatArray


def dashboard_values(
    batch: Attributions, dashboard: Any = None, output: int | str | None = None
) -> DashboardValues:
    """Return base values and contributions of every class or of a number; set them if a dashboard is given.

    A dashboard has one base value for all rows, and no place for an offset or for features left out.
    """
    if not len(batch):
        raise ValueError("a dashboard needs at least one row, found none; explain the rows that it shows")
    outputs, beside = batch.outputs, np.abs(batch.offset + batch.rest)
    base = [float(number[0]) for number in outputs.each(batch.base_values[:1], output, total=True)]
    values = outputs.each(batch.values, output)
    if beside.any():
        rows = int(beside.reshape(len(beside), -1).any(1).sum())
        warnings.warn(
            f"on {rows} of {len(beside)} rows base value and contributions differ from the "
            f"{outputs.scale_name}, by at most {beside.max():.3g}: a dashboard has no place for offsets, "
            "nor for features that were left out",
            UserWarning,
            stacklevel=3,
        )
    found = DashboardValues(base, values) if len(base) > 1 else DashboardValues(base[0], values[0])
    if dashboard is not None:
        _require_same_rows(batch, dashboard)
        dashboard.model_output = outputs.dashboard_scale  # shap="kernel" takes all values for probabilities
        dashboard.set_shap_values(*found)
    return found


def _require_same_rows(batch: Attributions, dashboard: Any) -> None:
    columns, names = [str(name) for name in dashboard.columns], list(batch.feature_names)
    if columns != names:
        raise ValueError(
            f"the dashboard has the columns {columns}, the attributions {names}; make it with these, "
            'and with shap="kernel", which leaves the columns of a Pipeline as they are'
        )
    if len(dashboard.X) != len(batch):
        raise ValueError(
            f"the dashboard has {len(dashboard.X)} rows, the attributions {len(batch)}; explain the same"
        )

"""From attributions to what explainerdashboard's `set_shap_values` takes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from illume._typing import FloatArray

if TYPE_CHECKING:
    from illume.results.attributions import Attributions


class DashboardValues(NamedTuple):
    """The two arguments of `set_shap_values`: per class a base value, and contributions (n, n_features)."""

    base_value: list[float]
    shap_values: list[FloatArray]


def values(attributions: Attributions) -> DashboardValues:
    """Return base values and contributions of every class; of two classes the first's are the opposite.

    A dashboard has one base value for all rows, and no place for what is no feature's.
    """
    if not len(attributions):
        raise ValueError("a dashboard needs at least one row, found none; explain the rows that it shows")
    beside = np.abs(attributions.offset + attributions.rest)
    if beside.any():
        rows = int(beside.reshape(len(beside), -1).any(1).sum())
        warnings.warn(
            f"on {rows} of {len(beside)} rows base value and contributions differ from the log-odds, by at "
            f"most {beside.max():.3g}: a dashboard has no place for the offset of refined rows, nor for "
            "features that were left out",
            UserWarning,
            stacklevel=3,
        )
    of_each, base = attributions.values, attributions.base_values[0]
    if of_each.ndim == 2:
        return DashboardValues([-float(base), float(base)], [-of_each, of_each])
    classes = range(of_each.shape[2])
    shared = [np.ascontiguousarray(of_each[:, :, i]) for i in classes]
    return DashboardValues([float(base[i]) for i in classes], shared)


def hand_over(attributions: Attributions, given: DashboardValues, explainer: Any) -> None:
    """Set the values of a `ClassifierExplainer`, and say that they are log-odds.

    With `shap="kernel"` it takes everything for probabilities, whatever `model_output` it was made with.
    """
    columns, rows = [str(name) for name in explainer.columns], len(explainer.X)
    ours = list(attributions.feature_names)
    if columns != ours:
        raise ValueError(
            f"the dashboard has the columns {columns}, the attributions {ours}; make it with these, "
            'and with shap="kernel", which leaves the columns of a Pipeline as they are'
        )
    if rows != len(attributions):
        raise ValueError(
            f"the dashboard has {rows} rows, the attributions {len(attributions)}; explain the same"
        )
    explainer.model_output = "logodds"
    explainer.set_shap_values(*given)

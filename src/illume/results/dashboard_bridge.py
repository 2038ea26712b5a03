"""From attributions to what explainerdashboard's `set_shap_values` takes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

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

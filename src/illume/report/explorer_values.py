"""Values of rows as the explorer's page knows them: what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from illume.data.schema import Feature, Schema

MOST_WHOLE = 2**53  # whole numbers up to here are exact in JSON


def json_categories(categories: Sequence[Hashable | None]) -> list[Any]:
    """Return categories as JSON knows them, all different; what it does not know is text.

    >>> from illume.data.schema import Other
    >>> json_categories([True, 3, 2**70, "x", None, Other.OTHER])
    [True, 3, '1180591620717411303424', 'x', None, '(other)']
    """
    found: list[Any] = []
    for category in categories:
        value = category.item() if isinstance(category, np.generic) else category
        known = value is None or isinstance(value, str)
        if isinstance(value, (int, float)):
            known = math.isfinite(value) and abs(value) <= MOST_WHOLE
        value = value if known else str(value)
        while value in found:
            value = f"{value} "
        found.append(value)
    return found


def categories_in_page(feature: Feature, values: Iterable[Any]) -> list[Any]:
    """Return categories of a feature as the page knows them, those not seen in fit, too; all different."""
    given = list(values)
    known = dict(zip(feature.categories, json_categories(feature.categories), strict=True))
    others = [value for value in dict.fromkeys(given) if value not in known]
    shown = json_categories([*known.values(), *others])[len(known) :]
    known.update(zip(others, shown, strict=True))
    return [known[value] for value in given]


def page_values(schema: Schema, values: np.ndarray[Any, Any]) -> list[list[Any]]:
    """Return values of rows (n, n_features) as the page knows them: numbers, categories, None if missing."""
    columns = []
    for feature, column in zip(schema.features, values.T, strict=True):
        if feature.numeric:
            columns.append([None if math.isnan(value) else float(value) for value in column])
        else:
            columns.append(categories_in_page(feature, column))
    return [list(row) for row in zip(*columns, strict=True)]

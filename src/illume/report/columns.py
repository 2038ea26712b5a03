"""The rows' own values, a column per feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.data.schema import Feature
from illume.report.packing import Packed, pack_codes, pack_numbers
from illume.results.text import format_value


@dataclass(frozen=True)
class Column:
    """One feature: numbers, or positions among the categories that occur."""

    name: str
    values: Packed
    categories: tuple[str, ...] | None


def column(feature: Feature, values: np.ndarray[Any, Any]) -> Column:
    """Pack the values of one feature.

    >>> from illume.data.schema import Kind
    >>> column(Feature("education", Kind.CATEGORICAL), np.array(["low", None], dtype=object)).categories
    ('(missing)', 'low')
    """
    if feature.numeric:
        return Column(feature.name, pack_numbers(values), None)
    texts = [format_value(value) for value in values]
    known = sorted(set(texts))
    at = {text: i for i, text in enumerate(known)}
    return Column(feature.name, pack_codes([at[text] for text in texts], len(known)), tuple(known))

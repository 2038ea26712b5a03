"""One feature's values in all rows of a batch: numbers, or positions among categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.schema import MISSING, Other
from illume.data.values import is_missing
from illume.results.labels import Labels

UNKNOWN = "(unknown)"


@dataclass(frozen=True, eq=False)
class Column:
    """Values of a feature, (n,): numbers, NaN where missing, or positions in `categories`."""

    name: str
    values: FloatArray
    categories: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether the feature is a number."""
        return not self.categories


def column(data: np.ndarray[Any, Any], labels: Labels, j: int) -> Column:
    """Read feature j of rows (n, n_features); a missing category is a category of its own."""
    name, raw = labels.features[j], data[:, j]
    known = labels.categories(j)
    if known is None:
        try:
            return Column(name, raw.astype(np.float64))
        except (TypeError, ValueError):  # a constant column has no inputs that would tell its kind
            known = ()
    texts = [MISSING if is_missing(value) else str(value) for value in raw.tolist()]
    elsewhere = str(Other.OTHER) if str(Other.OTHER) in known else UNKNOWN
    if known:
        texts = [text if text in known or text == MISSING else elsewhere for text in texts]
    categories = (*known, *sorted(set(texts) - set(known)))
    place = {text: float(i) for i, text in enumerate(categories)}
    return Column(name, np.array([place[text] for text in texts]), categories)

"""Features of one row with their contributions."""

from __future__ import annotations

import math
from typing import NamedTuple


class Line(NamedTuple):
    """One feature of one row: its name, its value as text, its contribution and standard error, or NaN.

    `label` is what the feature is called in texts.
    """

    name: str
    value: str
    contribution: float
    standard_error: float
    label: str

    @classmethod
    def rest(cls, name: str, contribution: float) -> Line:
        """Return a term of the score that is no feature."""
        return cls(name, "", contribution, math.nan, name)

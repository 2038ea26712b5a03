"""From which figures on trust is called high, fair or low."""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray
from illume.results.attributions import Attributions

HIGH_AGREEMENT = 0.9
LOW_AGREEMENT = 0.8
LARGE_ERROR = 0.2
LOW_R2 = 0.5
FEW_ROWS = 50

HIGH, FAIR, UNCERTAIN, LOW = "high", "fair", "uncertain", "low"


def level(agreement: float, at_least: float) -> str:
    """Return what to call an agreement that is measured, and at least so large with 95 % confidence.

    >>> level(0.97, 0.95), level(0.9, 0.85), level(0.95, 0.7), level(0.7, 0.6), level(float("nan"), 0.0)
    ('high', 'fair', 'uncertain', 'low', 'low')
    """
    if not agreement >= LOW_AGREEMENT:
        return LOW
    if at_least < LOW_AGREEMENT:
        return UNCERTAIN
    return HIGH if at_least >= HIGH_AGREEMENT else FAIR


def low_trust(attributions: Attributions) -> BoolArray:
    """Return the rows around which the surrogate decides otherwise or is far off, or which it gets wrong.

    Without held-out rows nothing is known, and that is no trust either.
    """
    trust = attributions.trust
    well = (trust.agreement >= LOW_AGREEMENT) & (trust.error <= LARGE_ERROR)
    return np.asarray(~well | ~attributions.faithful)

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

HIGH, FAIR, LOW = "high", "fair", "low"


def level(agreement: float) -> str:
    """Return what to call an agreement; one that is not known is low.

    >>> level(0.95), level(0.85), level(0.5), level(float("nan"))
    ('high', 'fair', 'low', 'low')
    """
    if agreement >= HIGH_AGREEMENT:
        return HIGH
    return FAIR if agreement >= LOW_AGREEMENT else LOW


def low_trust(attributions: Attributions) -> BoolArray:
    """Return the rows around which the surrogate often decides otherwise or is far off, or which it got wrong.

    Without held-out rows nothing is known, and that is no trust either.
    """
    trust = attributions.trust
    well = (trust.agreement >= LOW_AGREEMENT) & (trust.error <= LARGE_ERROR)
    return np.asarray(~well | ~attributions.faithful)

"""From which figures on trust is called high, fair, low, or unknown."""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray
from illume.results.attributions import Attributions
from illume.results.quality import FAIR, HIGH, LOW, UNKNOWN, Quality
from illume.results.trust import typical_errors

__all__ = ["FAIR", "HIGH", "LOW", "UNCERTAIN", "UNKNOWN", "level", "low_trust", "trust_level"]

HIGH_AGREEMENT = 0.9  # of rules
LOW_AGREEMENT = 0.8
LARGE_ERROR = 0.2
LARGE_SHARE = 0.5  # of the size of a row's contributions that their typical error may be
LOW_COVERAGE = 0.9  # of 95 % intervals
LOW_R2 = 0.5
FEW_ROWS = 50
UNCERTAIN = "uncertain"


def trust_level(quality: Quality) -> str:
    """Return how far contributions can be trusted, in a word.

    It follows from their R² on held-out rows. Of kind `pullback` that is not measured; what is known of the
    surrogate's decisions allows for no more than `fair`.
    """
    if quality.contributions is not None:
        return quality.contributions.word
    if not quality.report.n_rows:
        return UNKNOWN
    return level(quality.agreement, quality.report.interval[0], quality.majority)


def level(agreement: float, at_least: float, majority: float) -> str:
    """Return what to call contributions of a surrogate of which only the agreement of decisions is known.

    The agreement is at least so large with 95 % confidence; without looking at rows one reaches that of the
    majority.

    >>> level(0.97, 0.95, 0.6), level(0.95, 0.7, 0.6), level(0.7, 0.6, 0.5), level(0.97, 0.95, 0.98)
    ('fair', 'uncertain', 'low', 'low')
    """
    if not agreement >= LOW_AGREEMENT or agreement <= majority:
        return LOW
    return UNCERTAIN if at_least < LOW_AGREEMENT else FAIR


def low_trust(attributions: Attributions) -> BoolArray:
    """Return the rows whose contributions are far off, or around which the surrogate is.

    Without held-out rows nothing is known, and that is no trust either.
    """
    trust = attributions.trust
    well = (trust.agreement >= LOW_AGREEMENT) & (trust.error <= LARGE_ERROR)
    if attributions.kind == "shapley":
        return np.asarray(
            ~well | ~(trust.contribution_error <= LARGE_SHARE * typical_errors(attributions.values))
        )
    return np.asarray(~well | ~attributions.faithful)

"""Words for how far contributions can be trusted, and their bounds."""

from __future__ import annotations

EXACT, HIGH, FAIR, LOW, UNKNOWN = LEVELS = "exact", "high", "fair", "low", "unknown"
HIGH_SHARE, FAIR_SHARE = 0.9, 0.7  # of the variance, or of a row's squares, that errors leave

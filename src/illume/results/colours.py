"""Colours that colour-blind readers tell apart as well."""

FOR = "#0072b2"
AGAINST = "#d55e00"
NEUTRAL = "#767676"
CATEGORY = "#cc79a7"
# Lighter ones, to write on
FOR_BAR = "#9ecae8"
AGAINST_BAR = "#f5c09a"
SHARE = "#d0d0d0"
CHANGED = "#fdeeb5"


def of(number: float) -> str:
    """Return the colour of a contribution."""
    return FOR if number >= 0 else AGAINST

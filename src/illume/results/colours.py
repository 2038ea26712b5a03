"""Colours that colour-blind readers tell apart as well."""

FOR = "#0072b2"
AGAINST = "#d55e00"
NEUTRAL = "#767676"
CATEGORY = "#cc79a7"
PALE = "#d9d9d9"
INK = "#262626"

# One per class; the light yellow of this well-known set cannot be seen on white, so it is left out.
CLASSES = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Lighter ones, to write on
FOR_BAR = "#9ecae8"
AGAINST_BAR = "#f5c09a"
SHARE = "#d0d0d0"
CHANGED = "#fdeeb5"


def contribution_colour(number: float) -> str:
    """Return the colour of a contribution."""
    return FOR if number >= 0 else AGAINST


def class_colour(c: int) -> str:
    """Return the colour of a class: of two, the first is what contributions speak against.

    >>> class_colour(0) == AGAINST, class_colour(1) == FOR, class_colour(9) == class_colour(1)
    (True, True, True)
    """
    return CLASSES[c % len(CLASSES)]


def class_marker(c: int) -> str:
    """Return the marker of a class, so that colour is never alone, and a ninth class differs from the first.

    >>> class_marker(0), class_marker(8)
    ('o', 's')
    """
    return MARKERS[(c + c // len(CLASSES)) % len(MARKERS)]

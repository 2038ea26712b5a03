"""Colours and markers that colour-blind readers can tell apart."""

FOR, AGAINST, NEUTRAL = "#0072b2", "#d55e00", "#767676"
CATEGORY, PALE, INK = "#cc79a7", "#d9d9d9", "#262626"
CHANGED = "#fdeeb5"  # the background of text

# One per class: Okabe and Ito's set without its yellow, which cannot be seen on white
CLASSES = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def contribution_colour(number: float) -> str:
    """Return the colour of a contribution, by its sign."""
    return FOR if number >= 0 else AGAINST


def class_colour(c: int) -> str:
    """Return the colour of a class; of two, the first has the colour of negative contributions.

    >>> class_colour(0) == AGAINST, class_colour(1) == FOR, class_colour(9) == class_colour(1)
    (True, True, True)
    """
    return CLASSES[c % len(CLASSES)]


def class_marker(c: int) -> str:
    """Return the marker of a class, so that colour is not the only distinction and a ninth class differs.

    >>> class_marker(0), class_marker(8)
    ('o', 's')
    """
    return MARKERS[(c + c // len(CLASSES)) % len(MARKERS)]

"""The axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_LABEL = 32


def given_or_new(ax: Axes | None, height: float = 4.0) -> Axes:
    """Return the given axes, or new ones; nothing is shown."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots") from error
    _, ax = plt.subplots(figsize=(7.0, height), layout="constrained")
    return ax


def short(label: str) -> str:
    """Cut a long label in the middle, so that its end can still be read.

    >>> short("the average number of dependants per household")
    'the average num…ts per household'
    """
    if len(label) <= LONGEST_LABEL:
        return label
    half = (LONGEST_LABEL - 1) // 2
    return f"{label[:half]}…{label[-(LONGEST_LABEL - 1 - half) :]}"


def as_text(label: str) -> str:
    """Keep a dollar sign in a name from starting a formula."""
    return short(label).replace("$", r"\$")


def clean(ax: Axes) -> None:
    """Take away the frame that says nothing."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)

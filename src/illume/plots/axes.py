"""The axes to draw on, and the look that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import IntArray
from illume.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_LABEL = 32


def given_or_new(
    ax: Axes | None, height: float = 4.0, width: float = 7.0, labels: Sequence[str] = ()
) -> Axes:
    """Return the given axes, or new ones, wider for long labels at the side; nothing is shown."""
    if ax is not None:
        return ax
    return new_figure(width + extra_width(labels), height).subplots()


def extra_width(labels: Sequence[str]) -> float:
    """Return by how much labels at the side are longer than usual, in inches."""
    return 0.075 * max(max(map(len, labels), default=0) - 20, 0)


def new_figure(width: float, height: float) -> Figure:
    """Return a new figure in which nothing is clipped; it is pyplot's current one."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots") from error
    return plt.figure(figsize=(width, height), layout="constrained")


def given_or_new_pair(axes: Sequence[Axes] | None, height: float = 4.0, labels: Sequence[str] = ()) -> Any:
    """Return an array of the two given axes, or of two new ones side by side."""
    if axes is None:
        return new_figure(11.0 + extra_width(labels), height).subplots(ncols=2)
    pair = np.asarray(axes, dtype=object).ravel()
    if len(pair) != 2:
        raise ValueError(f"two axes are needed, found {len(pair)}")
    return pair


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """Cut a long label in the middle, so that its end can still be read.

    >>> short("the average number of dependants per household")
    'the average num…ts per household'
    """
    if len(label) <= longest:
        return label
    half = (longest - 1) // 2
    return f"{label[:half]}…{label[-(longest - 1 - half) :]}"


def as_text(label: str, longest: int = LONGEST_LABEL) -> str:
    r"""Shorten a text of the user's, on one line, and keep a dollar sign from starting a formula.

    >>> as_text("price\nin $")
    'price in \\$'
    """
    return short(" ".join(label.split()), longest).replace("$", r"\$")


def clean(ax: Axes) -> None:
    """Take away the frame that says nothing."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)


def widen_if_flat(ax: Axes) -> None:
    """Show a little around numbers that are all the same."""
    left, right = ax.get_xlim()
    if right - left < 0.1:
        ax.set_xlim(left - 0.5, right + 0.5)


def open_frame(ax: Axes) -> None:
    """Keep only the two sides of the frame that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> Any:
    """Name marks by texts of the user's, also such as begin with an underscore, which matplotlib hides."""
    if not handles:
        return None
    drawn = ax.legend(handles, [f"{i}" for i in range(len(labels))], **({"frameon": False} | options))
    for text, label in zip(drawn.get_texts(), labels, strict=True):
        text.set_text(label)
    return drawn


def require(result: Any, kinds: type | tuple[type, ...], what: str, advice: str) -> None:
    """Refuse a result of the wrong kind, and say what to write."""
    if not isinstance(result, kinds):
        raise TypeError(f"{what}, found {result.__class__.__name__}; {advice}")


def require_count(n: int, name: str) -> None:
    """Refuse to show less than one."""
    if n < 1:
        raise ValueError(f"{name} must be at least 1, found {n}")


def marked_rows(rows: int | Sequence[int], n: int) -> IntArray:
    """Return positions as they are counted from the front; a mask will do."""
    chosen = np.atleast_1d(np.asarray(rows))
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.intp)
    if len(chosen) and not ((-n <= chosen) & (chosen < n)).all():
        raise IndexError(f"there are {n} rows, found {chosen.tolist()} to highlight")
    return chosen % max(n, 1)

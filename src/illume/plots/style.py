"""Axes, checks and the look that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.errors import import_extra
from illume.results import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
else:  # an optional dependency
    Axes = Any


def new_figure(width: float, height: float, labels: Sequence[str] = ()) -> Figure:
    """Return a new pyplot figure, wider if the labels on its left are long; nothing is shown."""
    plt = import_extra("matplotlib.pyplot", "plots")
    extra = 0.075 * max(max(map(len, labels), default=0) - 20, 0)
    return plt.figure(figsize=(width + extra, height), layout="constrained")


def get_axes(ax: Axes | None, height: float = 4.0, width: float = 7.0, labels: Sequence[str] = ()) -> Axes:
    """Return `ax`, or the axes of a new figure."""
    return new_figure(width, height, labels).subplots() if ax is None else ax


def get_two_axes(axes: Sequence[Axes] | None, height: float = 4.0, labels: Sequence[str] = ()) -> Any:
    """Return an array of the two given axes, or of two new ones side by side."""
    if axes is None:
        return new_figure(11.0, height, labels).subplots(ncols=2)
    pair = np.asarray(axes, dtype=object).ravel()
    if len(pair) != 2:
        raise ValueError(f"two axes are needed, found {len(pair)}")
    return pair


def require(result: Any, kinds: type | tuple[type, ...], what: str, advice: str) -> None:
    """Raise if the result is of the wrong kind."""
    if not isinstance(result, kinds):
        raise TypeError(f"{what}, found {result.__class__.__name__}; {advice}")


def row_positions(rows: int | Sequence[int], n: int) -> IntArray:
    """Return the positions of rows to highlight, counted from the front; a boolean mask is accepted."""
    chosen = np.atleast_1d(np.asarray(rows))
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.intp)
    if len(chosen) and not ((-n <= chosen) & (chosen < n)).all():
        raise IndexError(f"there are {n} rows, found {chosen.tolist()} to highlight")
    return chosen % max(n, 1)


def strongest(values: FloatArray, n: int) -> IntArray:
    """Return the positions of the `n` largest values, in absolute terms, largest first."""
    return np.argsort(-np.abs(values), kind="stable")[:n]


def signed_bars(
    ax: Axes,
    values: FloatArray,
    labels: Sequence[str],
    *,
    left: Any = 0.0,
    height: float = 0.66,
    reach: FloatArray | None = None,
    colour: str | None = None,
) -> Any:
    """Draw horizontal bars, the first on top, and return them; without a colour, theirs are those of signs.

    A thin line spans the `reach` on both sides of a bar's end.
    """
    tints = [colour or colours.contribution_colour(value) for value in values]
    line: Any = {"xerr": reach, "ecolor": colours.INK, "error_kw": {"elinewidth": 0.9, "zorder": 3}}
    bars = ax.barh(np.arange(len(values)), values, left=left, height=height, color=tints, **line)
    ax.set_yticks(np.arange(len(values)), labels)
    ax.invert_yaxis()
    hide_frame(ax)
    return bars


def zero_line(ax: Axes) -> None:
    """Draw a thin vertical line at zero."""
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8, zorder=0)


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> Any:
    """Add a legend, by default right of the axes; labels may start with an underscore."""
    if not handles:
        return None
    look: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small", "frameon": False}
    # matplotlib drops labels that start with an underscore, so they are set afterwards.
    drawn = ax.legend(handles, [str(i) for i in range(len(labels))], **(look | options))
    for text, label in zip(drawn.get_texts(), labels, strict=True):
        text.set_text(label)
    return drawn


def hide_frame(ax: Axes, *sides: str) -> None:
    """Hide some sides of the frame, by default all but the bottom."""
    ax.spines[list(sides or ("top", "right", "left"))].set_visible(False)
    if not sides:
        ax.tick_params(left=False)


def hide_all(ax: Axes) -> None:
    """Hide the frame and all tick marks, not their labels."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def widen_if_flat(ax: Axes, numbers: FloatArray) -> None:
    """Widen the x axis if all numbers on it are the same."""
    if numbers.size and np.ptp(numbers) <= 1e-9 * np.abs(numbers).max():
        middle = float(numbers.flat[0])
        reach = max(0.5, 0.05 * abs(middle))
        ax.set_xlim(middle - reach, middle + reach)


def write_in_cell(ax: Axes, x: float, y: float, number: str, share: float) -> None:
    """Write into a cell, in white where the colour is more than about two thirds of the darkest."""
    ink = "white" if share > 0.65 else colours.INK
    size = "x-small" if len(number) <= 7 else "xx-small"
    ax.text(x, y, number, ha="center", va="center", fontsize=size, color=ink)

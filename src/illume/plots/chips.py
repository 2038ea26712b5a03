"""Categories as chips on a line: filled where allowed, crossed out where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.plots.axes import as_text
from illume.results import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER = 0.0155  # of the line's length, about
LONGEST = 18


def chips(ax: Axes, y: float, values: list[tuple[str, bool]], own: str | None) -> None:
    """Draw as many chips as fit between 0 and 1, in order, and say how many are left."""
    x, left = 0.0, len(values)
    for name, allowed in values:
        text = as_text(name, LONGEST)
        width = LETTER * (min(len(name), LONGEST) + 3)
        if x + width > (1.0 if left == 1 else 0.86):
            break
        _chip(ax, (x + width / 2, y), text, allowed=allowed, own=name == own)
        x, left = x + width + 0.015, left - 1
    if left:
        ax.text(x + 0.01, y, f"and {left} more", va="center", fontsize="small", color=colours.NEUTRAL)


def _chip(ax: Axes, at: tuple[float, float], text: str, *, allowed: bool, own: bool) -> None:
    box = {
        "boxstyle": "round,pad=0.35",
        "facecolor": colours.FOR if allowed else "white",
        "edgecolor": colours.INK if own else colours.FOR if allowed else colours.NEUTRAL,
        "linewidth": 2.2 if own else 0.8,
        "linestyle": "-" if allowed else ":",
    }
    ink = "white" if allowed else colours.NEUTRAL
    mark = "" if allowed else "✗ "
    ax.text(*at, mark + text, ha="center", va="center", fontsize="small", color=ink, bbox=box, zorder=3)
    if own:
        ax.annotate(
            "this row", at, xytext=(0, 13), textcoords="offset points", ha="center", fontsize="small"
        )

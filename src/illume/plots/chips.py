"""Categories as chips on a line: filled where allowed, crossed out where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from illume.plots.axes import as_text
from illume.results import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 18
LETTERS = 52  # on a line
AROUND = 5  # letters that a chip's frame takes


def chips(ax: Axes, y: float, values: list[tuple[str, bool]], own: str | None) -> None:
    """Draw chips of values, allowed or not, side by side in order; what does not fit on a line is counted."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea

    shown: list[Any] = []
    letters = 0
    for name, allowed in values:
        text = f"{'' if allowed else '✗ '}{'this row: ' if name == own else ''}{as_text(name, LONGEST)}"
        letters += len(text) + AROUND
        if letters > LETTERS and shown:
            break
        shown.append(TextArea(text, textprops=_look(allowed, name == own)))
    left = len(values) - len(shown)
    if left:
        more = f"and {left} more, {sum(allowed for _, allowed in values[-left:])} of them allowed"
        shown.append(TextArea(more, textprops={"fontsize": "small", "color": colours.NEUTRAL}))
    packed = HPacker(children=shown, sep=18, pad=6, align="center")
    box = AnnotationBbox(packed, (0, y), box_alignment=(0, 0.5), frameon=False, pad=0, annotation_clip=False)
    ax.add_artist(box)


def _look(allowed: bool, own: bool) -> dict[str, Any]:
    frame = {
        "boxstyle": "round,pad=0.4",
        "facecolor": colours.FOR if allowed else "white",
        "edgecolor": colours.INK if own else colours.FOR if allowed else colours.NEUTRAL,
        "linewidth": 2.4 if own else 0.8,
        "linestyle": "-" if allowed else ":",
    }
    return {"fontsize": "small", "color": "white" if allowed else colours.NEUTRAL, "bbox": frame}

"""Heat maps of weights: blue for more, orange for less, white for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.results import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERS_WRITTEN = 160  # cells; in a larger map they could not be read
WIDEST_WRITTEN = 10


def heat(ax: Axes, weights: FloatArray, *, left: float = -0.5, top: float = -0.5) -> Any:
    """Draw weights (rows, columns) as unit squares from a corner on, with numbers if there is room."""
    rows, columns = weights.shape
    limit = float(np.abs(weights).max(initial=0.0)) or 1.0
    extent = (left, left + columns, top + rows, top)
    image = ax.imshow(
        weights,
        cmap=diverging(),
        vmin=-limit,
        vmax=limit,
        extent=extent,
        aspect="auto",
        interpolation="nearest",
    )
    if weights.size <= NUMBERS_WRITTEN and columns <= WIDEST_WRITTEN:
        for r, c in np.argwhere(weights):
            weight = weights[r, c]
            ink = "white" if abs(weight) > 0.65 * limit else colours.INK
            where = (left + c + 0.5, top + r + 0.5)
            ax.text(*where, f"{weight:+.2f}", ha="center", va="center", fontsize="x-small", color=ink)
    return image


def diverging() -> Any:
    """Return the colours from less over nothing to more."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("less-more", [colours.AGAINST, "white", colours.FOR])


def name_columns(ax: Axes, names: list[str]) -> None:
    """Name the columns; upright where there is room, else turned."""
    turned: Any = {"rotation": 90} if len(names) > 16 or max(map(len, names), default=0) > 4 else {}
    ax.set_xticks(np.arange(len(names)), names, fontsize="small", **turned)

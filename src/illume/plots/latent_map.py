"""The latent map: where rows stand, what is decided there, and where surrogate and black box differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.plots.axes import as_text, given_or_new, legend, marked_rows, open_frame, require
from illume.plots.dependence import jitter
from illume.plots.names import class_labels
from illume.results import colours
from illume.results.latents import Latents

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 240


def latent_map(latents: Latents, *, highlight: int | Sequence[int] = (), ax: Axes | None = None) -> Axes:
    """Draw every row in the plane of its latents, with colour and marker of the black box's decision.

    Rings mark rows that the surrogate decides otherwise. With two latents, the surrogate's regions are
    shaded; with more, the plane is that of two principal components, in which regions have no border.
    `highlight` gives positions of rows to mark and to name.
    """
    require(latents, Latents, "a latent map shows many rows", "pass explainer.latents(X)")
    ax = given_or_new(ax, 4.8)
    places = latents.plane
    if latents.n_latents == 1:
        places = np.column_stack([places[:, 0], jitter(len(places))])
    handles, labels = _dots(ax, latents, places)
    for row in marked_rows(highlight, len(latents)):
        _name(ax, latents, places, int(row))
    if latents.n_latents <= 2 and len(latents):
        handles.append(_regions(ax, latents))
        labels.append("shaded: surrogate's regions")
    _name_axes(ax, latents)
    options = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
    legend(ax, handles, labels, title="decision", **options)
    open_frame(ax)
    return ax


def _dots(ax: Axes, latents: Latents, places: FloatArray) -> tuple[list[Any], list[str]]:
    decisions = latents.decisions
    size = 22 if len(latents) <= 500 else 10
    handles: list[Any] = []
    labels = []
    names = class_labels(latents.class_names)
    for c in np.unique(decisions):
        x, y = places[decisions == c].T
        look: Any = {"color": colours.class_colour(int(c)), "marker": colours.class_marker(int(c))}
        handles.append(ax.scatter(x, y, s=size, alpha=0.75, linewidths=0, zorder=2, **look))
        labels.append(names[c])
    x, y = places[~latents.agreed].T
    if len(x):
        ring = ax.scatter(
            x, y, s=4 * size, facecolors="none", edgecolors=colours.INK, linewidths=1.1, zorder=3
        )
        handles.append(ring)
        labels.append(f"surrogate decides otherwise\n({len(x)} of {len(latents)} rows)")
    return handles, labels


def _name(ax: Axes, latents: Latents, places: FloatArray, row: int) -> None:
    index = latents.origin.index
    ax.annotate(
        as_text(f"row {row if index is None else index[row]}"),
        tuple(places[row]),
        xytext=(14, 14),
        textcoords="offset points",
        fontsize="small",
        arrowprops={"arrowstyle": "-|>", "color": colours.INK},
        bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": colours.PALE},
        zorder=4,
    )


def _regions(ax: Axes, latents: Latents) -> Any:
    """Shade what the surrogate decides at every place; the view stays as the rows need it."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    grid = np.stack(np.meshgrid(x, y), axis=2)[:, :, : latents.n_latents]
    n = len(latents.class_names)
    shades = ListedColormap([colours.class_colour(c) for c in range(n)])
    extent = (left, right, bottom, top)
    options: Any = {
        "vmin": -0.5,
        "vmax": n - 0.5,
        "origin": "lower",
        "aspect": "auto",
        "alpha": 0.13,
        "zorder": 0,
    }
    ax.imshow(latents.decide(grid), extent=extent, cmap=shades, interpolation="nearest", **options)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return Patch(color=colours.PALE)


def _name_axes(ax: Axes, latents: Latents) -> None:
    if latents.n_latents > 2:
        first, second = (
            f"component {r + 1} of {latents.n_latents} latents ({share:.0%} of the variance)"
            for r, share in enumerate(latents.view.share)
        )
    else:
        first, second = [*(as_text(name) for name in latents.names), ""][:2]
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    if latents.n_latents == 1:
        ax.set_yticks([])

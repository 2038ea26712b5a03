"""Latent map: rows in the latent space, what is decided there, and where surrogate and black box differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.plots.captions import as_label, class_labels, row_label
from illume.plots.dependence import jitter
from illume.plots.style import Axes, get_axes, hide_frame, legend, require, row_positions
from illume.results import colours
from illume.results.latents import Latents

GRID = 240


def latent_map(latents: Latents, *, highlight: int | Sequence[int] = (), ax: Axes | None = None) -> Axes:
    """Draw every row in the plane of its latents, with colour and marker of the black box's decision.

    Rings mark rows on which the surrogate decides differently. With two latents, the surrogate's regions are
    shaded; with more, the plane is that of the first two principal components, in which regions have no
    border. `highlight` gives positions of rows to mark and to name.
    """
    require(latents, Latents, "a latent map shows many rows", "pass explainer.latents(X)")
    ax = get_axes(ax, 4.8)
    places = latents.plane
    if latents.n_latents == 1:
        places = np.column_stack([places[:, 0], jitter(len(places))])
    handles, labels = _draw_dots(ax, latents, places)
    for row in row_positions(highlight, len(latents)):
        _draw_name(ax, row_label(latents.origin.index, int(row)), places[row])
    if latents.n_latents <= 2 and len(latents):
        handles.append(_draw_regions(ax, latents))
        labels.append("shaded: surrogate's regions")
    _label_axes(ax, latents)
    legend(ax, handles, labels, title="decision")
    hide_frame(ax, "top", "right")
    return ax


def _draw_dots(ax: Axes, latents: Latents, places: FloatArray) -> tuple[list[Any], list[str]]:
    """Draw all rows, a ring around those that are decided differently; return handles and labels."""
    decisions, names = latents.decisions, class_labels(latents.class_names)
    size = 22 if len(latents) <= 500 else 10
    handles: list[Any] = []
    labels = []
    for c in np.unique(decisions):
        x, y = places[decisions == c].T
        look: Any = {"color": colours.class_colour(int(c)), "marker": colours.class_marker(int(c))}
        handles.append(ax.scatter(x, y, s=size, alpha=0.75, linewidths=0, zorder=2, **look))
        labels.append(names[c])
    x, y = places[~latents.agreed].T
    if len(x):
        ring: Any = {"facecolors": "none", "edgecolors": colours.INK, "linewidths": 1.1, "zorder": 3}
        handles.append(ax.scatter(x, y, s=4 * size, **ring))
        labels.append(f"surrogate decides differently\n({len(x)} of {len(latents)} rows)")
    return handles, labels


def _draw_name(ax: Axes, name: str, place: FloatArray) -> None:
    arrow = {"arrowstyle": "-|>", "color": colours.INK}
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": colours.PALE}
    look: Any = {"xytext": (14, 14), "textcoords": "offset points", "fontsize": "small", "zorder": 4}
    ax.annotate(name, tuple(place), arrowprops=arrow, bbox=box, **look)


def _draw_regions(ax: Axes, latents: Latents) -> Any:
    """Shade what the surrogate decides at each place of the current view."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    decided = latents.decide(np.stack(np.meshgrid(x, y), axis=2)[:, :, : latents.n_latents])
    n = len(latents.class_names)
    shades = ListedColormap([colours.class_colour(c) for c in range(n)])
    look: Any = {"cmap": shades, "vmin": -0.5, "vmax": n - 0.5, "alpha": 0.13, "zorder": 0}
    place: Any = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto"}
    ax.imshow(decided, interpolation="nearest", **look, **place)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return Patch(color=colours.PALE)


def _label_axes(ax: Axes, latents: Latents) -> None:
    labels = [*(as_label(name) for name in latents.names), ""]
    if latents.n_latents > 2:
        shares = [f"{share:.0%} of the variance" for share in latents.view.share]
        labels = [f"component {r + 1} of {latents.n_latents} latents ({shares[r]})" for r in range(2)]
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if latents.n_latents == 1:
        ax.set_yticks([])

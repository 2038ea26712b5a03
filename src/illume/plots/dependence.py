"""How features act: one by its value (`dependence`), and pairs of them (`interactions`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.plots.captions import as_label, distinct_labels
from illume.plots.look import aligned, tick_label
from illume.plots.looks import look_of
from illume.plots.style import Axes, get_axes, hide_all, hide_frame, legend, require, write_in_cell
from illume.results import colours
from illume.results.attributions import Attributions
from illume.results.frames import Column
from illume.results.interactions import Interactions

SIZE = 18
GOLDEN = 0.6180339887498949
N_COLOURS = 7  # categories with a colour of their own


def dependence(
    attributions: Attributions,
    feature: int | str,
    *,
    colour: int | str | Interactions | None = "auto",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot per row: the feature's value to the right, its contribution upwards.

    Parameters
    ----------
    feature
        By name or position. Categories are drawn side by side with some jitter; rows with a missing number
        are drawn in a separate band.
    colour
        The second feature. "auto" takes the most important other one, `Interactions` the one that interacts
        most with the first; None leaves dots plain.
    output
        The class, by name or position.
    """
    require(attributions, Attributions, "a dependence plot shows many rows", "pass the whole batch")
    j, i = attributions.labels.feature(feature), attributions.output(output)
    column, heights = attributions.column(j), attributions.contributions(i)[:, j]
    ax = get_axes(ax)
    ax.axhline(0, color=colours.NEUTRAL, linewidth=0.8, zorder=0)
    x = _place_categories(ax, column) if not column.numeric else _place_numbers(ax, column.values)
    second = _colour_feature(attributions, j, i, colour)
    if second is None:
        ax.scatter(x, heights, s=SIZE, color=colours.FOR, alpha=0.7, linewidths=0)
    else:
        _draw_coloured(ax, x, heights, attributions.column(second))
    ax.set_xlabel(as_label(column.title, 60))
    look = look_of(attributions)
    look.format_axis(ax.yaxis, i)
    ax.set_ylabel(look.contribution(attributions, i))
    hide_frame(ax, "top", "right")
    return ax


def _colour_feature(
    attributions: Attributions, j: int, i: int, colour: int | str | Interactions | None
) -> int | None:
    """Return the position of the feature to colour by, if any."""
    if isinstance(colour, Interactions):
        name = attributions.feature_names[j]
        colour = colour.partner(name) if name in colour.feature_names else "auto"
    if colour is None:
        return None
    if colour != "auto" or colour in attributions.feature_names:
        return attributions.labels.feature(colour)
    others = np.delete(np.arange(len(attributions.feature_names)), j)
    if not len(others):
        return None
    strength = np.abs(attributions.contributions(i)).sum(0)
    return int(others[strength[others].argmax()])


def _place_numbers(ax: Axes, values: FloatArray) -> FloatArray:
    """Return the x positions of numbers; missing ones go to a marked band on the right."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    low, high = (0.0, 0.0) if missing.all() else (float(np.nanmin(values)), float(np.nanmax(values)))
    span = (high - low) or 1.0
    middle, edge = high + 0.14 * span, high + 0.07 * span
    ticks = np.asarray(ax.xaxis.get_major_locator().tick_values(low, high))
    ax.set_xticks(ticks[(low <= ticks) & (ticks <= high)])
    ax.axvspan(edge, edge + 0.14 * span, color=colours.PALE, alpha=0.4, linewidth=0, zorder=0)
    look: Any = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": "small"}
    ax.text(middle, 1.0, "missing", **look)
    return np.where(missing, middle + 0.09 * span * jitter(len(values)), values)


def _place_categories(ax: Axes, column: Column) -> FloatArray:
    """Return the x positions of categories, side by side."""
    places = np.arange(len(column.category_labels))
    crowded = len(places) > 6 or sum(map(len, column.category_labels)) > 60
    turned: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    small = "x-small" if len(places) > 24 else "medium"
    ax.set_xticks(places, distinct_labels(column.category_labels, 20), fontsize=small, **turned)
    ax.set_xlim(-0.6, len(places) - 0.4)
    return column.values + 0.6 * jitter(len(column.values))


def jitter(n: int) -> FloatArray:
    """Return evenly spread numbers between -.5 and .5, the same every time.

    >>> jitter(3).round(2)
    array([-0.5 ,  0.12, -0.26])
    """
    return np.arange(n) * GOLDEN % 1.0 - 0.5


def _draw_coloured(ax: Axes, x: FloatArray, y: FloatArray, second: Column) -> None:
    """Draw dots in the colours of a second feature, with a colour bar or a legend."""
    if not second.numeric:
        _draw_by_category(ax, x, y, second)
        return
    known = np.isfinite(second.values)
    low, high = np.quantile(second.values[known], [0.05, 0.95]) if known.any() else (0.0, 1.0)
    dots = _draw_dots(ax, x, y, known, c=second.values[known], cmap="cividis", vmin=low, vmax=high)
    if not known.all():
        missing = _draw_dots(ax, x, y, ~known, facecolors="none", edgecolors=colours.CATEGORY, linewidths=0.9)
        above: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
        legend(ax, [missing], [f"{as_label(second.title, 24)} missing"], **above)
    ax.figure.colorbar(dots, ax=ax, label=as_label(second.title, 44), extend="both", pad=0.02, aspect=30)


def _draw_by_category(ax: Axes, x: FloatArray, y: FloatArray, second: Column) -> None:
    counts = np.bincount(second.values.astype(np.intp), minlength=len(second.categories))
    named = np.sort(np.argsort(-counts, kind="stable")[:N_COLOURS])
    named = named[counts[named] > 0]
    handles, labels, names = [], [], distinct_labels(second.category_labels, 20)
    rest = ~np.isin(second.values, named)
    if rest.any():
        handles.append(_draw_dots(ax, x, y, rest, color=colours.NEUTRAL))
        labels.append(f"{(counts > 0).sum() - len(named)} others")
    for place, c in enumerate(named):
        look = {"color": colours.class_colour(place), "marker": colours.class_marker(place)}
        handles.append(_draw_dots(ax, x, y, second.values == c, **look))
        labels.append(names[c])
    legend(ax, handles, labels, title=as_label(second.title, 24))


def _draw_dots(ax: Axes, x: FloatArray, y: FloatArray, rows: BoolArray, **look: Any) -> Any:
    return ax.scatter(x[rows], y[rows], **({"s": SIZE, "alpha": 0.85, "linewidths": 0} | look))


def interactions(found: Interactions, *, max_features: int = 12, ax: Axes | None = None) -> Axes:
    """Draw a square for each pair of features: how strongly they interact, over all rows.

    A pair's square shows the mean absolute interaction value; the diagonal shows what features contribute
    by themselves.
    """
    from matplotlib.colors import LinearSegmentedColormap

    require(found, Interactions, "this plot shows pairs of features", "pass explainer.interactions(X)")
    k = min(max_features, len(found.feature_names))
    pairs = ~np.eye(k, dtype=bool)
    strength: FloatArray = np.where(pairs, 2, 1) * found.strength[:k, :k]  # both entries of a pair together
    names = [as_label(name, 28) for name in map(found.labels.dictionary.label, found.feature_names[:k])]
    ax = get_axes(ax, 2.2 + 0.36 * k, 3.6 + 0.42 * k, names)
    shades = LinearSegmentedColormap.from_list("none-much", ["white", colours.FOR])
    limit = float(strength[pairs].max(initial=0.0)) or float(strength.max(initial=0.0)) or 1.0
    image = ax.imshow(strength, cmap=shades, vmin=0.0, vmax=limit, interpolation="nearest")
    show = aligned(float(strength.max(initial=0.0)))
    for i, j in np.ndindex(k, k):
        write_in_cell(ax, j, i, show(float(strength[i, j])), float(strength[i, j]) / limit)
    ax.set_xticks(np.arange(k), names, rotation=40, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_yticks(np.arange(k), names, fontsize="small")
    hide_all(ax)
    label = f"mean absolute value, in {look_of(found.labels).outputs.strength_unit}"
    look: Any = {"extend": "max", "pad": 0.02, "aspect": 30, "format": tick_label}
    ax.figure.colorbar(image, ax=ax, label=label, **look)
    return ax

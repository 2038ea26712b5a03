"""Plots of latents: many rows (`latent_map`), one row's map (`row_map`), and how it explains the row.

`exemplification` is the paper's figure of that name, panels A to F.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.number_text import count
from illume.data.require import require_int
from illume.plots import captions, looks, style
from illume.plots.dependence import jitter
from illume.plots.look import Key, Look, aligned
from illume.plots.style import Axes
from illume.results import colours
from illume.results.latents import LatentRow, Latents

GRID = 240
GAP = 0.35
MOST_NUMBERS = 160  # cells of a map with numbers written in; more could not be read
MOST_COLUMNS = 10
MOST_CLASSES = 5
ADVICE = "write explainer.latents(X, maps=True)[0]"
TITLES = (
    *("the row x, in standard deviations", "black box (bars), surrogate (◇)", "the explanation"),
    *("its latents z = W x", "the surrogate's weights β", "its own map W"),
)


def latent_map(
    latents: Latents,
    *,
    output: int | str = 0,
    highlight: int | Sequence[int] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw every row in the plane of its latents, in the colour of the black box's answer.

    Rings mark rows on which the surrogate disagrees. With two latents, the surrogate's answers are shaded;
    with more, the plane is that of the first two principal components, in which regions have no border.
    `highlight` gives positions of rows to mark and to name. Of several numbers, `output` chooses the one that
    colours show.
    """
    style.require(latents, Latents, "a latent map shows many rows", "pass explainer.latents(X)")
    ax = style.get_axes(ax, 4.8)
    places = latents.plane
    if latents.n_latents == 1:
        places = np.column_stack([places[:, 0], jitter(len(places))])
    i, look = latents.output(output), looks.look_of(latents)
    handles, labels = _draw_rows(ax, latents, places, look, i)
    for row in style.row_positions(highlight, len(latents)):
        _draw_name(ax, captions.row_label(latents.origin.index, int(row)), places[row])
    if latents.n_latents <= 2 and len(latents):
        handles.append(_draw_regions(ax, latents, look, i))
        labels.append("shaded: surrogate")
    _label_axes(ax, latents)
    style.legend(ax, handles, labels, title=look.key_title, **look.key_place)
    style.hide_frame(ax, "top", "right")
    return ax


def _draw_rows(ax: Axes, latents: Latents, places: FloatArray, look: Look, i: int) -> Key:
    """Draw all rows, a ring around those on which the surrogate disagrees; return handles and labels."""
    size = 22 if len(latents) <= 500 else 10
    handles, labels = look.draw_rows(ax, places, latents.predictions, i, size)
    x, y = places[~latents.agreed].T
    if len(x):
        ring: Any = {"facecolors": "none", "edgecolors": colours.INK, "linewidths": 1.1, "zorder": 3}
        handles.append(ax.scatter(x, y, s=4 * size, **ring))
        labels.append(f"surrogate {look.disagreement}\n({len(x)} of {count(len(latents), 'row')})")
    return handles, labels


def _draw_name(ax: Axes, name: str, place: FloatArray) -> None:
    arrow = {"arrowstyle": "-|>", "color": colours.INK}
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": colours.PALE}
    look: Any = {"xytext": (14, 14), "textcoords": "offset points", "fontsize": "small", "zorder": 4}
    ax.annotate(name, tuple(place), arrowprops=arrow, bbox=box, **look)


def _draw_regions(ax: Axes, latents: Latents, look: Look, i: int) -> Any:
    """Shade what the surrogate answers at each place of the current view."""
    from matplotlib.patches import Patch

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    Z = np.stack(np.meshgrid(x, y), axis=2)[:, :, : latents.n_latents]
    place: Any = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto", "zorder": 0}
    look.draw_regions(ax, latents, Z, i, **place)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    return Patch(color=colours.PALE)


def _label_axes(ax: Axes, latents: Latents) -> None:
    labels = [*(captions.as_label(name) for name in latents.names), ""]
    if latents.n_latents > 2:
        shares = [f"{share:.0%} of the variance" for share in latents.view.share]
        labels = [f"component {r + 1} of {latents.n_latents} latents ({shares[r]})" for r in range(2)]
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if latents.n_latents == 1:
        ax.set_yticks([])


def row_map(
    row: LatentRow,
    *,
    output: int | str | None = None,
    n_inputs: int = 15,
    n_latents: int = 16,
    ax: Axes | None = None,
) -> Axes:
    """Draw the row's map W, inputs downwards and latents to the right, above the surrogate's weights.

    The inputs that contribute most come first, and the latents with the largest effect are kept. Both maps
    have a colour scale of their own. `output` chooses the class, by name or position.
    """
    style.require(row, LatentRow, "a map belongs to one row", ADVICE)
    require_int("n_inputs", n_inputs)
    require_int("n_latents", n_latents)
    i = row.position(output)
    inputs, latents = _strongest(row, i, n_inputs, n_latents)
    names = captions.distinct_labels([row.batch.labels.input_labels[j] for j in inputs])
    ax = style.get_axes(ax, 2.0 + 0.32 * len(inputs), min(3.4 + 0.55 * len(latents), 12.0), names)
    draw_weights(ax, row.map[np.ix_(latents, inputs)].T)
    draw_weights(ax, row.batch.coefficients[i, latents][None], top=len(inputs) - 0.5 + GAP)
    weight = f"weight for '{captions.output_label(row.batch.labels, i)}'"
    ax.set_yticks([*range(len(names)), len(names) + GAP], [*names, weight])
    ax.set_ylim(len(names) + GAP + 0.5, -0.5)
    ax.set_xlim(-0.5, len(latents) - 0.5)
    _label_latents(ax, row, latents, len(inputs))
    style.hide_all(ax)
    return ax


def _strongest(row: LatentRow, i: int, n_inputs: int, n_latents: int) -> tuple[IntArray, IntArray]:
    """Return the strongest inputs for output `i`, strongest first, and latents, in their own order."""
    effects = row.batch.coefficients[i] * row.z
    return style.strongest(row.contributions[i], n_inputs), np.sort(style.strongest(effects, n_latents))


def _label_latents(
    ax: Axes, row: LatentRow, latents: IntArray, n_inputs: int, fontsize: str = "medium"
) -> None:
    """Name the columns, and say below how much of the map is shown."""
    names = captions.distinct_labels([row.batch.latent_labels[r] for r in latents], 20)
    turned: Any = {"rotation": 90} if len(names) > 16 or max(map(len, names), default=0) > 4 else {}
    ax.set_xticks(np.arange(len(names)), names, fontsize="small", **turned)
    k, m = row.map.shape
    caption = f"{len(latents)} of {k} latents" if len(latents) < k else "latents"
    caption += f", {n_inputs} of {m} inputs" if n_inputs < m else ""
    ax.set_xlabel(caption, fontsize=fontsize)


def draw_weights(ax: Axes, weights: FloatArray, *, top: float = -0.5) -> None:
    """Draw weights (rows, columns) as unit squares from `top` on, with numbers if there is room."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = weights.shape
    limit = float(np.abs(weights).max(initial=0.0)) or 1.0
    shades = LinearSegmentedColormap.from_list("less-more", [colours.AGAINST, "white", colours.FOR])
    place: Any = {"extent": (-0.5, columns - 0.5, top + rows, top), "aspect": "auto"}
    ax.imshow(weights, cmap=shades, vmin=-limit, vmax=limit, interpolation="nearest", **place)
    show = aligned(limit)
    if weights.size <= MOST_NUMBERS and columns <= MOST_COLUMNS:
        for r, c in np.argwhere(weights):
            number = ("+" if weights[r, c] > 0 else "") + show(weights[r, c])
            style.write_in_cell(ax, c, top + r + 0.5, number, abs(weights[r, c]) / limit)


def exemplification(
    row: LatentRow,
    *,
    output: int | str | None = None,
    n_inputs: int = 12,
    n_latents: int = 12,
    figure: Any = None,
) -> Any:
    """Draw how one row's explanation comes about, and return the array of the six axes, A to F.

    A: the row itself, in standard deviations. B: what the black box and the surrogate say. C: the
    explanation, contributions and slopes. D: the row's latents. E: the surrogate's weights. F: the row's own
    map. D is A through F, the slopes in C are E through F, and contributions are slopes times A. Refinement
    is not shown.

    Parameters
    ----------
    row
        One row of `explainer.latents(X, maps=True)`.
    output
        The class, by name or position; the default is the decided one.
    figure
        A figure or subfigure to draw in; the default is a new one.
    """
    style.require(row, LatentRow, "this figure shows one row", ADVICE)
    require_int("n_inputs", n_inputs)
    require_int("n_latents", n_latents)
    i, n_outputs, look = row.position(output), len(row.batch.output_names), looks.look_of(row)
    inputs, latents = _strongest(row, i, n_inputs, n_latents)
    outputs = list(range(n_outputs)) if n_outputs <= MOST_CLASSES else [i]
    n_classes = min(len(row.batch.class_names), MOST_CLASSES)
    axes = _lay_out(figure, len(inputs), len(latents), len(outputs), n_classes)
    A, B, C, D, E, F = axes
    _draw_row(A, row, inputs)
    _finish_bars(B, look.draw_answers(B, row))
    if not row.agreed:
        B.set_xlabel("they disagree", fontsize="small")
    _draw_explanation(C, row, inputs, i, look)
    _draw_latents(D, row.z[latents])
    for group in look.weight_groups(outputs):
        draw_weights(E, row.batch.coefficients[group][:, latents], top=outputs.index(group[0]) - 0.5)
    E.set_ylim(len(outputs) - 0.5, -0.5)
    names = [captions.output_label(row.batch.labels, c) for c in outputs]
    E.set_yticks(range(len(outputs)), names, fontsize="small")
    if len(outputs) > 1:
        E.get_yticklabels()[outputs.index(i)].set_fontweight("bold")
    _label_latents(E, row, latents, len(inputs), fontsize="small")
    draw_weights(F, row.map[np.ix_(latents, inputs)].T)
    F.set_yticks([])
    F.tick_params(labelbottom=False)
    style.hide_all(E)
    style.hide_all(F)
    for ax, letter, title in zip(axes, "ABCDEF", TITLES, strict=True):
        ax.set_title(f"{letter}  {title}", loc="left", fontsize="medium")
    return axes


def _lay_out(figure: Any, n: int, k: int, n_outputs: int, n_classes: int) -> Any:
    """Return six axes that share `n` lines for inputs and `k` columns for latents."""
    above, below = max(1.5, 0.34 * n_classes + 0.6), 0.3 * n_outputs + 0.2
    if figure is None:
        figure = style.new_figure(12.0, above + below + 0.34 * n + 1.5)
    heights, widths = [above, max(0.34 * n, 1.0), below], [3.0, min(max(0.55 * k, 2.2), 6.0), 3.6]
    grid = figure.add_gridspec(3, 3, height_ratios=heights, width_ratios=widths)
    F = figure.add_subplot(grid[1, 1])
    A, B, C = (figure.add_subplot(grid[place]) for place in ((1, 0), (0, 0), (1, 2)))
    D, E = (figure.add_subplot(grid[r, 1], sharex=F) for r in (0, 2))
    return np.array([A, B, C, D, E, F], dtype=object)


def _draw_row(ax: Axes, row: LatentRow, inputs: IntArray) -> None:
    places = np.arange(len(inputs))
    ax.barh(places, row.x[inputs], color=colours.NEUTRAL, height=0.6)
    style.zero_line(ax)
    names = captions.distinct_labels([row.batch.labels.input_labels[j] for j in inputs])
    values = [captions.as_label(row.input_values[j], 12) for j in inputs]
    _finish_bars(ax, [f"{name}: {value}" for name, value in zip(names, values, strict=True)])


def _finish_bars(ax: Axes, labels: list[str]) -> None:
    ax.set_yticks(np.arange(len(labels)), labels, fontsize="small")
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize="small")
    style.hide_frame(ax)


def _draw_explanation(ax: Axes, row: LatentRow, inputs: IntArray, i: int, look: Look) -> None:
    from matplotlib.patches import Patch

    places = np.arange(len(inputs))
    style.signed_bars(ax, row.contributions[i, inputs], [""] * len(inputs), height=0.6)
    dots = ax.scatter(row.slopes[i, inputs], places, marker="|", s=90, color=colours.INK, zorder=3)
    style.zero_line(ax)
    _finish_bars(ax, [""] * len(places))
    ends = (look.outputs.format_total(number, i) for number in (row.batch.intercept[i], row.scores[i]))
    title = f"{look.target(i)}:\nintercept {', in all '.join(ends)}"
    labels = ["contribution = slope × x", "slope = weights β through W"]
    above: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 2.2}
    above |= {"title_fontsize": "small", "alignment": "left"}
    look.format_axis(ax.xaxis, i, most=4)
    title += "" if row.agreed else "\n(before refinement)"
    drawn = style.legend(ax, [Patch(color=colours.NEUTRAL), dots], labels, title=title, **above)
    drawn.set_in_layout(False)  # it is drawn in the empty corner


def _draw_latents(ax: Axes, z: FloatArray) -> None:
    ax.bar(np.arange(len(z)), z, color=[colours.contribution_colour(number) for number in z], width=0.6)
    ax.axhline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.tick_params(labelbottom=False, bottom=False, labelsize="small")
    style.hide_frame(ax, "top", "right", "bottom")

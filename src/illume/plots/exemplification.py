"""How one explanation comes about: the paper's figure "Exemplification", panels A to F."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.plots import captions, style
from illume.plots.heatmaps import ADVICE, MapSelection, draw_weights
from illume.plots.style import Axes
from illume.results import colours
from illume.results.latents import LatentRow

MOST_CLASSES = 5
TITLES = (
    *("the row x, in standard deviations", "black box (bars), surrogate (◇)", "the explanation"),
    *("its latents z = W x", "the surrogate's weights β", "its own map W"),
)


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
    style.require_count(min(n_inputs, n_latents), "n_inputs and n_latents")
    i, n_outputs = row.position(output), len(row.batch.output_names)
    shown = MapSelection.choose(row, i, n_inputs, n_latents)
    outputs = list(range(n_outputs)) if n_outputs <= MOST_CLASSES else [i]
    axes = _lay_out(figure, shown, len(outputs), min(len(row.batch.class_names), MOST_CLASSES))
    A, B, C, D, E, F = axes
    _draw_row(A, row, shown)
    _draw_decision(B, row)
    _draw_explanation(C, row, shown, i)
    _draw_latents(D, row, shown)
    _draw_surrogate(E, row, shown, outputs, i)
    _draw_map(F, row, shown)
    for ax, letter, title in zip(axes, "ABCDEF", TITLES, strict=True):
        ax.set_title(f"{letter}  {title}", loc="left", fontsize="medium")
    return axes


def _lay_out(figure: Any, shown: MapSelection, n_outputs: int, n_classes: int) -> Any:
    """Return six axes that share lines for inputs and columns for latents."""
    n, k = len(shown.inputs), len(shown.latents)
    above, below = max(1.5, 0.34 * n_classes + 0.6), 0.3 * n_outputs + 0.2
    if figure is None:
        figure = style.new_figure(12.0, above + below + 0.34 * n + 1.5)
    heights, widths = [above, max(0.34 * n, 1.0), below], [3.0, min(max(0.55 * k, 2.2), 6.0), 3.6]
    grid = figure.add_gridspec(3, 3, height_ratios=heights, width_ratios=widths)
    F = figure.add_subplot(grid[1, 1])
    A, B, C = (figure.add_subplot(grid[place]) for place in ((1, 0), (0, 0), (1, 2)))
    D, E = (figure.add_subplot(grid[r, 1], sharex=F) for r in (0, 2))
    return np.array([A, B, C, D, E, F], dtype=object)


def _draw_row(ax: Axes, row: LatentRow, shown: MapSelection) -> None:
    places = np.arange(len(shown.inputs))
    ax.barh(places, row.x[shown.inputs], color=colours.NEUTRAL, height=0.6)
    style.zero_line(ax)
    names, values = (
        captions.distinct_labels([row.batch.input_names[j] for j in shown.inputs]),
        row.input_values,
    )
    labels = [
        f"{name}: {captions.as_label(values[j], 12)}" for name, j in zip(names, shown.inputs, strict=True)
    ]
    _finish_bars(ax, labels)


def _draw_decision(ax: Axes, row: LatentRow) -> None:
    P, Q = row.batch.probabilities[0], row.batch.surrogate_probabilities[0]
    first = np.sort(np.argsort(-P, kind="stable")[:MOST_CLASSES])
    places, names = np.arange(len(first)), captions.class_labels(row.batch.class_names)
    ax.barh(places, P[first], color=[colours.class_colour(int(c)) for c in first], height=0.55)
    ax.scatter(Q[first], places, marker="D", s=28, color="white", edgecolors=colours.INK, zorder=3)
    _finish_bars(ax, [names[c] for c in first])
    ax.set_xlim(0, 1.03)
    if not row.agreed:
        ax.set_xlabel("they disagree", fontsize="small")


def _finish_bars(ax: Axes, labels: list[str]) -> None:
    ax.set_yticks(np.arange(len(labels)), labels, fontsize="small")
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize="small")
    style.hide_frame(ax)


def _draw_explanation(ax: Axes, row: LatentRow, shown: MapSelection, i: int) -> None:
    from matplotlib.patches import Patch

    places = style.signed_bars(ax, row.contributions[i, shown.inputs], [""] * len(shown.inputs), height=0.6)
    dots = ax.scatter(row.slopes[i, shown.inputs], places, marker="|", s=90, color=colours.INK, zorder=3)
    style.zero_line(ax)
    _finish_bars(ax, [""] * len(places))
    title = (
        f"log-odds of '{captions.output_label(row.batch.labels, i)}':\n"
        f"intercept {row.batch.intercept[i]:+.2f}, in all {row.scores[i]:+.2f}"
    )
    labels = ["contribution = slope × x", "slope = weights β through W"]
    above: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 2.2}
    look: Any = {"title_fontsize": "small", "alignment": "left"}
    title += "" if row.agreed else "\n(before refinement)"
    drawn = style.legend(ax, [Patch(color=colours.NEUTRAL), dots], labels, title=title, **above, **look)
    drawn.set_in_layout(False)  # it is drawn in the empty corner


def _draw_latents(ax: Axes, row: LatentRow, shown: MapSelection) -> None:
    z = row.z[shown.latents]
    ax.bar(np.arange(len(z)), z, color=[colours.contribution_colour(number) for number in z], width=0.6)
    ax.axhline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.tick_params(labelbottom=False, bottom=False, labelsize="small")
    style.hide_frame(ax, "top", "right", "bottom")


def _draw_surrogate(ax: Axes, row: LatentRow, shown: MapSelection, outputs: list[int], i: int) -> None:
    draw_weights(ax, row.batch.coefficients[outputs][:, shown.latents])
    names = [captions.output_label(row.batch.labels, c) for c in outputs]
    ax.set_yticks(range(len(outputs)), names, fontsize="small")
    if len(outputs) > 1:
        ax.get_yticklabels()[outputs.index(i)].set_fontweight("bold")
    shown.label_latents(ax, row, fontsize="small")
    style.hide_all(ax)


def _draw_map(ax: Axes, row: LatentRow, shown: MapSelection) -> None:
    draw_weights(ax, row.map[np.ix_(shown.latents, shown.inputs)].T)
    ax.set_yticks([])
    ax.tick_params(labelbottom=False)
    style.hide_all(ax)

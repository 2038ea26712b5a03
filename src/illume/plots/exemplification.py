"""How one explanation comes about: the paper's figure "Exemplification", panels A to F."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume.plots.axes import as_text, clean, legend, new_figure, open_frame, require, require_count
from illume.plots.heat import heat, name_columns
from illume.plots.names import class_labels, distinct
from illume.plots.row_map import ADVICE, Shown
from illume.plots.words import output_label
from illume.results import colours
from illume.results.latents import LatentRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASSES_SHOWN = 5


def exemplification(
    row: LatentRow,
    *,
    output: int | str | None = None,
    n_inputs: int = 12,
    n_latents: int = 12,
    figure: Any = None,
) -> Any:
    """Draw how one row's explanation comes about, and return the array of the six axes, A to F.

    A the row itself, in standard deviations; B what the black box, and the surrogate, say; C the explanation:
    contributions and slopes; D the row's latents; E the surrogate's weights; F the row's own map. D is A
    through F, the slopes in C are E through F, and contributions are slopes times A. All of it is the row's
    own, before any refinement.

    Parameters
    ----------
    row
        One row of `explainer.latents(X, maps=True)`.
    output
        The class, by name or position, where there are several; by default the decided one.
    figure
        A figure or subfigure to draw in; by default a new one.
    """
    require(row, LatentRow, "this figure shows one row", ADVICE)
    require_count(min(n_inputs, n_latents), "n_inputs and n_latents")
    i = row.position(output)
    shown = Shown.of(row, i, n_inputs, n_latents)
    outputs = _outputs(row, i)
    axes = _panels(figure, shown, len(outputs), min(len(row.batch.class_names), CLASSES_SHOWN))
    for draw, ax in zip((_row, _decision, _explanation, _latents, _weights, _map), axes, strict=True):
        draw(ax, row, shown, i)
    return axes


def _outputs(row: LatentRow, i: int) -> list[int]:
    """Return which of the surrogate's outputs are shown: all, or of many the one that is explained."""
    n = len(row.batch.output_names)
    return list(range(n)) if n <= CLASSES_SHOWN else [i]


def _panels(figure: Any, shown: Shown, n_outputs: int, n_classes: int) -> Any:
    """Lay out six axes: inputs stand on lines and latents in columns that all panels share."""
    n, k = len(shown.inputs), len(shown.latents)
    above, below = max(1.5, 0.34 * n_classes + 0.6), 0.3 * n_outputs + 0.2
    if figure is None:
        figure = new_figure(12.0, above + below + 0.34 * n + 1.5)
    grid = figure.add_gridspec(
        3,
        3,
        height_ratios=[above, max(0.34 * n, 1.0), below],
        width_ratios=[3.0, min(max(0.55 * k, 2.2), 6.0), 3.6],
    )
    F = figure.add_subplot(grid[1, 1])
    A, C = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 2])
    B = figure.add_subplot(grid[0, 0])
    D, E = figure.add_subplot(grid[0, 1], sharex=F), figure.add_subplot(grid[2, 1], sharex=F)
    return np.array([A, B, C, D, E, F], dtype=object)


def _title(ax: Axes, letter: str, words: str) -> None:
    ax.set_title(f"{letter}  {words}", loc="left", fontsize="medium")


def _row(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    place = np.arange(len(shown.inputs))
    ax.barh(place, row.x[shown.inputs], color=colours.NEUTRAL, height=0.6)
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    names, values = distinct([row.batch.input_names[j] for j in shown.inputs]), row.input_values
    labels = [f"{name}: {as_text(values[j], 12)}" for name, j in zip(names, shown.inputs, strict=True)]
    ax.set_yticks(place, labels, fontsize="small")
    ax.set_ylim(len(place) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize="small")
    _title(ax, "A", "the row x, in standard deviations")
    clean(ax)


def _decision(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    P, Q = row.batch.probabilities[0], row.batch.surrogate_probabilities[0]
    first = np.sort(np.argsort(-P, kind="stable")[:CLASSES_SHOWN])
    place, names = np.arange(len(first)), class_labels(row.batch.class_names)
    ax.barh(place, P[first], color=[colours.class_colour(int(c)) for c in first], height=0.55)
    ax.scatter(Q[first], place, marker="D", s=28, color="white", edgecolors=colours.INK, zorder=3)
    ax.set_yticks(place, [names[c] for c in first], fontsize="small")
    ax.set_ylim(len(place) - 0.5, -0.5)
    ax.set_xlim(0, 1.03)
    ax.tick_params(axis="x", labelsize="small")
    if not row.agreed:
        ax.set_xlabel("they disagree", fontsize="small")
    _title(ax, "B", "black box (bars), surrogate (◇)")
    clean(ax)


def _explanation(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    from matplotlib.patches import Patch

    place = np.arange(len(shown.inputs))
    parts, slopes = row.contributions[i, shown.inputs], row.slopes[i, shown.inputs]
    ax.barh(place, parts, color=[colours.contribution_colour(part) for part in parts], height=0.6)
    dots = ax.scatter(slopes, place, marker="|", s=90, color=colours.INK, zorder=3)
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.set_yticks(place, [])
    ax.set_ylim(len(place) - 0.5, -0.5)
    name = output_label(row.batch.labels, i)
    before = "" if row.agreed else "\n(before refinement)"
    ax.tick_params(axis="x", labelsize="small")
    options = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 2.2, "fontsize": "small"}
    sums = f"intercept {row.batch.intercept[i]:+.2f}, in all {row.scores[i]:+.2f}{before}"
    said = legend(
        ax,
        [Patch(color=colours.NEUTRAL), dots],
        ["contribution = slope × x", "slope = weights β through W"],
        title=f"log-odds of '{name}':\n{sums}",
        title_fontsize="small",
        alignment="left",
        **options,
    )
    said.set_in_layout(False)  # it stands in the empty corner
    _title(ax, "C", "the explanation")
    clean(ax)


def _latents(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    z = row.z[shown.latents]
    ax.bar(np.arange(len(z)), z, color=[colours.contribution_colour(number) for number in z], width=0.6)
    ax.axhline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.tick_params(labelbottom=False, bottom=False, labelsize="small")
    _title(ax, "D", "its latents z = W x")
    open_frame(ax)
    ax.spines["bottom"].set_visible(False)


def _weights(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    outputs = _outputs(row, i)
    heat(ax, row.batch.coefficients[outputs][:, shown.latents])
    names = [output_label(row.batch.labels, c) for c in outputs]
    ax.set_yticks(range(len(outputs)), names, fontsize="small")
    if len(outputs) > 1:
        ax.get_yticklabels()[outputs.index(i)].set_fontweight("bold")
    name_columns(ax, shown.latent_names(row))
    ax.set_xlabel(shown.said(row), fontsize="small")
    _title(ax, "E", "the surrogate's weights β")
    _bare(ax)


def _map(ax: Axes, row: LatentRow, shown: Shown, i: int) -> None:
    heat(ax, row.map[np.ix_(shown.latents, shown.inputs)].T)
    ax.set_yticks([])
    ax.tick_params(labelbottom=False)
    _title(ax, "F", "its own map W")
    _bare(ax)


def _bare(ax: Axes) -> None:
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)

"""Figures of speed and growth: rates by columns, break-even points, cost against size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import Line
from benchmarks.markup import PALETTE, canvas, count, label_axes, save_figure
from benchmarks.speed import growth
from benchmarks.speed.cells import CENTRE, FEATURES, MODELS, OURS
from benchmarks.speed.summary import Lines
from benchmarks.speed.tables import MODEL_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERMILLION, BLUE, SKY, GREEN, ORANGE, PURPLE, GREY, BLACK = PALETTE
COLOURS = {
    **dict.fromkeys(OURS.values(), VERMILLION),
    **dict.fromkeys(("shap-tree", "shap-kernel", "shap-permutation"), PURPLE),
    "woodelf": GREEN,
    "lime": ORANGE,
    "anchor": BLUE,
    "lore": SKY,
    "dice": BLACK,
}
DASHES = {
    **dict.fromkeys(("illume-rules", "shap-kernel", "anchor", "lore"), "--"),
    **dict.fromkeys(("illume-counterfactuals", "shap-permutation", "dice"), ":"),
}
GROWTH_COLOURS = {
    "fit": VERMILLION,
    "fit, default training": ORANGE,
    "fit of rules": PURPLE,
    "attributions": BLUE,
    "100,000 attributions": BLUE,
    "rules": GREEN,
    "counterfactuals": BLACK,
}
FACTOR_NAMES = {"n": "rows fitted, n", "r": "rows explained, r", "m": "columns, m"}
FACTOR_NAMES |= {"k": "latents, k", "c": "classes, c"}


@dataclass(frozen=True, order=True)
class Label:
    """The name of a line, and the end of the line."""

    height: float
    x: float
    text: str
    colour: str


def draw(results: Path, out: Path) -> list[Path]:
    """Draw the figures of what was measured and return their paths."""
    lines, grown = Lines.read(results), growth.read_points(results / "growth.jsonl")
    written = []
    for name, (_, drawing) in FIGURES.items():
        if figure := drawing(lines, grown):
            written += save_figure(figure, out / name)
        else:
            print(f"{name}: nothing was measured, no figure drawn")
    return written


def rates(lines: Lines, grown: Any = None) -> Figure | None:
    """Draw rows a second over the number of columns, a panel for each model."""
    if not lines:
        return None
    figure = canvas(11.5, 5.2)
    axes = figure.subplots(1, 2, sharey=True)
    named = {}
    for ax, model in zip(axes, MODELS, strict=True):
        labels: list[Label] = []
        for method in ["model", *lines.methods(model)]:
            colour = GREY if method == "model" else COLOURS[method]
            style = {"color": colour, "linestyle": DASHES.get(method, "-"), "marker": "o", "markersize": 4}
            style["linewidth"] = 2 if method in OURS.values() else 1.2
            name = "predicting" if method == "model" else method
            labels += _rate_line(ax, lines, (model, method), name, style)
        apart = {"color": VERMILLION, "marker": "s", "markersize": 3, "linewidth": 1}
        labels += _rate_line(ax, lines, (model, "illume"), "illume, model apart", apart, own=True)
        y = "rows a second" if ax is axes[0] else ""
        label_axes(ax, MODEL_NAMES[model], "columns, m", y, log=True)
        ax.set_xticks(FEATURES, list(map(str, FEATURES)))
        ax.minorticks_off()
        named[ax] = labels
    label_lines(named)
    return figure


def _rate_line(
    ax: Axes, lines: Lines, who: tuple[str, str], name: str, style: dict[str, Any], *, own: bool = False
) -> list[Label]:
    """Draw the rates of a method and return its label."""
    found = [(m, lines.rate(f"m{m}", *who, own=own)) for m in FEATURES]
    found = [(m, rate) for m, rate in found if np.isfinite(rate)]
    if not found:
        return []
    ax.plot(*zip(*found, strict=True), **style)
    return [Label(found[-1][1], found[-1][0], name, style["color"])]


def totals(lines: Lines, grown: Any = None) -> Figure | None:
    """Draw seconds over rows, fitting included, with break-even points."""
    if not lines:
        return None
    figure = canvas(11.5, 8.2)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    rows, named = np.logspace(0, 6, 61), {}
    for column, model in enumerate(MODELS):
        for row, kinds in enumerate((("attributions",), ("rules", "counterfactuals"))):
            ax, labels, marks = axes[row, column], [], []
            for method in lines.methods(model, kinds):
                if (cost := lines.cost(CENTRE, model, method)) is None:
                    continue
                ours = method in OURS.values()
                style = {"color": COLOURS[method], "linestyle": DASHES.get(method, "-")}
                ax.plot(rows, [cost(n) for n in rows], linewidth=2 if ours else 1.2, **style)
                labels.append(Label(cost(rows[-1]), rows[-1], method, COLOURS[method]))
                n = np.inf if ours else lines.break_even(method, CENTRE, model)
                if np.isfinite(n):
                    marks.append(Label(cost(n), n, count(n), COLOURS[method]))
            _mark(ax, marks)
            title = f"{' and '.join(kinds)}, {MODEL_NAMES[model]}"
            x, y = "rows explained" if row else "", "" if column else "seconds, fitting included"
            label_axes(ax, title, x, y, log=True)
            ax.set_xlim(1, 1e6)
            named[ax] = labels
    label_lines(named)
    return figure


def _mark(ax: Axes, marks: list[Label]) -> None:
    """Mark break-even points by dots and numbers, alternately above and below."""
    for i, mark in enumerate(sorted(marks, key=lambda mark: mark.x)):
        ax.plot([mark.x], [mark.height], marker="o", color=mark.colour, markersize=5)
        place = {"xytext": (-3, 5), "ha": "right"} if i % 2 == 0 else {"xytext": (3, -11), "ha": "left"}
        style = {"fontsize": 8, "color": mark.colour, "textcoords": "offset points"}
        ax.annotate(mark.text, (mark.x, mark.height), **place, **style)


def growing(lines: Any, grown: dict[growth.Point, Line]) -> Figure | None:
    """Draw seconds over each factor, with exponents of the last two sizes."""
    found = {factor: list(growth.curves(grown, factor)) for factor in growth.FACTORS}
    if not any(found.values()):
        return None
    figure = canvas(14.5, 8.0)
    axes = figure.subplots(2, 3, sharey=True).ravel()
    named = {}
    for ax, (factor, curves) in zip(axes, found.items(), strict=False):
        labels = []
        for curve in curves:
            if (colour := GROWTH_COLOURS.get(curve.name)) is None:
                continue
            low, high = ([f(times) for times in curve.times] for f in (min, max))
            ax.fill_between(curve.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            dashes = "--" if curve.name.endswith(growth.DEFAULT) else "-"
            ax.plot(curve.sizes, curve.seconds, dashes, color=colour, marker="o", markersize=4, linewidth=1.4)
            text = f"{curve.name}  {curve.exponent(2).value:.2f}"
            labels.append(Label(curve.seconds[-1], curve.sizes[-1], text, colour))
        x, y = FACTOR_NAMES[factor], "seconds" if ax in axes[::3] else ""
        label_axes(ax, f"over {x}", x, y, log=True)
        ticks = growth.FACTORS[factor]
        ax.set_xticks(ticks, [_tick(tick) for tick in ticks])
        ax.minorticks_off()
        named[ax] = labels
    _explain(axes[-1])
    label_lines(named)
    return figure


def _explain(ax: Axes) -> None:
    """Explain the numbers in the free panel."""
    ax.set_axis_off()
    centre = growth.CENTRE
    text = (
        f"One factor is varied, the others stay:\n"
        f"n = {centre.n:,} rows fitted, r = {centre.r:,} rows explained,\n"
        f"m = {centre.m} columns, k = {centre.k} latents, c = {centre.c} classes.\n\n"
        "Beside a name stands the exponent between the last two sizes:\n"
        "1 is in proportion, 0 is constant.\n\n"
        "Bands go from the fastest to the slowest repeat.\n"
        f"Fits train for {growth.STEPS} steps unless said."
    )
    ax.text(0.0, 0.95, text, transform=ax.transAxes, va="top", fontsize=9, color=BLACK, linespacing=1.5)


def _tick(value: int) -> str:
    """Write a size such as 300, 10k or 1M."""
    if value >= 10**6:
        return f"{value // 10**6}M"
    return f"{value // 10**3}k" if value >= 10**4 else f"{value:,}"


def label_lines(named: dict[Axes, list[Label]], size: float = 8.0) -> None:
    """Write names at the ends of lines without overlap, once the panels are drawn.

    Names are to the right of the longest lines, and above the ends of the others.
    """
    for ax, labels in named.items():
        for x in sorted({label.x for label in labels}):
            last = x == max(label.x for label in labels)
            _label_at_end(ax, sorted(label for label in labels if label.x == x), size, last)


def _label_at_end(ax: Axes, labels: list[Label], size: float, last: bool) -> None:
    """Write the names of lines that end at the same x."""
    low, high = np.log10(ax.get_ylim())
    inches = 0.85 * ax.figure.get_figheight() / ax.get_subplotspec().get_gridspec().nrows
    step = (high - low) * size * 1.25 / (72 * inches)
    places = spread([float(np.log10(label.height)) for label in labels], step)
    where = {"xytext": (7, 0), "ha": "left"} if last else {"xytext": (0, 9), "ha": "center"}
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    style = {"textcoords": "offset points", "fontsize": size, "va": "center", "bbox": box}
    for label, place in zip(labels, places, strict=True):
        at = (label.x, 10**place)
        ax.annotate(label.text, at, color=label.colour, annotation_clip=False, **where, **style)


def spread(heights: Sequence[float], step: float) -> list[float]:
    """Move sorted heights apart until neighbours differ by at least a step.

    >>> spread([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    groups = [[height] for height in heights]
    while True:
        for i in range(len(groups) - 1):
            if _place(groups[i + 1], step)[0] - _place(groups[i], step)[-1] < step - 1e-9:
                groups[i : i + 2] = [groups[i] + groups[i + 1]]
                break
        else:
            return [place for group in groups for place in _place(group, step)]


def _place(group: Sequence[float], step: float) -> list[float]:
    middle = sum(group) / len(group)
    return [middle + step * (i - (len(group) - 1) / 2) for i in range(len(group))]


Drawing = Callable[[Lines, dict[growth.Point, Line]], "Figure | None"]
FIGURES: dict[str, tuple[str, Drawing]] = {
    "speed-rates": ("Rows a second over the number of columns, the model's time included", rates),
    "speed-break-even": (
        "Seconds over rows at m = 30, fitting included; dots mark from how many rows on illume costs less",
        totals,
    ),
    "growth": ("Cost against rows fitted and explained, columns, latents and classes", growing),
}

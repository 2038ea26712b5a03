"""Pictures of error against seconds, and against asks a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, canvas
from benchmarks.truth.cells import BUDGETS, OURS, SAMPLERS
from benchmarks.truth.run import Line
from benchmarks.truth.summary import Lines, median, median_asks, median_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {
    "boosted trees": ("xgb", "lgb"),
    "neural network": ("mlp",),
    "random forest, held out": ("forest",),
}
SMALLEST, LARGEST = 1e-3, 1.5  # errors outside are drawn on the edge


@dataclass(frozen=True)
class Series:
    """Methods that are one method with more and more asks, and how they are drawn."""

    name: str
    methods: tuple[str, ...]
    colour: str
    marker: str = "o"
    width: float = 1.2


def samplers() -> list[Series]:
    """Return peers that take a number of asks."""
    colours, markers = (PURPLE, BLUE, GREEN, SKY, BLACK), ("s", "D", "^", "P", "X")
    return [
        Series(name, tuple(f"{name}@{budget}" for budget in BUDGETS), colour, marker)
        for name, colour, marker in zip(SAMPLERS, colours, markers, strict=True)
    ]


SERIES = (
    *samplers(),
    Series("shap-tree", ("shap-tree",), ORANGE, "v"),
    Series("lime", ("lime",), GREY, "v"),
    Series("illume-pullback", ("illume-pullback",), VERMILLION, "*"),
    Series("illume-thorough", ("illume-thorough",), VERMILLION, "P"),
    Series(
        "illume, illume-refine-16, 64, 256",
        ("illume", *(name for name in OURS if name.startswith("illume-refine"))),
        VERMILLION,
        width=2.2,
    ),
)


def draw(path: Path, out: Path, split: str) -> list[Path]:
    """Draw what was measured, as PNG and SVG; return the paths."""
    lines = Lines.read(path, "contributions", split)
    if not lines:
        print("truth: nothing was measured, no figure drawn")
        return []
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (cost, words) in PICTURES.items():
        figure = picture(lines, cost, words)
        for suffix in ("png", "svg"):
            file = out / f"{name}.{suffix}"
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(file, dpi=150, bbox_inches="tight", metadata=metadata)
            written.append(file)
    return written


def picture(lines: Lines, cost: Callable[[list[Line]], float], words: str) -> Figure:
    """Draw the median of 1 - R² against a cost, a panel for each family of models."""
    there = {model for _, model in lines.cases()}
    panels = {name: models for name, models in PANELS.items() if there & set(models)}
    figure = canvas(4.2 * len(panels) + 0.6, 5.4)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    drawn: dict[str, Any] = {}
    for ax, (name, models) in zip(axes, panels.items(), strict=True):
        for series in SERIES:
            points = curve(lines, series, models, cost)
            if points:
                drawn[series.name] = _plot(ax, series, points)
        n_cases = sum(model in models for _, model in lines.cases())
        _frame(ax, f"{name}, {n_cases} {'cell' if n_cases == 1 else 'cells'}", words)
    axes[0].set_ylabel("1 − R² against Shapley values, median", fontsize=9)
    figure.legend(
        drawn.values(), drawn.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure


def curve(
    lines: Lines, series: Series, models: tuple[str, ...], cost: Callable[[list[Line]], float]
) -> list[tuple[float, float]]:
    """Return costs and errors of a series, the cheapest first; what costs nothing cannot be drawn."""
    found = set()
    for method in series.methods:
        mine = lines.of(method, models)
        if mine and cost(mine) > 0:
            error = float(np.clip(1 - median(mine, "r2"), SMALLEST, LARGEST))
            found.add((cost(mine), error))
    return sorted(found)


def _plot(ax: Axes, series: Series, points: list[tuple[float, float]]) -> Any:
    size = 9 if series.marker == "*" else 6
    style: dict[str, Any] = {"color": series.colour, "marker": series.marker}
    style |= {"markersize": size, "linewidth": series.width}
    return ax.plot(*zip(*points, strict=True), **style)[0]


def _frame(ax: Axes, title: str, x: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(SMALLEST, LARGEST)
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=9)
    ax.tick_params(labelsize=8, labelleft=True)
    ax.grid(alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


PICTURES: dict[str, tuple[Callable[[list[Line]], float], str]] = {
    "truth-seconds": (median_seconds, "seconds for 10,000 rows, fit included, median"),
    "truth-asks": (median_asks, "asks a row, those of the fit shared by 10,000 rows, median"),
}

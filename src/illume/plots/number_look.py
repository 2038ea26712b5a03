"""How numbers look in plots: a colour scale, and axes in the numbers' own units."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from illume._typing import FloatArray
from illume.data.number_text import count
from illume.plots.look import Key, Look, plain_number, tick_label
from illume.plots.style import Axes, hide_frame, legend
from illume.results import colours, text
from illume.results.attributions import Attributions
from illume.results.latents import LatentRow, Latents

SCALE = "cividis"
SIZE = 18


class NumberLook(Look):
    """A colour scale of predictions, and units in words."""

    key_place: ClassVar[dict[str, Any]] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
    disagreement: ClassVar[str] = "is off by more than a tenth of a standard deviation"

    def scale(self, i: int) -> tuple[str, ...]:
        """See `Look`."""
        name = self.names[i]
        return ("logarithm", f"of {name}") if self.outputs.link == "log" else (name,)

    def describe_strength(self, batch: Attributions) -> str:
        """See `Look`."""
        if len(self.names) == 1:
            return f"mean absolute {self.contribution(batch, 0)}"
        summed = f"summed over {len(self.names)} numbers, in {self.outputs.strength_unit}"
        return f"mean absolute contribution to {text.owner(batch)} numbers,\n{summed}"

    def owner(self, batch: Attributions) -> str:
        """See `Look`."""
        whose = text.owner(batch)
        return "" if whose == "the model's" else f"{whose} "

    def answer(self, p: FloatArray) -> str:
        """See `Look`."""
        shown = [f"{name} = {self.outputs.format(p[i], i)}" for i, name in enumerate(self.names)]
        return "\n".join(shown) if len("".join(shown)) > 60 else ", ".join(shown)

    def tick(self, score: float, i: int, total: bool) -> str:
        """Return a number; beside a logarithm, the number or the factor that it stands for."""
        number = plain_number(score)
        if self.outputs.link != "log":
            return number
        stands_for = math.exp(min(score, 700.0))
        return f"{number} ({self.outputs.format(stands_for, i) if total else f'× {stands_for:.3g}'})"

    def show_total(self, score: float, i: int) -> str:
        """Return a number, and its logarithm if contributions add up to that."""
        if self.outputs.link != "log":
            return str(self.outputs.format(score, i))
        return f"{self.outputs.format(math.exp(min(score, 700.0)), i)} (logarithm {score:.3f})"

    def weight_groups(self, outputs: list[int]) -> list[list[int]]:
        """Return every output alone, as each has a unit of its own."""
        return [[i] for i in outputs]

    def draw_rows(self, ax: Axes, places: FloatArray, P: FloatArray, i: int, size: float) -> Key:
        """See `Look`."""
        look = _scale(P[:, i]) | {"c": P[:, i], "s": size, "alpha": 0.9, "linewidths": 0, "zorder": 2}
        dots = ax.scatter(places[:, 0], places[:, 1], **look)
        self._colour_bar(ax, dots, i)
        return [], []

    def _colour_bar(self, ax: Axes, shown: Any, i: int) -> None:
        bar = ax.figure.colorbar(shown, ax=ax, extend="both", pad=0.02, aspect=30, format=tick_label)
        bar.set_label(f"prediction: {self.names[i]}")

    def line_colours(self, ax: Axes, P: FloatArray, i: int) -> tuple[Any, Key]:
        """See `Look`."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        look = _scale(P[:, i])
        shades = ScalarMappable(Normalize(look["vmin"], look["vmax"]), look["cmap"])
        self._colour_bar(ax, shades, i)
        return shades.to_rgba(P[:, i]), ([], [])

    def draw_regions(self, ax: Axes, latents: Latents, Z: FloatArray, i: int, **place: Any) -> None:
        """See `Look`."""
        look = _scale(latents.predictions[:, i])
        ax.imshow(latents.answer(Z)[..., i], alpha=0.3, **look, **place)

    def draw_answers(self, ax: Axes, row: LatentRow) -> list[str]:
        """Draw a number in its unit, several in standard deviations each."""
        P, Q = row.batch.predictions[0], row.batch.surrogate_predictions[0]
        unit = self.outputs.unit if len(self.names) > 1 else np.ones(1)
        places = np.arange(len(P))
        ax.barh(places, P / unit, color=colours.FOR, height=0.55)
        ax.scatter(Q / unit, places, marker="D", s=28, color="white", edgecolors=colours.INK, zorder=3)
        ax.xaxis.set_major_formatter(tick_label)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel("" if len(self.names) == 1 else "in standard deviations of each", fontsize="small")
        return [f"{name}:\n{self.outputs.format(P[i], i)}" for i, name in enumerate(self.names)]

    def arrow_colour(self, before: FloatArray, after: FloatArray, i: int) -> str:
        """Return the colour of a rise or of a fall."""
        return colours.contribution_colour(float(after[i] - before[i]))

    def answer_range(self, i: int) -> tuple[float, float]:
        """See `Look`."""
        return self.outputs.edges[i][0], self.outputs.edges[i][-1]

    def draw_quality(self, axes: Any, attributions: Attributions, i: int, n_bins: int) -> str:
        """Draw predictions of the model against the surrogate's, and what is between them."""
        found, show = attributions.residuals(i), self.outputs.format
        left, right = axes
        x, y = found.surrogate, found.black_box
        look: Any = {"s": SIZE, "alpha": 0.6, "linewidths": 0}
        ends = [float(np.min([x.min(), y.min()])), float(np.max([x.max(), y.max()]))] if len(x) else [0, 1]
        (equal,) = left.plot(ends, ends, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
        left.scatter(x, y, color=colours.FOR, **look)
        inside: Any = {"loc": "lower right", "bbox_to_anchor": None, "frameon": True, "edgecolor": "none"}
        legend(left, [equal], ["equal"], **inside)
        right.axhline(0, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
        band = right.axhspan(-found.tolerance, found.tolerance, color=colours.PALE, alpha=0.5, linewidth=0)
        right.scatter(y, y - x, color=colours.FOR, **look)
        legend(right, [band], ["a tenth of a standard deviation"], **inside)
        name = self.names[i]
        for ax in axes:
            ax.xaxis.set_major_formatter(tick_label)
            ax.yaxis.set_major_formatter(tick_label)
            hide_frame(ax, "top", "right")
        left.set_xlabel(f"surrogate's {name}")
        left.set_ylabel(f"black box's {name}")
        right.set_xlabel(f"black box's {name}")
        right.set_ylabel("black box less surrogate")
        known = f"R² {found.r2:.3f}, mean absolute error {show(found.error, i)}"
        left.set_title(f"predictions: {known if len(x) else 'no rows'}", fontsize="medium", loc="left")
        if not len(x):
            return "agreement: no rows"
        near = f"{found.agreement:.1%} of {count(len(x), 'row')}"
        return f"agreement: {near} within a tenth\nof a standard deviation"


def _scale(numbers: FloatArray) -> dict[str, Any]:
    low, high = np.quantile(numbers, [0.05, 0.95]) if len(numbers) else (0.0, 1.0)
    brightest = high + 0.1 * (high - low)  # the very end of the scale is hard to see on white
    return {"cmap": SCALE, "vmin": low, "vmax": brightest}

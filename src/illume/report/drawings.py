"""Charts as SVG, drawn without a script: curves and dots between two axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from illume._typing import FloatArray
from illume.report.markup import Markup, tag

WIDTH, HEIGHT = 350, 280
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 10, 42
N_TICKS = 5


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, with its title and how its numbers are written."""

    title: str
    low: float = 0.0
    high: float = 1.0
    show: Callable[[float], str] = "{:g}".format

    def share(self, number: float) -> float:
        """Return where a number stands, from 0 to 1."""
        return (number - self.low) / ((self.high - self.low) or 1.0)

    @property
    def ticks(self) -> list[float]:
        """Round numbers between the ends."""
        return round_numbers(self.low, self.high)


def round_numbers(low: float, high: float) -> list[float]:
    """Return a few round numbers from `low` to `high`.

    >>> round_numbers(0, 1), round_numbers(-13, 160)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0, 150.0])
    """
    rough = (high - low) / N_TICKS
    if not rough > 0:
        return [low]
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


@dataclass(frozen=True)
class Chart:
    """A chart between two axes; `words` say what it shows to those who do not see it."""

    x: Axis
    y: Axis
    words: str

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point."""
        across = LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - self.y.share(y) * (HEIGHT - TOP - BOTTOM), 1)

    def line(self, xs: FloatArray, ys: FloatArray, kind: str) -> Markup:
        """Draw a line through points."""
        points = (self.at(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        return tag("polyline", points=" ".join(f"{x:g},{y:g}" for x, y in points), class_=f"line {kind}")

    def dots(self, xs: FloatArray, ys: FloatArray, kind: str, radius: float) -> Markup:
        """Draw a dot at each point."""
        points = (self.at(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        circles = [tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:g}") for x, y in points]
        return tag("g", *circles, class_=kind)

    def draw(self, *marks: Markup) -> Markup:
        """Return the chart with its marks."""
        view = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria_label": self.words}
        return tag("svg", *self._axes(), *marks, class_="chart", **view)

    def _axes(self) -> Sequence[Markup]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts = []
        for tick in self.x.ticks:
            x, _ = self.at(tick, self.y.low)
            parts += [
                tag("line", x1=f"{x:g}", x2=f"{x:g}", y1=f"{TOP}", y2=f"{bottom}", class_="grid"),
                tag("text", self.x.show(tick), x=f"{x:g}", y=f"{bottom + 16}", text_anchor="middle"),
            ]
        for tick in self.y.ticks:
            _, y = self.at(self.x.low, tick)
            parts += [
                tag("line", x1=f"{LEFT}", x2=f"{right}", y1=f"{y:g}", y2=f"{y:g}", class_="grid"),
                tag("text", self.y.show(tick), x=f"{LEFT - 6}", y=f"{y + 4:g}", text_anchor="end"),
            ]
        middle = (TOP + bottom) // 2
        titles = (
            tag("text", self.x.title, x=f"{(LEFT + right) // 2}", y=f"{HEIGHT - 6}", text_anchor="middle"),
            tag("text", self.y.title, transform=f"translate(12 {middle}) rotate(-90)", text_anchor="middle"),
        )
        return [*parts, *titles]

"""What the points of the growth benchmark say together: curves over a factor, and their exponents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.growth import CENTRE, STEPS, Point

ASKED = 1.05  # the largest exponent of rows, at the upper end; and of a row's cost, less by 1
PARTS = {
    "fit": "fit",
    "fit prepare": "fit: reading and asking",
    "fit choose": "fit: training",
    "fit rest": "fit: the rest",
    "fit rules": "fit of rules",
    "many attributions": "100,000 attributions",
    "attributions": "attributions",
    "rules": "rules",
    "counterfactuals": "counterfactuals",
}
EXPLAINED = ("attributions", "rules", "counterfactuals")
DEFAULT = ", default training"


class Exponent(NamedTuple):
    """The slope of a line through the logarithms of sizes and seconds, and what repeats leave open."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        value, low, high = (f"{round(each, 2) + 0.0:.2f}" for each in self)  # + 0.0, for there are two zeros
        return value if low == high else f"{value} ({low} to {high})"


@dataclass(frozen=True)
class Curve:
    """The seconds of repeated calls for every size of a factor, sizes ascending."""

    name: str
    sizes: tuple[float, ...]
    times: tuple[tuple[float, ...], ...]

    @property
    def seconds(self) -> list[float]:
        """The median seconds of each size."""
        return [float(np.median(each)) for each in self.times]

    def exponent(self, last: int | None = None) -> Exponent:
        """Return the exponent over all sizes or the `last` few.

        Its bounds are the lowest and highest slope that a line through any of the repeats could have.

        >>> str(Curve("fit", (10.0, 100.0), ((1.0, 1.0), (9.0, 10.0, 11.0))).exponent())
        '1.00 (0.95 to 1.04)'
        """
        sizes, times = (each[-last:] if last else each for each in (self.sizes, self.times))
        slopes = weights(sizes)
        logs = [np.log(each) for each in times]
        value = sum(w * float(np.median(each)) for w, each in zip(slopes, logs, strict=True))
        ends = [
            sorted((w * float(each.min()), w * float(each.max())))
            for w, each in zip(slopes, logs, strict=True)
        ]
        return Exponent(value, sum(low for low, _ in ends), sum(high for _, high in ends))


def weights(sizes: Sequence[float]) -> list[float]:
    """Return what each logarithm of seconds counts for in the slope of the line of least squares.

    >>> [round(weight, 3) for weight in weights([1.0, math.e, math.e**2])]
    [-0.5, 0.0, 0.5]
    """
    if len(sizes) < 2:
        return [math.nan] * len(sizes)
    x = np.log(sizes) - np.mean(np.log(sizes))
    return [float(weight) for weight in x / (x @ x)]


def asked(factor: str, name: str) -> float | None:
    """Return the largest exponent that is asked for at the upper end, if any.

    What a row costs must not depend on how many were fitted: the product would be above proportion.

    >>> asked("n", "fit of rules"), round(asked("n", "rules"), 2), asked("r", "rules"), asked("m", "fit")
    (1.05, 0.05, 1.05, None)
    """
    if factor == "n":
        return ASKED if name.startswith("fit") else ASKED - 1
    return ASKED if factor == "r" else None


def curves(lines: dict[Point, dict[str, Any]], factor: str) -> Iterator[Curve]:
    """Yield a curve for every figure that was measured at two sizes of a factor or more.

    Over rows explained there are only explanations; over all else, attributions of many rows.
    """
    shown = EXPLAINED if factor == "r" else tuple(name for name in PARTS if name != "attributions")
    near = replace(CENTRE, **{factor: 0})
    for steps, suffix, names in ((STEPS, "", shown), (0, DEFAULT, ("fit",) if factor == "n" else ())):
        mine = sorted(
            (
                (getattr(point, factor), line["seconds"])
                for point, line in lines.items()
                if line["error"] is None and replace(point, **{factor: 0}) == replace(near, steps=steps)
            ),
            key=lambda each: each[0],
        )
        for name in names:
            found = [(float(size), tuple(seconds[name])) for size, seconds in mine if seconds.get(name)]
            if len(found) > 1:
                yield Curve(PARTS[name] + suffix, *zip(*found, strict=True))

"""How decisions between classes look in plots: each class has a colour and a marker."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from illume._typing import FloatArray
from illume.data.number_text import count
from illume.data.scales import PROBABILITY
from illume.plots.captions import as_label, class_labels
from illume.plots.look import Key, Look, plain_number
from illume.plots.style import Axes, hide_frame, legend
from illume.results import colours, text
from illume.results.attributions import Attributions
from illume.results.diagnostics import Calibration, ClassAgreement
from illume.results.latents import LatentRow, Latents

MOST_CLASSES = 20  # with a bar of agreement
MOST_SHOWN = 5  # with a bar of probability


class ClassLook(Look):
    """A colour and a marker for every class, and log-odds or probabilities in words."""

    key_title: ClassVar[str | None] = "decision"
    disagreement: ClassVar[str] = "decides otherwise"

    def scale(self, i: int) -> tuple[str, ...]:
        """See `Look`."""
        short, n = (self.outputs.scale_name, f"of '{self.outputs.explained[i]}'"), len(self.names)
        if self.outputs.scale == PROBABILITY:
            return short
        other = f"'{self.names[1 - self.outputs.at]}'" if n == 2 else f"the mean of {n} classes"
        return (*short, f"against {other}")

    def describe_strength(self, batch: Attributions) -> str:
        """See `Look`."""
        summed = f", summed over {len(self.names)} classes\n" if len(self.names) > 2 else " "
        return f"mean absolute contribution{summed}({text.owner(batch)} {self.outputs.scale_name})"

    def owner(self, batch: Attributions) -> str:
        """See `Look`."""
        return f"{text.owner(batch)} "

    def answer(self, p: FloatArray) -> str:
        """See `Look`."""
        c = int(self.outputs.decide(p[None])[0])
        return f"{self.names[c]}, probability {p[c]:.3f}"

    def tick(self, score: float, i: int, total: bool) -> str:
        """See `Look`."""
        return plain_number(score)

    def draw_rows(self, ax: Axes, places: FloatArray, P: FloatArray, i: int, size: float) -> Key:
        """See `Look`."""
        decisions = self.outputs.decide(P)
        handles: list[Any] = []
        for c in np.unique(decisions):
            x, y = places[decisions == c].T
            look: Any = {"color": colours.class_colour(int(c)), "marker": colours.class_marker(int(c))}
            handles.append(ax.scatter(x, y, s=size, alpha=0.75, linewidths=0, zorder=2, **look))
        return handles, [self.names[c] for c in np.unique(decisions)]

    def line_colours(self, ax: Axes, P: FloatArray, i: int) -> tuple[Any, Key]:
        """See `Look`."""
        from matplotlib.lines import Line2D

        decisions = self.outputs.decide(P)
        decided = np.unique(decisions)
        handles: list[Any] = [Line2D([], [], color=colours.class_colour(int(c))) for c in decided]
        tints = [colours.class_colour(int(c)) for c in decisions]
        return tints, (handles, [self.names[c] for c in decided])

    def draw_regions(self, ax: Axes, latents: Latents, Z: FloatArray, i: int, **place: Any) -> None:
        """See `Look`."""
        from matplotlib.colors import ListedColormap

        n = len(self.names)
        shades = ListedColormap([colours.class_colour(c) for c in range(n)])
        look: Any = {"cmap": shades, "vmin": -0.5, "vmax": n - 0.5, "alpha": 0.13}
        ax.imshow(latents.decide(Z), interpolation="nearest", **look, **place)

    def draw_answers(self, ax: Axes, row: LatentRow) -> list[str]:
        """See `Look`."""
        P, Q = row.batch.predictions[0], row.batch.surrogate_predictions[0]
        first = np.sort(np.argsort(-P, kind="stable")[:MOST_SHOWN])
        places = np.arange(len(first))
        ax.barh(places, P[first], color=[colours.class_colour(int(c)) for c in first], height=0.55)
        ax.scatter(Q[first], places, marker="D", s=28, color="white", edgecolors=colours.INK, zorder=3)
        ax.set_xlim(0, 1.03)
        return [self.names[c] for c in first]

    def arrow_colour(self, before: FloatArray, after: FloatArray, i: int) -> str:
        """See `Look`."""
        return colours.class_colour(int(self.outputs.decide(after[None])[0]))

    def answer_range(self, i: int) -> tuple[float, float]:
        """See `Look`."""
        return 0.0, 1.0

    def draw_quality(self, axes: Any, attributions: Attributions, i: int, n_bins: int) -> str:
        """Draw calibration and the agreement by decision."""
        _draw_calibration(axes[0], attributions.calibration(i, n_bins))
        return f"agreement by decision: {_draw_agreement(axes[1], attributions.class_agreement)}"


def _draw_calibration(ax: Axes, found: Calibration) -> None:
    known = found.n_rows > 0
    x, y = found.surrogate[known], found.black_box[known]
    (diagonal,) = ax.plot([0, 1], [0, 1], color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    spread = ax.vlines(x, found.low[known], found.high[known], color=colours.FOR, alpha=0.35, linewidth=3)
    size = 20 + 160 * found.n_rows[known] / max(found.n_rows.max(), 1)
    ax.plot(x, y, color=colours.FOR, linewidth=1)
    dots = ax.scatter(x, y, s=size, color=colours.FOR, edgecolors="white", zorder=3)
    labels = ["mean of a group (large: many rows)", "80 % of its rows", "equal"]
    above: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3}
    legend(ax, [dots, spread, diagonal], labels, columnspacing=1.0, handletextpad=0.4, **above)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    name = as_label(found.name, 24)
    ax.set_xlabel(f"surrogate's probability of '{name}'")
    ax.set_ylabel(f"black box's probability of '{name}'")
    error = f"mean gap {found.error:.3f}" if known.any() else "no rows"
    ax.set_title(f"calibration: {error}", fontsize="medium", loc="left", y=1.08)
    hide_frame(ax, "top", "right")


def _draw_agreement(ax: Axes, found: ClassAgreement) -> str:
    """Draw a bar per class; return the share of all rows in words."""
    shown = np.sort(np.argsort(-found.n_rows, kind="stable")[:MOST_CLASSES])
    places, shares = np.arange(len(shown)), np.nan_to_num(found.agreement)[shown]
    low, high = (side[shown] for side in found.interval)
    seen = found.n_rows[shown] > 0
    tints = [colours.class_colour(int(c)) for c in shown]
    ax.barh(places, shares, color=tints, height=min(0.6, 0.2 * len(shown)), alpha=0.85)
    ax.hlines(places[seen], low[seen], high[seen], color=colours.INK, linewidth=1.4)
    labels = class_labels(found.names)
    names = [f"{labels[c]}\n({count(int(found.n_rows[c]), 'row')})" for c in shown]
    ax.set_yticks(places, names, fontsize="medium" if len(shown) <= 8 else "x-small")
    ax.invert_yaxis()
    ax.set_xlim(0, 1.03)
    ax.set_xlabel("share with equal decisions, with 95 % interval")
    hide_frame(ax)
    n = int(found.n_rows.sum())
    if not n:
        return "no rows"
    return f"{found.total:.1%} of {count(n, 'row')}\n(the most common has {found.n_rows.max() / n:.1%})"

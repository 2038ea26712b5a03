"""Quality: how true contributions are, and how the surrogate stands to the black box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.plots.axes import as_text, clean, given_or_new_pair, legend, open_frame, require
from illume.plots.names import class_labels
from illume.results import colours
from illume.results.attributions import Attributions
from illume.results.quality import UNKNOWN, Calibration, ClassAgreement, Quality
from illume.results.text import typical_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASSES_SHOWN = 20


def quality(
    attributions: Attributions,
    *,
    output: int | str = 0,
    n_bins: int = 10,
    measured: Quality | None = None,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw on two axes how far the surrogate can stand in for the black box; return the array of both.

    On the left, rows are grouped by the surrogate's probability of a class: close to the diagonal, the black
    box says the same. On the right, the share of rows of each decision on which both agree, before any
    refinement, with 95 % intervals; the title also has the share of the most common decision. Use rows that
    the explainer was not fitted on. `measured=explainer.quality_` adds how true contributions are.
    """
    require(attributions, Attributions, "quality is seen on many rows", "pass the whole batch")
    agreement = attributions.class_agreement
    n = min(len(agreement.names), CLASSES_SHOWN)
    pair = given_or_new_pair(axes, max(3.8, 1.6 + 0.3 * n))
    _calibration(pair[0], attributions.calibration(output, n_bins))
    _agreement(pair[1], agreement)
    _contributions(pair[1], attributions, measured)
    return pair


def _contributions(ax: Axes, attributions: Attributions, measured: Quality | None) -> None:
    """Write how true contributions are."""
    found, error = None if measured is None else measured.contributions, typical_error(attributions)
    if found is not None and found.word != UNKNOWN:
        said = (
            f"contributions: R² {found.r2:.3f} ({found.low:.3f} to {found.high:.3f}),\n"
            f"off by {found.error:.3f}, on {found.n_rows} held-out rows"
        )
    elif np.isfinite(error):
        said = f"contributions: typical error {error:.3f} in log-odds"
    else:
        said = "contributions: how true they are is not measured"
    ax.set_title(f"{said}\n{ax.get_title(loc='left')}", fontsize="medium", loc="left")


def _calibration(ax: Axes, found: Calibration) -> None:
    known = found.n_rows > 0
    x, y = found.surrogate[known], found.black_box[known]
    (diagonal,) = ax.plot([0, 1], [0, 1], color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    spread = ax.vlines(x, found.low[known], found.high[known], color=colours.FOR, alpha=0.35, linewidth=3)
    size = 20 + 160 * found.n_rows[known] / max(found.n_rows.max(), 1)
    ax.plot(x, y, color=colours.FOR, linewidth=1)
    dots = ax.scatter(x, y, s=size, color=colours.FOR, edgecolors="white", zorder=3)
    labels = ["mean of a group (large: many rows)", "80 % of its rows", "equal"]
    options = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "fontsize": "small"}
    legend(ax, [dots, spread, diagonal], labels, columnspacing=1.0, handletextpad=0.4, **options)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    name = as_text(found.name, 24)
    ax.set_xlabel(f"surrogate's probability of '{name}'")
    ax.set_ylabel(f"black box's probability of '{name}'")
    error = f"mean gap {found.error:.3f}" if known.any() else "no rows"
    ax.set_title(f"calibration: {error}", fontsize="medium", loc="left", y=1.08)
    open_frame(ax)


def _agreement(ax: Axes, found: ClassAgreement) -> None:
    shown = np.sort(np.argsort(-found.n_rows, kind="stable")[:CLASSES_SHOWN])
    place, share = np.arange(len(shown)), np.nan_to_num(found.agreement)[shown]
    low, high = (side[shown] for side in found.interval)
    seen = found.n_rows[shown] > 0
    ax.barh(
        place,
        share,
        color=[colours.class_colour(int(c)) for c in shown],
        height=min(0.6, 0.2 * len(shown)),
        alpha=0.85,
    )
    ax.hlines(place[seen], low[seen], high[seen], color=colours.INK, linewidth=1.4)
    labels = class_labels(found.names)
    names = [f"{labels[c]}\n({found.n_rows[c]} rows)" for c in shown]
    ax.set_yticks(place, names, fontsize="medium" if len(shown) <= 8 else "x-small")
    ax.invert_yaxis()
    ax.set_xlim(0, 1.03)
    ax.set_xlabel("share decided alike, with 95 % interval")
    n = int(found.n_rows.sum())
    total = (
        f"{found.total:.1%} of {n} rows\n(the most common has {found.n_rows.max() / n:.1%})"
        if n
        else "no rows"
    )
    ax.set_title(f"agreement by decision: {total}", fontsize="medium", loc="left")
    clean(ax)

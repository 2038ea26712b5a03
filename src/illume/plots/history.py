"""The training history: how the loss fell, and which epoch was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.plots.axes import given_or_new
from illume.results import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from illume.results.history import History


def history(history: History, *, ax: Axes | None = None) -> Axes:
    """Draw the loss on training and validation rows over the epochs."""
    ax = given_or_new(ax)
    table = history.to_dict()
    ax.plot(table["epoch"], table["loss"], color=colours.NEUTRAL, label="training")
    ax.plot(table["epoch"], table["validation_loss"], color=colours.FOR, label="validation")
    ax.axvline(history.best, color=colours.AGAINST, linestyle=":", label=f"kept: epoch {history.best}")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax

"""The training history: how the loss fell, and which epoch was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.plots.axes import given_or_new, open_frame, require
from illume.results import colours
from illume.results.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def history(history: History, *, ax: Axes | None = None) -> Axes:
    """Draw the loss on training and validation rows over the epochs."""
    require(
        history, History, "a training has a history", "an identity encoder, for instance, was not trained"
    )
    ax = given_or_new(ax)
    table = history.to_dict()
    dot = "o" if len(history) < 2 else None
    ax.plot(table["epoch"], table["loss"], color=colours.NEUTRAL, label="training", marker=dot)
    ax.plot(table["epoch"], table["validation_loss"], color=colours.FOR, label="validation", marker=dot)
    ax.axvline(history.best, color=colours.AGAINST, linestyle=":", label=f"kept: epoch {history.best}")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    open_frame(ax)
    ax.legend(frameon=False)
    return ax

"""Displays as in scikit-learn: from an explainer and rows to a plot, in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from illume.plots.bars import bar, waterfall
from illume.plots.many_rows import beeswarm
from illume.plots.style import Axes
from illume.results.attributions import Attribution, Attributions

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

KINDS: dict[str, Callable[..., Any]] = {"bar": bar, "beeswarm": beeswarm, "waterfall": waterfall}


class AttributionsDisplay:
    """A plot of attributions, with the axes and the figure that it was drawn on.

    Make one with `from_explainer`, or from existing attributions and call `plot`.

    Parameters
    ----------
    attributions
        A batch, or one row of it.
    kind
        "beeswarm" or "bar" for a batch, "waterfall" or "bar" for one row.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, attributions: Attributions | Attribution, *, kind: str = "beeswarm") -> None:
        self.attributions = attributions
        self.kind = kind

    @classmethod
    def from_explainer(
        cls,
        explainer: Callable[[Any], Attributions],
        X: Any,
        *,
        kind: str = "beeswarm",
        row: int | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Explain the rows of a frame and draw them, or only the one at position `row`.

        Options are those of the plot: see `illume.plots`.
        """
        _check_kind(kind, row is None)
        attributions = explainer(X)
        shown = attributions if row is None else attributions[row]
        return cls(shown, kind=kind).plot(ax, **options)

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw on `ax` or on new axes, which are kept as `ax_`; nothing is shown."""
        _check_kind(self.kind, isinstance(self.attributions, Attributions))
        self.ax_ = KINDS[self.kind](self.attributions, ax=ax, **options)
        self.figure_ = self.ax_.figure
        return self


def _check_kind(kind: str, many: bool) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, found {kind!r}")
    if kind == "waterfall" and many:
        raise ValueError("a waterfall shows one row, found a batch; say which row, as in row=0")
    if kind == "beeswarm" and not many:
        raise ValueError("a beeswarm shows many rows, found one; leave out row, or use a bar or a waterfall")

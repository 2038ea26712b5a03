"""Displays in scikit-learn's manner: from an explainer and rows to a picture, in one call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self

from illume.results.attributions import Attribution, Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Rows = Literal["one", "many", "either"]

# What `kind` may be: the name of a picture in `illume.plots`, and how many rows it shows.
PICTURES: dict[str, Rows] = {"bar": "either", "beeswarm": "many", "waterfall": "one"}


class AttributionsDisplay:
    """A picture of attributions, with the axes and the figure that it was drawn on.

    Make one with `from_explainer`, or from attributions that are there already and call `plot`.

    Parameters
    ----------
    attributions
        What is shown: a batch, or one row of it.
    kind
        `beeswarm` and `bar` of a batch, `waterfall` and `bar` of one row.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn, once it was.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, attributions: Attributions | Attribution, *, kind: str = "beeswarm") -> None:
        self.attributions = attributions
        self.kind = kind

    @classmethod
    def from_explainer(
        cls,
        explainer: Any,
        X: Any,
        *,
        kind: str = "beeswarm",
        row: int | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Explain the rows of a frame and draw them; `row` takes one of them, by its position.

        Options are those of the picture: see `illume.plots`.
        """
        _check(kind, row is None)
        attributions = explainer(X)
        shown = attributions if row is None else attributions[row]
        return cls(shown, kind=kind).plot(ax, **options)

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones, and remember them; nothing is shown."""
        _check(self.kind, isinstance(self.attributions, Attributions))
        draw = getattr(import_module("illume.plots"), self.kind)
        self.ax_ = draw(self.attributions, ax=ax, **options)
        self.figure_ = self.ax_.figure
        return self


def _check(kind: str, many: bool) -> None:
    if kind not in PICTURES:
        raise ValueError(f"kind must be one of {list(PICTURES)}, found {kind!r}")
    if PICTURES[kind] == "one" and many:
        raise ValueError(f"a {kind} shows one row, found a batch; say which row, as in row=0")
    if PICTURES[kind] == "many" and not many:
        raise ValueError(f"a {kind} shows many rows, found one; leave out row, or take a bar or a waterfall")

"""All explanations that a report shows, asked for once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from illume._typing import IntArray
from illume.data.frames import Frame
from illume.errors import rows_at
from illume.explanations.attributions import attribute
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactuals import find_counterfactuals
from illume.explanations.fitted import Fitted
from illume.explanations.latents import explain_latents
from illume.explanations.rules import RuleRequest, explain_rules
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.latents import Latents
from illume.results.rules import Rules

CF_PIECE = 200


@dataclass(frozen=True)
class Options:
    """What to show, and of how many rows."""

    rules: bool = True
    counterfactuals: bool = True
    n_counterfactuals: int = 2
    max_rows: int = 10_000
    max_counterfactual_rows: int = 1_000

    def __post_init__(self) -> None:
        for name in ("n_counterfactuals", "max_rows", "max_counterfactual_rows"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, found {number!r}")


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations of some rows of a frame of `n_given`; `positions` says which.

    `searched` are the rows, by their position among the shown ones, that counterfactuals were searched for;
    each of the `counterfactuals` holds the next of them.
    """

    n_given: int
    positions: IntArray
    attributions: Attributions
    latents: Latents
    rules: Rules | None
    searched: IntArray
    counterfactuals: tuple[Counterfactuals, ...]

    @property
    def n_shown(self) -> int:
        """How many rows are shown."""
        return len(self.positions)


def spread_out(n: int, most: int) -> IntArray:
    """Return at most so many of n positions, evenly spaced.

    >>> spread_out(5, 10), spread_out(10, 3)
    (array([0, 1, 2, 3, 4]), array([0, 4, 9]))
    """
    if n <= most:
        return np.arange(n)
    return np.round(np.linspace(0, n - 1, most)).astype(np.intp)


def explain(fitted: Fitted, frame: Frame, options: Options, verbose: bool | None) -> Explained:
    """Explain the rows of a frame, evenly spaced ones where there are too many."""
    positions = spread_out(len(frame), options.max_rows)
    rows = frame if len(positions) == len(frame) else frame.take(positions)
    searched = spread_out(len(rows), options.max_counterfactual_rows if options.counterfactuals else 0)
    disable = None if verbose is None else not verbose
    parts = [searched[i : i + CF_PIECE] for i in range(0, len(searched), CF_PIECE)]
    request = CounterfactualRequest(options.n_counterfactuals)
    with tqdm(desc="report", total=3 + len(parts), unit="step", disable=disable) as bar:
        attributions = _step(bar, "attributions", positions, lambda: attribute(fitted, rows))
        latents = _step(bar, "latents", positions, lambda: explain_latents(fitted, rows))
        rules = _step(
            bar,
            "rules",
            positions,
            lambda: explain_rules(fitted, rows, RuleRequest()) if options.rules else None,
        )
        found = tuple(
            _step(
                bar,
                "counterfactuals",
                positions[part],
                partial(find_counterfactuals, fitted, rows.take(part), request),
            )
            for part in parts
        )
    return Explained(len(frame), positions, attributions, latents, rules, searched, found)


def _step(bar: Any, name: str, places: IntArray, work: Callable[[], Any]) -> Any:
    """Do a part of the work; errors about rows name them by their places in the frame that was given."""
    bar.set_postfix_str(name)
    with rows_at(places.tolist()):
        result = work()
    bar.update()
    return result

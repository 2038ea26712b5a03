"""The explanations that a report shows, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.outputs import Outputs
from illume.data.progress import tqdm
from illume.data.require import require_int
from illume.data.sampling import evenly_spaced
from illume.errors import renumber_rows
from illume.explanations.asked import Asked
from illume.explanations.attributions import attribute
from illume.explanations.counterfactual_request import OPPOSITE, CounterfactualRequest
from illume.explanations.counterfactuals import find_counterfactuals
from illume.explanations.fitted import Fitted
from illume.explanations.rules import explain_rules
from illume.report.answers import answers_of
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.rules import Rules

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class ReportRequest:
    """Which parts of a report to show; see `Explainer.report`."""

    n_counterfactuals: int = 2
    max_rows: int = 10_000
    max_counterfactual_rows: int = 1_000
    rules: bool = True
    counterfactuals: bool = True
    title: str | None = None
    date: Any = None
    y: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of counterfactuals

    def __post_init__(self) -> None:
        """Check what was given, before any work."""
        for option in ("n_counterfactuals", "max_rows", "max_counterfactual_rows"):
            require_int(option, getattr(self, option))


def require_page(path: Any, what: str) -> Path:
    """Return the path of a page that can be written, by default one without a file; raise if it cannot."""
    if path is None:
        pages = (Path(f"{what}-{i}.html" if i > 1 else f"{what}.html") for i in count(1))
        return next(page for page in pages if not page.exists())
    if not isinstance(path, (str, PathLike)):
        kind = type(path).__name__
        raise TypeError(
            f"path must be the name of a file, found {kind}; labels are given as y=labels: "
            f"explainer.{what}(X, '{what}.html', y=labels)"
        )
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / f'{what}.html'}")
    if not path.name.lower().endswith(SUFFIXES):
        raise ValueError(f"the {what} {path} must end in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} into; make it first")
    return path


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations of the rows at `positions` of a frame with `n_given` rows, asked about once.

    Counterfactuals were searched for the rows at `searched`, positions among those shown; `wish` says what
    they reach. A page opens with the row `opens`: one with the unwanted decision and, if any has one, with a
    counterfactual.
    """

    n_given: int
    positions: IntArray
    asked: Asked
    attributions: Attributions
    rules: Rules | None
    searched: IntArray
    counterfactuals: Counterfactuals | None
    wish: str
    opens: int


def explain_rows(
    fitted: Fitted, frame: Frame, request: ReportRequest, verbose: bool | None, page: str = "report"
) -> Explained:
    """Explain the rows of a frame, or evenly spaced ones if there are too many; `page` names the progress."""
    wanted, search, wish = answers_of(fitted.outputs).requests(request.n_counterfactuals, request.options)
    if request.counterfactuals:
        search = search.with_columns(fitted)
        search.validate(fitted)
    positions = evenly_spaced(len(frame), request.max_rows)
    rows = frame if len(positions) == len(frame) else frame.take(positions)
    disable = None if verbose is None else not verbose
    n_steps = 2 + request.rules + request.counterfactuals
    with tqdm(desc=page, total=n_steps, unit="step", disable=disable) as bar:

        def step(name: str, work: Callable[[Fitted, Any], Any], on: Any, where: IntArray) -> Any:
            """Do a step; errors name rows by their positions in the whole frame."""
            bar.set_postfix_str(name)
            with renumber_rows(where.tolist().__getitem__):
                result = work(fitted, on)
            bar.update()
            return result

        asked = step("asking the model", Asked.about, rows, positions)
        attributions = step("attributions", attribute, asked, positions)
        rules = None
        if request.rules:
            rules = step("rules", partial(explain_rules, request=wanted), asked, positions)
        unwanted = find_unwanted(fitted.outputs, asked.P, search)
        searched = rows_to_search(unwanted, request.max_counterfactual_rows)
        counterfactuals = None
        if request.counterfactuals:
            find, some = partial(find_counterfactuals, request=search), positions[searched]
            counterfactuals = step("counterfactuals", find, asked.take(searched), some)
    searched = searched if request.counterfactuals else searched[:0]
    flipped = searched[np.unique(counterfactuals.row)] if counterfactuals else searched[:0]
    opens = next((some[0] for some in (flipped[unwanted[flipped]], np.flatnonzero(unwanted)) if len(some)), 0)
    shown = attributions, rules, searched, counterfactuals
    return Explained(len(frame), positions, asked, *shown, wish, opens=int(opens))


def find_unwanted(outputs: Outputs, P: FloatArray, search: CounterfactualRequest) -> BoolArray:
    """Return which rows, answered with P (n, c), have the unwanted answer; by default the positive class."""
    unwanted = ~search.goal(outputs, P).reached
    if outputs.decides and search.desired_class == OPPOSITE:
        positive = positive_class(outputs)
        if positive is not None and (decided := outputs.strata.decide(P) == positive).any():
            unwanted = decided
    return unwanted


def rows_to_search(unwanted: BoolArray, most: int) -> IntArray:
    """Return which rows get counterfactuals: unwanted ones before others; of too many, evenly spaced ones.

    >>> rows_to_search(np.array([False, True, False, True]), 3)
    array([0, 1, 3])
    """
    first, others = np.flatnonzero(unwanted), np.flatnonzero(~unwanted)
    chosen = first[evenly_spaced(len(first), most)]
    rest = others[evenly_spaced(len(others), most - len(chosen))]
    return np.sort(np.concatenate([chosen, rest]))


def positive_class(outputs: Any) -> int | None:
    """Return the position of the class that pages open with; None of more than two, if none was chosen."""
    position: int | None = outputs.at if len(outputs) == 2 else outputs.positive
    return position

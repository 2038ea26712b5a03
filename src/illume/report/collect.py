"""The explanations that a report shows, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.outputs import Outputs
from illume.data.progress import tqdm
from illume.data.sampling import evenly_spaced
from illume.errors import renumber_rows
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
            require_count(option, getattr(self, option))


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


def require_count(option: str, number: Any) -> None:
    """Raise unless an option is a whole number of at least 1."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise ValueError(f"{option} must be an integer of at least 1, found {number!r}")


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations of the rows at `positions` of a frame with `n_given` rows.

    Counterfactuals were searched for the rows at `searched`, positions among those shown; `wish` says what
    they reach.
    """

    n_given: int
    positions: IntArray
    attributions: Attributions
    rules: Rules | None
    searched: IntArray
    counterfactuals: Counterfactuals | None
    wish: str


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
    n_steps = 1 + request.rules + request.counterfactuals
    with tqdm(desc=page, total=n_steps, unit="step", disable=disable) as bar:

        def step(name: str, explain: Callable[..., Any], part: IntArray, *request: Any) -> Any:
            """Explain a part of the rows; errors name rows by their positions in the whole frame."""
            bar.set_postfix_str(name)
            with renumber_rows(positions[part].tolist().__getitem__):
                result = explain(fitted, rows if len(part) == len(rows) else rows.take(part), *request)
            bar.update()
            return result

        every = np.arange(len(rows))
        attributions = step("attributions", attribute, every)
        rules = step("rules", explain_rules, every, wanted) if request.rules else None
        searched = rows_to_search(
            fitted.outputs,
            attributions.predictions,
            search,
            request.max_counterfactual_rows if request.counterfactuals else 0,
        )
        counterfactuals = (
            step("counterfactuals", find_counterfactuals, searched, search)
            if request.counterfactuals
            else None
        )
    return Explained(len(frame), positions, attributions, rules, searched, counterfactuals, wish)


def rows_to_search(outputs: Outputs, P: FloatArray, search: CounterfactualRequest, most: int) -> IntArray:
    """Return which rows, answered with P (n, c), get counterfactuals: first all that are not as wanted.

    With no wish for a class, rows of the positive one come first. Of too many rows, evenly spaced ones are
    taken.
    """
    first = ~search.goal(outputs, P).reached
    if outputs.decides and search.desired_class == OPPOSITE:
        positive = positive_class(outputs)
        if positive is not None and (decided := outputs.strata.decide(P) == positive).any():
            first = decided
    wanted, others = np.flatnonzero(first), np.flatnonzero(~first)
    chosen = wanted[evenly_spaced(len(wanted), most)]
    rest = others[evenly_spaced(len(others), most - len(chosen))]
    return np.sort(np.concatenate([chosen, rest]))


def positive_class(outputs: Any) -> int | None:
    """Return the position of the class that pages open with; None of more than two, if none was chosen."""
    position: int | None = outputs.at if len(outputs) == 2 else outputs.positive
    return position

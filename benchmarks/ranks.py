"""Critical-difference diagrams: mean ranks of methods, and which of them cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmarks import selection
from benchmarks.paper import Column

ALPHA = 0.10


@dataclass(frozen=True, eq=False)
class Ranking:
    """Figures of the methods (columns) that have every case (rows: data set and black box)."""

    title: str
    values: pd.DataFrame
    less: bool
    left_out: dict[str, int]  # method -> cases it has, of those that are there

    @property
    def enough(self) -> bool:
        """Say whether the tests can be made: three methods, two cases."""
        return self.values.shape[1] >= 3 and len(self.values) >= 2

    def ranks(self) -> pd.Series:
        """Return mean ranks, 1 the best."""
        return self.values.rank(axis=1, ascending=self.less).mean()

    def friedman(self) -> float:
        """Return the probability of such ranks if all methods were alike."""
        from scipy.stats import friedmanchisquare

        return float(friedmanchisquare(*self.values.to_numpy().T).pvalue)


def ranking(cells: pd.DataFrame, protocol: str, title: str, metrics: dict[Column, str]) -> Ranking:
    """Compare methods by the figure of each case that a protocol chooses.

    Parameters
    ----------
    metrics
        The metric of each column: slopes of one method may stand beside contributions of another.
    """
    chosen = {}
    for column, metric in metrics.items():
        found = selection.among(cells, protocol, column, metric)
        if len(found):
            chosen[column.label] = selection.choose(found, protocol, metric)["value"]
    values = pd.DataFrame(chosen)
    have = values.notna().sum()
    full = values.loc[:, have == len(values)]
    left_out = {str(name): int(count) for name, count in have.items() if count < len(values)}
    return Ranking(title, full, selection.lower(next(iter(metrics.values()))), left_out)


def diagram(ranking: Ranking, ax: Any, colours: dict[str, str]) -> None:
    """Draw mean ranks on a line; a bar joins methods that the Nemenyi test cannot tell apart."""
    import scikit_posthocs

    ranks = ranking.ranks()
    different = scikit_posthocs.posthoc_nemenyi_friedman(ranking.values.reset_index(drop=True))
    low = math.floor(ranks.min())
    high = max(math.ceil(ranks.max()), low + 1)
    ax.set_xlim(low, high)
    ax.set_xticks(range(low, high + 1))
    artists = scikit_posthocs.critical_difference_diagram(
        ranks,
        different,
        alpha=ALPHA,
        ax=ax,
        label_fmt_left="{label} ({rank:.1f})\u00a0",
        label_fmt_right="\u00a0({rank:.1f}) {label}",
        label_props={"fontsize": 9},
        color_palette={label: colours[label] for label in ranks.index},
        text_h_margin=0.04,
    )
    for label in artists["labels"]:
        label.set_color("black")
    ax.set_title(f"{ranking.title}\n{heading(ranking)}", fontsize=9, pad=20)


def heading(ranking: Ranking) -> str:
    """Say how many cases are behind a diagram, how sure it is, and who is missing."""
    data = ranking.values.index.get_level_values("data").nunique()
    boxes = ranking.values.index.get_level_values("black_box").nunique()
    cases = len(ranking.values)
    shape = f"{data} × {boxes}" if cases == data * boxes else f"{cases} of {data} × {boxes}"
    p = ranking.friedman()
    text = f"{shape} data sets × black boxes, Friedman p {'< .001' if p < 0.001 else f'= {p:.3f}'}"
    missing = ", ".join(f"{name} ({count} of {cases} cases)" for name, count in ranking.left_out.items())
    return f"{text}\nleft out: {missing}" if missing else text


def rows(rankings: Sequence[Ranking]) -> float:
    """Return a height in inches that leaves a line per method."""
    return sum(1.5 + 0.17 * len(ranking.values.columns) for ranking in rankings)

"""Critical-difference diagrams: mean ranks of methods, and groups without a significant difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmarks.evaluation import selection
from benchmarks.evaluation.paper import Column

ALPHA = 0.10


@dataclass(frozen=True, eq=False)
class Ranking:
    """Figures of the methods (columns) with a figure in every case (rows: data set and black box)."""

    title: str
    values: pd.DataFrame
    less: bool
    left_out: dict[str, int]  # method -> number of its cases

    @property
    def enough(self) -> bool:
        """Whether the tests are defined: three methods and two cases."""
        return self.values.shape[1] >= 3 and len(self.values) >= 2

    def ranks(self) -> pd.Series:
        """Return mean ranks; 1 is the best."""
        return self.values.rank(axis=1, ascending=self.less).mean()

    def friedman(self) -> float:
        """Return the p-value of the Friedman test."""
        from scipy.stats import friedmanchisquare

        return float(friedmanchisquare(*self.values.to_numpy().T).pvalue)


def ranking(cells: pd.DataFrame, protocol: str, title: str, metrics: dict[Column, str]) -> Ranking:
    """Compare methods by the figures that a protocol chooses, each column by its own metric."""
    chosen = {}
    for column, metric in metrics.items():
        found = selection.column_cells(cells, protocol, column, metric)
        if len(found):
            chosen[column.label] = selection.choose(found, protocol, metric)["value"]
    values = pd.DataFrame(chosen)
    have = values.notna().sum()
    full = values.loc[:, have == len(values)]
    left_out = {str(name): int(count) for name, count in have.items() if count < len(values)}
    return Ranking(title, full, selection.lower_is_better(next(iter(metrics.values()))), left_out)


def diagram(ranking: Ranking, ax: Any, colours: dict[str, str]) -> None:
    """Draw mean ranks on a line; a bar joins methods without a significant difference (Nemenyi test)."""
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
    """Return the number of cases, the p-value and the methods left out."""
    data = ranking.values.index.get_level_values("data").nunique()
    boxes = ranking.values.index.get_level_values("black_box").nunique()
    cases = len(ranking.values)
    shape = f"{data} × {boxes}" if cases == data * boxes else f"{cases} of {data} × {boxes}"
    p = ranking.friedman()
    text = f"{shape} data sets × black boxes, Friedman p {'< .001' if p < 0.001 else f'= {p:.3f}'}"
    missing = ", ".join(f"{name} ({count} of {cases} cases)" for name, count in ranking.left_out.items())
    return f"{text}\nleft out: {missing}" if missing else text


def height(ranking: Ranking) -> float:
    """Return the height of a diagram in inches, with a line for each method."""
    return 1.5 + 0.17 * len(ranking.values.columns)

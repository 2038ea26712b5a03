"""The figures of the paper: critical differences, correctness over input size, training rows, times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from benchmarks.data import PROTOCOLS
from benchmarks.evaluation import paper, ranks, selection
from benchmarks.evaluation.paper import Column
from benchmarks.evaluation.tables import ILLUME, data_names, parts
from benchmarks.harness import RESULTS, ROOT
from benchmarks.markup import PALETTE, canvas, label_axes, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERMILLION, BLUE, SKY, GREEN, ORANGE, PURPLE, GREY, BLACK = PALETTE
SIZES = ("4+0", "8+0", "16+0", "16+16", "16+48")
TRAINING_ROWS = 1024  # of a SENECA problem
COLOURS = {"illume": VERMILLION, "paper": BLUE, "lin": SKY, "inp": GREEN, "lime": ORANGE, "shap": PURPLE}
COLOURS |= {"lore": ORANGE, "anchor": PURPLE, "pca": BLACK}
MARKERS = {"illume": "o", "paper": "s", "lin": "D", "inp": "^", "lime": "v", "shap": "P"}
VARIANTS = tuple(
    Column.parse(f"ill{variant} ({objective})")
    for variant in ("", "-uc", "-us")
    for objective in (".", "co", "so", "so2")
)

Drawing = Callable[[pd.DataFrame, str], "Figure | None"]


def figures(results: Path = RESULTS, out: Path = ROOT / "docs") -> int:
    """Draw the figures of the evaluation, of speed and of growth."""
    from benchmarks.speed.figures import draw as draw_speed

    folder = out / "images" / "results"
    print(*draw(results, folder), *draw_speed(results, folder), sep="\n")
    return 0


def draw(results: Path, out: Path, protocols: Iterable[str] = PROTOCOLS) -> list[Path]:
    """Draw every figure whose cells are there, and name the others."""
    cells = selection.cells(selection.read(results))
    written = []
    for protocol in protocols:
        for name, (_, drawing) in FIGURES.items():
            try:
                figure = drawing(cells, protocol)
            except ModuleNotFoundError as error:  # critical differences need another package
                print(f"{name} ({protocol}): {error}, no figure drawn")
                continue
            if figure is None:
                print(f"{name} ({protocol}): cells are missing, no figure drawn")
                continue
            written += save_figure(figure, out / f"{name}-{protocol}")
    return written


def rankings(names: Iterable[str], cells: pd.DataFrame, protocol: str) -> list[ranks.Ranking]:
    """Rank the methods of some tables' panels, black boxes together."""
    found = []
    for table in (paper.tables()[name] for name in names):
        for panel, kind in parts(table, protocol):
            title = panel.title if kind == "native" else f"{panel.title} of {kind}"
            metrics = {
                column: selection.metric_name(panel.metric, column.method, kind)
                for column in (ILLUME, *panel.columns)
            }
            mine = cells[cells["data"].isin(data_names(cells, panel))]
            found.append(ranks.ranking(mine, protocol, title, metrics))
    return found


def table_diagrams(names: tuple[str, ...], cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Draw a diagram for each panel of some tables."""
    return diagrams(rankings(names, cells, protocol))


def surrogates(cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Compare linear models and trees over different spaces by their agreement with the black box."""
    columns = (ILLUME, *map(Column.parse, ("ill (.)", "lin (.)", "ill-uc (.)", "lin-uc (.)", "inp")))
    real = cells[cells["data"].isin(paper.data())]
    titles = {"lr.f1": "Macro-F1 of linear surrogates", "dt.f1": "Macro-F1 of tree surrogates"}
    return diagrams(
        [ranks.ranking(real, protocol, title, dict.fromkeys(columns, name)) for name, title in titles.items()]
    )


def objectives(surrogate: str, cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Compare regularisers and variants of the paper's objective."""
    real = cells[cells["data"].isin(paper.data())]
    names = ("robustness", "faithfulness")
    metrics = [f"{surrogate}.{'rules' if surrogate == 'dt' else 'slopes'}.{name}" for name in names]
    columns = (ILLUME, *VARIANTS)
    return diagrams(
        [ranks.ranking(real, protocol, _words(metric), dict.fromkeys(columns, metric)) for metric in metrics]
    )


def _words(metric: str) -> str:
    _, kind, name = metric.split(".")
    return f"{name.capitalize()} of {kind}"


def diagrams(found: list[ranks.Ranking]) -> Figure | None:
    """Stack critical-difference diagrams; None if there is none."""
    found = [ranking for ranking in found if ranking.enough]
    if not found:
        return None
    heights = [ranks.height(ranking) for ranking in found]
    figure = canvas(7.0, sum(heights))
    axes = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ranking, ax in zip(found, axes, strict=True):
        colours = {label: COLOURS.get(Column.parse(label).method, GREY) for label in ranking.values.columns}
        ranks.diagram(ranking, ax, colours)
    return figure


def correctness(cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Draw correctness over input size for illume and the paper's objective with and without regulariser."""
    truth = "cs_published" if protocol == "paper" else "cs"  # the truth of the printed line
    shown = [
        ("rq2-fi", "Feature importance (SENECA-RC)", f"lr.slopes.{truth}", "co"),
        ("rq2-rules", "Rules (SENECA-RB)", "dt.rules.cplt", "so2"),
        ("rq2-counterfactuals", "Counterfactual rules (SENECA-RB)", "dt.counterfactual_rules.cplt", "so2"),
    ]
    figure = canvas(10.5, 3.6)
    axes = figure.subplots(1, 3)
    drawn = 0
    for ax, (table, title, metric, objective) in zip(axes, shown, strict=True):
        columns = [ILLUME, Column.parse(f"ill ({objective})"), Column.parse("ill (.)")]
        styles = [(VERMILLION, "o", "-"), (BLUE, "s", "-"), (SKY, "D", "--")]
        for column, (line_colour, marker, dash) in zip(columns, styles, strict=True):
            means = by_size(cells, protocol, column, metric)
            if not len(means):
                continue
            drawn += len(means)
            at = [SIZES.index(size) for size in means.index]
            ax.plot(at, means, color=line_colour, marker=marker, linestyle=dash, label=column.label)
        panel = paper.tables()[table].panels[0]
        if panel.values.size:
            label = f"{panel.columns[0].label}, printed"
            ax.plot(range(len(SIZES)), panel.values[:, 0], color=GREY, linestyle=":", label=label)
        ax.set_xticks(range(len(SIZES)), SIZES)
        label_axes(ax, title, "input features, informative + not", "correctness")
        ax.set_ylim(bottom=0)
        if ax.lines:
            ax.legend(fontsize=7, frameon=False)
    return figure if drawn else None


def by_size(cells: pd.DataFrame, protocol: str, column: Column, metric: str, by: str = "") -> pd.Series:
    """Return the mean of a metric over the problems of each SENECA size, sizes in order."""
    found = selection.column_cells(cells, protocol, column, metric)
    if not len(found):
        return pd.Series(dtype=float)
    chosen = selection.choose(found, protocol, metric, by)
    sizes = chosen.index.get_level_values("data").map(selection.size)
    means = chosen["value"].groupby(sizes).mean()
    return means.reindex([size for size in SIZES if size in means.index])


def scaling(cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Draw correctness over the number of training rows, a panel for each input size."""
    metric = "lr.slopes.cs"
    mine = cells[(cells["protocol"] == protocol) & (cells["data"].map(selection.family) == "seneca-rc")]
    if metric not in mine or not len(few := mine[mine["train_rows"].notna() & mine[metric].notna()]):
        return None
    base = few["setting"].map(_without_rows)
    whole = mine[mine["train_rows"].isna() & (mine["method"] + mine["setting"]).isin(few["method"] + base)]
    points = pd.concat([few, whole.assign(train_rows=TRAINING_ROWS)])
    points = points.assign(
        size=points["data"].map(selection.size), train_rows=points["train_rows"].astype(int)
    )
    curves: dict[str, dict[str, pd.Series]] = {}
    for (size, method), lines in points.groupby(["size", "method"]):
        settings = lines.groupby(["train_rows", "setting"])[metric].mean().groupby(level="train_rows")
        means = settings.max() if protocol == "paper" else settings.mean()
        curves.setdefault(str(size), {})[str(method)] = means
    figure = _panels(curves, 3.2, "training rows", "cosine with the truth")
    rows = sorted(set(points["train_rows"]))
    for ax in figure.axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(rows, [str(n) for n in rows])
    return figure


def _without_rows(setting: str) -> str:
    return json.dumps(
        {name: value for name, value in json.loads(setting).items() if name != "train_rows"}, sort_keys=True
    )


def times(cells: pd.DataFrame, protocol: str) -> Figure | None:
    """Draw seconds for 100 to 10,000 rows in large batches, training included, a panel for each size."""
    mine = cells[cells["data"].map(selection.family) == "seneca-rc"]
    columns = (ILLUME, *map(Column.parse, ("ill (co)", "lin (co)", "inp", "lime", "shap")))
    totals: dict[str, dict[str, pd.Series]] = {}
    for column in columns:
        by = selection.metric_name("lr.*.cs", column.method, "native")
        fit, row = (by_size(mine, protocol, column, f"times.{name}", by) for name in ("fit_s", "row_s"))
        for size in row.index:
            rows = pd.Series([100, 1_000, 10_000])
            seconds = pd.Series((fit.get(size, 0.0) + rows * row[size]).to_numpy(), index=rows)
            totals.setdefault(size, {})[column.method] = seconds
    if not totals:
        return None
    figure = _panels(totals, 3.4, "rows explained", "seconds, training included")
    for ax in figure.axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([100, 1_000, 10_000], ["100", "1,000", "10,000"])
    return figure


def _panels(curves: dict[str, dict[str, pd.Series]], height: float, x: str, y: str) -> Figure:
    """Draw the curves of methods, a panel for each input size, with one legend below."""
    sizes, drawn = [size for size in SIZES if size in curves], {}
    figure = canvas(2.6 * len(sizes) + 0.6, height)
    axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for ax, size in zip(axes, sizes, strict=True):
        for method, values in curves[size].items():
            label = {"paper": "ill (co)", "lin": "lin (co)"}.get(method, method)
            style = {"color": COLOURS.get(method, GREY), "marker": MARKERS.get(method, "x"), "markersize": 4}
            drawn[label] = ax.plot(values.index, values, label=label, **style)[0]
        label_axes(ax, size, x, y if ax is axes[0] else "")
    columns = {"loc": "outside lower center", "ncols": len(drawn), "fontsize": 9, "frameon": False}
    figure.legend(list(drawn.values()), list(drawn), **columns)
    return figure


FIGURES: dict[str, tuple[str, Drawing]] = {
    "cd-space": ("RQ1: the latent space", partial(table_diagrams, ("rq1-space",))),
    "cd-surrogates": ("RQ1: surrogates over different spaces", surrogates),
    "cd-correctness": (
        "RQ2: correctness on synthetic black boxes",
        partial(table_diagrams, ("rq2-fi", "rq2-rules", "rq2-counterfactuals")),
    ),
    "correctness": ("RQ2: correctness over input size", correctness),
    "cd-attributions": ("RQ3: attributions", partial(table_diagrams, ("rq3-fi",))),
    "cd-rules": ("RQ3: rules", partial(table_diagrams, ("rq3-rules",))),
    "cd-objectives-lr": ("Objectives and variants: attributions", partial(objectives, "lr")),
    "cd-objectives-dt": ("Objectives and variants: rules", partial(objectives, "dt")),
    "cd-global": ("Global robustness", partial(table_diagrams, ("a-global-lgb",))),
    "scaling": ("RQ4: correctness over the number of training rows", scaling),
    "times": (
        "RQ4: seconds for 100 to 10,000 rows, training included, on the machines named under the table",
        times,
    ),
}

"""Plots of results: each takes a result and an `ax`, draws, and returns the `ax`.

Those with several panels (`compare_rows`, `quality`, `exemplification`) take `axes` or a `figure` and return
the array of their axes.
"""

from illume.plots import displays as displays
from illume.plots.bars import bar, waterfall
from illume.plots.beeswarm import beeswarm
from illume.plots.change_chart import counterfactual
from illume.plots.comparison import compare, compare_rows
from illume.plots.decision_paths import decision_paths
from illume.plots.dependence import dependence
from illume.plots.diagnostics import history, quality
from illume.plots.exemplification import exemplification
from illume.plots.heatmaps import interactions, row_map
from illume.plots.latent_map import latent_map
from illume.plots.rule_chart import rule

__all__ = [
    "bar",
    "beeswarm",
    "compare",
    "compare_rows",
    "counterfactual",
    "decision_paths",
    "dependence",
    "exemplification",
    "history",
    "interactions",
    "latent_map",
    "quality",
    "row_map",
    "rule",
    "waterfall",
]

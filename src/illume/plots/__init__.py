"""Plots of results: each takes a result and an `ax`, draws, and returns the `ax`.

Those with several panels (`compare_rows`, `quality`, `exemplification`) take `axes` or a `figure` and return
the array of their axes.
"""

from illume.plots import displays as displays
from illume.plots.bars import bar, compare, compare_rows, waterfall
from illume.plots.dependence import dependence, interactions
from illume.plots.diagnostics import history, quality
from illume.plots.latent_plots import exemplification, latent_map, row_map
from illume.plots.many_rows import beeswarm, decision_paths
from illume.plots.rule_charts import counterfactual, rule

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

"""Pictures of results: each takes a result and an `ax`, draws, and returns the `ax`.

Those of several panels (`compare_rows`, `quality`, `exemplification`) take `axes` or a `figure` and return
the array of their axes.
"""

from illume.plots.bar import bar
from illume.plots.beeswarm import beeswarm
from illume.plots.compare import compare
from illume.plots.compare_rows import compare_rows
from illume.plots.counterfactual import counterfactual
from illume.plots.decision_paths import decision_paths
from illume.plots.dependence import dependence
from illume.plots.exemplification import exemplification
from illume.plots.history import history
from illume.plots.interactions import interactions
from illume.plots.latent_map import latent_map
from illume.plots.quality import quality
from illume.plots.row_map import row_map
from illume.plots.rule import rule
from illume.plots.waterfall import waterfall

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

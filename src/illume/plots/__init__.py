"""Plots of results: each takes a result and an `ax`, draws, and returns the `ax`.

Those with several panels (`compare_rows`, `quality`, `exemplification`) take `axes` or a `figure` and return
the array of their axes.
"""

from typing import NoReturn

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

# What users of shap write.
_NAMES = {
    "scatter": "dependence(explainer(X), 'column')",
    "dependence_plot": "dependence(explainer(X), 'column')",
    "partial_dependence": "dependence(explainer(X), 'column')",
    "force": "waterfall(explainer(X)[0])",
    "force_plot": "waterfall(explainer(X)[0])",
    "waterfall_plot": "waterfall(explainer(X)[0])",
    "summary_plot": "beeswarm(explainer(X))",
    "violin": "beeswarm(explainer(X))",
    "bar_plot": "bar(explainer(X))",
    "decision": "decision_paths(explainer(X))",
    "decision_plot": "decision_paths(explainer(X))",
    "heatmap": "beeswarm(explainer(X)), or decision_paths(explainer(X))",
}


def __getattr__(name: str) -> NoReturn:
    """Say which plot is what another package calls `name`."""
    hint = f"illume.plots.{_NAMES[name]}" if name in _NAMES else f"one of {', '.join(__all__)}"
    raise AttributeError(f"illume.plots has no {name!r}; write {hint}", name=name)

"""Attributions, rules and counterfactuals for any tabular black box, each with a figure of trust.

>>> import illume
>>> illume.Explainer.__name__
'Explainer'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from illume import distributed, errors, plots
    from illume.data.schema import Feature, Kind, Schema
    from illume.encoders.base import IdentityEncoder
    from illume.encoders.estimators import LinearEncoder, MetaEncoder
    from illume.encoders.options import Objective, Training
    from illume.explainer import Explainer, load
    from illume.explanations.options import DataOptions, RuleOptions, SurrogateOptions
    from illume.io.onnx_export import export_onnx
    from illume.results.attributions import Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.rules import Rules
    from illume.results.scenarios import load_scenarios

__version__ = "0.1.0"

# The modules of the public names. lazy_loader does the same from a stub file; for this few names, the table
# is shorter.
_HOMES = {
    "illume.data.schema": ("Feature", "Kind", "Schema"),
    "illume.encoders.base": ("IdentityEncoder",),
    "illume.encoders.estimators": ("LinearEncoder", "MetaEncoder"),
    "illume.encoders.options": ("Objective", "Training"),
    "illume.explainer": ("Explainer", "load"),
    "illume.explanations.options": ("DataOptions", "RuleOptions", "SurrogateOptions"),
    "illume.io.onnx_export": ("export_onnx",),
    "illume.results.attributions": ("Attributions",),
    "illume.results.counterfactuals": ("Counterfactuals",),
    "illume.results.rules": ("Rules",),
    "illume.results.scenarios": ("load_scenarios",),
}
_MODULES = {
    "distributed": "illume.distributed",
    "errors": "illume.errors",
    "mlflow": "illume.io.mlflow",
    "plots": "illume.plots",
}

# Without mlflow: `from illume import *` would otherwise hide the package of that name.
__all__ = [
    "Attributions",
    "Counterfactuals",
    "DataOptions",
    "Explainer",
    "Feature",
    "IdentityEncoder",
    "Kind",
    "LinearEncoder",
    "MetaEncoder",
    "Objective",
    "RuleOptions",
    "Rules",
    "Schema",
    "SurrogateOptions",
    "Training",
    "distributed",
    "errors",
    "export_onnx",
    "load",
    "load_scenarios",
    "plots",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import illume` itself loads nothing heavy."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'illume' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})

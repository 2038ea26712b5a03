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
    from illume.data.checkpoints import Checkpoints
    from illume.data.schema import Feature, Kind, Schema
    from illume.encoders.base import IdentityEncoder
    from illume.encoders.estimators import LinearEncoder, MetaEncoder
    from illume.encoders.options import Objective, Training
    from illume.explainer import Explainer, load
    from illume.explanations.options import DataOptions, RuleOptions, SurrogateOptions
    from illume.io.forward_pass import torch_module
    from illume.io.onnx_export import export_onnx
    from illume.plots import displays
    from illume.results.attributions import Attributions
    from illume.results.counterfactuals import Counterfactuals
    from illume.results.result_files import load_result
    from illume.results.rules import Rules

__version__ = "0.1.0"

# Where each public name is defined. lazy_loader does the same from a stub file; with this few names the table
# is shorter, and no dependency.
_HOMES = {
    "Attributions": "illume.results.attributions",
    "Checkpoints": "illume.data.checkpoints",
    "Counterfactuals": "illume.results.counterfactuals",
    "DataOptions": "illume.explanations.options",
    "Explainer": "illume.explainer",
    "Feature": "illume.data.schema",
    "IdentityEncoder": "illume.encoders.base",
    "Kind": "illume.data.schema",
    "LinearEncoder": "illume.encoders.estimators",
    "MetaEncoder": "illume.encoders.estimators",
    "Objective": "illume.encoders.options",
    "RuleOptions": "illume.explanations.options",
    "Rules": "illume.results.rules",
    "Schema": "illume.data.schema",
    "SurrogateOptions": "illume.explanations.options",
    "Training": "illume.encoders.options",
    "export_onnx": "illume.io.onnx_export",
    "load": "illume.explainer",
    "load_result": "illume.results.result_files",
    "torch_module": "illume.io.forward_pass",
}
_MODULES = {
    "displays": "illume.plots.displays",
    "distributed": "illume.distributed",
    "errors": "illume.errors",
    "mlflow": "illume.io.mlflow",
    "plots": "illume.plots",
}

# Without mlflow: `from illume import *` would otherwise hide the package of that name.
__all__ = [
    "Attributions",
    "Checkpoints",
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
    "displays",
    "distributed",
    "errors",
    "export_onnx",
    "load",
    "load_result",
    "plots",
    "torch_module",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import illume` itself loads nothing heavy."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'illume' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})

"""illume: attributions, rules and counterfactuals for any tabular black box, each with a figure of trust.

>>> import illume
>>> illume.Explainer.__name__
'Explainer'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from illume import distributed, plots
    from illume.data.checkpoints import Checkpoints
    from illume.data.schema import Feature, Kind, Schema
    from illume.encoders.linear import IdentityEncoder, LinearEncoder
    from illume.encoders.meta import MetaEncoder
    from illume.encoders.options import Objective, Training
    from illume.errors import (
        BlackBoxError,
        CheckpointError,
        CheckpointWarning,
        ExportError,
        FewRowsWarning,
        FormatError,
        IllumeError,
        LeftOutError,
        MissingExtraError,
        ModelChangedWarning,
        OutOfMemoryError,
        RowError,
        SaveError,
        SchemaError,
        UnknownCategoryError,
    )
    from illume.explainer import Explainer
    from illume.export.devices import torch_module
    from illume.export.onnx_file import export_onnx
    from illume.loading import load
    from illume.plots import displays
    from illume.results.attributions import Attribution, Attributions
    from illume.results.check import Check
    from illume.results.counterfactuals import Counterfactual, Counterfactuals
    from illume.results.latents import Latents
    from illume.results.result_files import load_result
    from illume.results.rule_set import RuleSet
    from illume.results.rules import Rule, Rules

__version__ = "0.1.0"

_HOMES = {
    "Attribution": "illume.results.attributions",
    "Attributions": "illume.results.attributions",
    "BlackBoxError": "illume.errors",
    "Check": "illume.results.check",
    "CheckpointError": "illume.errors",
    "CheckpointWarning": "illume.errors",
    "Checkpoints": "illume.data.checkpoints",
    "Counterfactual": "illume.results.counterfactuals",
    "Counterfactuals": "illume.results.counterfactuals",
    "Explainer": "illume.explainer",
    "ExportError": "illume.errors",
    "Feature": "illume.data.schema",
    "FewRowsWarning": "illume.errors",
    "FormatError": "illume.errors",
    "IdentityEncoder": "illume.encoders.linear",
    "IllumeError": "illume.errors",
    "Kind": "illume.data.schema",
    "Latents": "illume.results.latents",
    "LeftOutError": "illume.errors",
    "LinearEncoder": "illume.encoders.linear",
    "MetaEncoder": "illume.encoders.meta",
    "MissingExtraError": "illume.errors",
    "ModelChangedWarning": "illume.errors",
    "Objective": "illume.encoders.options",
    "OutOfMemoryError": "illume.errors",
    "RowError": "illume.errors",
    "Rule": "illume.results.rules",
    "RuleSet": "illume.results.rule_set",
    "Rules": "illume.results.rules",
    "SaveError": "illume.errors",
    "Schema": "illume.data.schema",
    "SchemaError": "illume.errors",
    "Training": "illume.encoders.options",
    "UnknownCategoryError": "illume.errors",
    "displays": "illume.plots",
    "export_onnx": "illume.export.onnx_file",
    "load": "illume.loading",
    "load_result": "illume.results.result_files",
    "torch_module": "illume.export.devices",
}

_MODULES = (
    "distributed",
    "mlflow",
    "plots",
)  # a star brings no mlflow, which would hide the real one

__all__ = [
    "Attribution",
    "Attributions",
    "BlackBoxError",
    "Check",
    "CheckpointError",
    "CheckpointWarning",
    "Checkpoints",
    "Counterfactual",
    "Counterfactuals",
    "Explainer",
    "ExportError",
    "Feature",
    "FewRowsWarning",
    "FormatError",
    "IdentityEncoder",
    "IllumeError",
    "Kind",
    "Latents",
    "LeftOutError",
    "LinearEncoder",
    "MetaEncoder",
    "MissingExtraError",
    "ModelChangedWarning",
    "Objective",
    "OutOfMemoryError",
    "RowError",
    "Rule",
    "RuleSet",
    "Rules",
    "SaveError",
    "Schema",
    "SchemaError",
    "Training",
    "UnknownCategoryError",
    "displays",
    "distributed",
    "export_onnx",
    "load",
    "load_result",
    "plots",
    "torch_module",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import illume` itself loads nothing heavy."""
    if name in _MODULES:
        return import_module(f"illume.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'illume' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})

"""illume: additive attributions for any tabular black box, each with a figure of how far to trust it.

>>> import illume
>>> illume.Explainer.__name__
'Explainer'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from illume import plots
    from illume.data.schema import Feature, Kind, Schema
    from illume.encoders.identity import IdentityEncoder
    from illume.encoders.linear import LinearEncoder
    from illume.encoders.meta import MetaEncoder
    from illume.encoders.objective import Objective
    from illume.encoders.training import Training
    from illume.errors import BlackBoxError, IllumeError, MissingExtraError, SchemaError
    from illume.explainer import Explainer
    from illume.results.attribution import Attribution
from illume.results.attributions import Attributions

__version__ = "0.1.0"

_HOMES = {
    "Attribution": "illume.results.attribution",
    "Attributions": "illume.results.attributions",
    "BlackBoxError": "illume.errors",
    "Explainer": "illume.explainer",
    "Feature": "illume.data.schema",
    "IdentityEncoder": "illume.encoders.identity",
    "IllumeError": "illume.errors",
    "Kind": "illume.data.schema",
    "LinearEncoder": "illume.encoders.linear",
    "MetaEncoder": "illume.encoders.meta",
    "MissingExtraError": "illume.errors",
    "Objective": "illume.encoders.objective",
    "Schema": "illume.data.schema",
    "SchemaError": "illume.errors",
    "Training": "illume.encoders.training",
}

__all__ = [
    "Attribution",
    "Attributions",
    "BlackBoxError",
    "Explainer",
    "Feature",
    "IdentityEncoder",
    "IllumeError",
    "Kind",
    "LinearEncoder",
    "MetaEncoder",
    "MissingExtraError",
    "Objective",
    "Schema",
    "SchemaError",
    "Training",
    "plots",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import illume` itself loads nothing heavy."""
    if name == "plots":
        return import_module("illume.plots")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'illume' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

"""Figures of how good explanations are: plain functions of arrays, for the explanations of any method.

>>> import numpy as np
>>> from illume import metrics
>>> metrics.cosine_score(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]))
array([1.])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from illume.metrics.counterfactuals import plausibility, proximity, sparsity, validity
    from illume.metrics.curves import deletion, insertion
    from illume.metrics.fidelity import agreement, r_squared
    from illume.metrics.latents import knn_gain, macro_f1, triplet_accuracy
    from illume.metrics.queries import LocalFidelity, infidelity, local_fidelity, prediction_gap
    from illume.metrics.rules import covered, rule_coverage, rule_length, rule_precision
    from illume.metrics.similarity import Boxes, completeness, cosine_score, rank_score
    from illume.metrics.stability import faithfulness, global_robustness, robustness

_HOMES = {
    "Boxes": "illume.metrics.similarity",
    "LocalFidelity": "illume.metrics.queries",
    "agreement": "illume.metrics.fidelity",
    "completeness": "illume.metrics.similarity",
    "cosine_score": "illume.metrics.similarity",
    "covered": "illume.metrics.rules",
    "deletion": "illume.metrics.curves",
    "faithfulness": "illume.metrics.stability",
    "global_robustness": "illume.metrics.stability",
    "infidelity": "illume.metrics.queries",
    "insertion": "illume.metrics.curves",
    "knn_gain": "illume.metrics.latents",
    "local_fidelity": "illume.metrics.queries",
    "macro_f1": "illume.metrics.latents",
    "plausibility": "illume.metrics.counterfactuals",
    "prediction_gap": "illume.metrics.queries",
    "proximity": "illume.metrics.counterfactuals",
    "r_squared": "illume.metrics.fidelity",
    "rank_score": "illume.metrics.similarity",
    "robustness": "illume.metrics.stability",
    "rule_coverage": "illume.metrics.rules",
    "rule_length": "illume.metrics.rules",
    "rule_precision": "illume.metrics.rules",
    "sparsity": "illume.metrics.counterfactuals",
    "triplet_accuracy": "illume.metrics.latents",
    "validity": "illume.metrics.counterfactuals",
}

__all__ = [
    "Boxes",
    "LocalFidelity",
    "agreement",
    "completeness",
    "cosine_score",
    "covered",
    "deletion",
    "faithfulness",
    "global_robustness",
    "infidelity",
    "insertion",
    "knn_gain",
    "local_fidelity",
    "macro_f1",
    "plausibility",
    "prediction_gap",
    "proximity",
    "r_squared",
    "rank_score",
    "robustness",
    "rule_coverage",
    "rule_length",
    "rule_precision",
    "sparsity",
    "triplet_accuracy",
    "validity",
]


def __getattr__(name: str) -> Any:
    """Import a metric when it is first used: who needs one does not load what the others need."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'illume.metrics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

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
    from illume.metrics.counterfactual_metrics import plausibility, proximity, sparsity, validity
    from illume.metrics.fidelity import agreement, r_squared
    from illume.metrics.latent_metrics import knn_gain, macro_f1, triplet_accuracy
    from illume.metrics.query_metrics import (
        LocalFidelity,
        deletion,
        infidelity,
        insertion,
        local_fidelity,
        prediction_gap,
    )
    from illume.metrics.rule_metrics import covered, rule_coverage, rule_length, rule_precision
    from illume.metrics.similarity import Boxes, completeness, cosine_score, rank_score
    from illume.metrics.stability_metrics import faithfulness, global_robustness, robustness

_HOMES = {
    "Boxes": "illume.metrics.similarity",
    "LocalFidelity": "illume.metrics.query_metrics",
    "agreement": "illume.metrics.fidelity",
    "completeness": "illume.metrics.similarity",
    "cosine_score": "illume.metrics.similarity",
    "covered": "illume.metrics.rule_metrics",
    "deletion": "illume.metrics.query_metrics",
    "faithfulness": "illume.metrics.stability_metrics",
    "global_robustness": "illume.metrics.stability_metrics",
    "infidelity": "illume.metrics.query_metrics",
    "insertion": "illume.metrics.query_metrics",
    "knn_gain": "illume.metrics.latent_metrics",
    "local_fidelity": "illume.metrics.query_metrics",
    "macro_f1": "illume.metrics.latent_metrics",
    "plausibility": "illume.metrics.counterfactual_metrics",
    "prediction_gap": "illume.metrics.query_metrics",
    "proximity": "illume.metrics.counterfactual_metrics",
    "r_squared": "illume.metrics.fidelity",
    "rank_score": "illume.metrics.similarity",
    "robustness": "illume.metrics.stability_metrics",
    "rule_coverage": "illume.metrics.rule_metrics",
    "rule_length": "illume.metrics.rule_metrics",
    "rule_precision": "illume.metrics.rule_metrics",
    "sparsity": "illume.metrics.counterfactual_metrics",
    "triplet_accuracy": "illume.metrics.latent_metrics",
    "validity": "illume.metrics.counterfactual_metrics",
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

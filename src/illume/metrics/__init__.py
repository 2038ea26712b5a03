"""Metrics of explanations: plain functions of arrays, for the explanations of any method.

>>> import numpy as np
>>> from illume import metrics
>>> metrics.cosine_score(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]))
array([1.])
"""

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

__all__ = ["Boxes", "LocalFidelity", "agreement", "completeness", "cosine_score", "covered", "deletion"]
__all__ += ["faithfulness", "global_robustness", "infidelity", "insertion", "knn_gain", "local_fidelity"]
__all__ += ["macro_f1", "plausibility", "prediction_gap", "proximity", "r_squared", "rank_score"]
__all__ += ["robustness", "rule_coverage", "rule_length", "rule_precision", "sparsity", "triplet_accuracy"]
__all__ += ["validity"]

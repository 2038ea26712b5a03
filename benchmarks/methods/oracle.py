"""The synthetic black box's own gradient at the row: more than answers alone could tell an explainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data.problem import Problem, padded
from benchmarks.data.seneca_rc import measurable
from benchmarks.methods.outcome import Outcome, explained_classes


def gradient(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Explain with the gradient of the formula itself, where the row is and not at the boundary."""
    model: Any = problem.model
    t = len(model.mean)
    own = problem.test.to_numpy(float)[:, :t]
    slopes = padded(measurable(model.classifier.expression.gradient(own)), problem.X_test.shape[1], 0.0)
    sign = np.where(explained_classes(problem) == 1, 1.0, -1.0)[:, None]
    return Outcome(np.arange(len(own)), slopes=sign * slopes * problem.encoding.scale)

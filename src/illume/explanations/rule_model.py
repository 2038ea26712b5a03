"""What rules are made of: the tree, and rows to search and measure them on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.tree_rules import TreeRules


@dataclass(frozen=True, eq=False)
class PrecisionCurve:
    """Mean precision and coverage of rules on validation rows, by the target that they were searched for."""

    targets: FloatArray
    precision: FloatArray
    coverage: FloatArray

    def target(self, precision: float) -> float:
        """Return the lowest target, not below the wanted precision, that reached it on validation rows.

        Where none did, return the one that came nearest.

        >>> curve = PrecisionCurve(np.array([0.9, 0.95, 0.99]), np.array([0.85, 0.92, 0.96]), np.ones(3))
        >>> curve.target(0.9), curve.target(0.99)
        (0.95, 0.99)
        """
        targets, reached = np.append(self.targets, precision), np.append(self.precision, np.nan)
        stricter = np.flatnonzero((targets >= precision) & ~np.isnan(reached))
        if not len(stricter):
            return precision
        enough = stricter[reached[stricter] >= precision]
        best = enough[0] if len(enough) else stricter[reached[stricter].argmax()]
        return float(targets[best])


@dataclass(frozen=True, eq=False)
class RuleModel:
    """All that rules are made of.

    Parameters
    ----------
    rules
        The tree, as a maker of rules.
    bins
        Training rows and queries, on which conditions are chosen.
    report
        Report rows, on which rules are measured.
    curve
        What precision a target leads to.
    source, reason
        `local` or `global`, and the figures that decided.
    """

    rules: TreeRules
    bins: Conditions
    report: Sample
    curve: PrecisionCurve
    source: str
    reason: str

"""The global view of rules: the leaves of the tree that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.metrics.fidelity import wilson
from illume.results.rules import Rule, Rules

SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class RuleSet:
    """The tree's leaves, largest first, each with a typical rule.

    Parameters
    ----------
    rules
        One typical rule per leaf: that of a row in its middle.
    support
        Share of the training rows in each leaf.
    n_rows, n_correct
        How many report rows are in each leaf, and how many of them the black box decides as the leaf does.
    decisions
        What each leaf decides, as a position in `class_names`.
    source
        `local`, a tree on latents, or `global`, a tree on the inputs.
    """

    rules: Rules
    support: FloatArray
    n_rows: IntArray
    n_correct: IntArray
    decisions: IntArray
    source: str
    class_names: tuple[str, ...]

    @property
    def precision(self) -> FloatArray:
        """Share of a leaf's report rows that the black box decides as the leaf does; NaN without rows."""
        return np.where(self.n_rows > 0, self.n_correct / np.maximum(self.n_rows, 1), np.nan)

    @property
    def precision_interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the precision (Wilson's)."""
        return wilson(np.nan_to_num(self.precision), self.n_rows)

    def __len__(self) -> int:
        return len(self.support)

    def __getitem__(self, leaf: int) -> Rule:
        return self.rules[leaf]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def to_frame(self) -> Any:
        """Return a frame with a line per leaf, largest first."""
        low, high = self.precision_interval
        return self.rules.origin.frame(
            {
                "decision": [self.class_names[c] for c in self.decisions],
                "support": self.support,
                "precision": self.precision,
                "precision_low": low,
                "precision_high": high,
                "n_rows": self.n_rows,
                "typical_rule": [rule.text for rule in self.rules],
                "rule_precision": self.rules.precision,
                "rule_coverage": self.rules.coverage,
            }
        )

    def __repr__(self) -> str:
        width = max([len(name) for name in self.class_names] + [8])
        what = "latents" if self.source == "local" else "inputs"
        lines = [
            f"{len(self)} leaves of the {self.source} tree, on {what}, with their precision and that of a "
            f"typical rule, on {int(self.n_rows.sum())} held-out rows",
            f"  {'support':>7}  precision  rows  {'decision':<{width}}  rule's precision  a typical rule",
        ]
        for i in range(min(len(self), SHOWN)):
            precision = f"{self.precision[i]:.3f}" if self.n_rows[i] else "–"
            name = self.class_names[int(self.decisions[i])]
            premise = self.rules[i].text.rsplit(" → ", 1)[0]
            mine = f"{self.rules.precision[i]:.3f}" if self.rules.n_covered[i] else "–"
            about = f"{self.support[i]:>7.3f}  {precision:>9}  {self.n_rows[i]:>4}  {name:<{width}}"
            lines.append(f"  {about}  {mine:>16}  {premise}")
        return "\n".join(lines + ([f"  … and {len(self) - SHOWN} more"] if len(self) > SHOWN else []))

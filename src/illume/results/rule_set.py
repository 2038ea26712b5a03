"""Global view of rules: the leaves of the tree that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.outputs import Outputs
from illume.data.questions import Question
from illume.metrics.fidelity import wilson
from illume.results.display import Shown, Table
from illume.results.rules import Rule, Rules

SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class RuleSet(Shown):
    """The tree's leaves, largest first, each with a typical rule.

    Parameters
    ----------
    rules
        One typical rule per leaf: that of a row in its middle.
    support
        Share of the training rows in each leaf.
    n_rows, n_correct
        Number of report rows in each leaf, and of those that the black box decides as the leaf does.
    decisions, predictions
        The decision of each leaf, as a position in `question.names`, and its answer (l, c).
    source
        `local`, a tree on latents, or `global`, a tree on the inputs.
    """

    rules: Rules
    support: FloatArray
    n_rows: IntArray
    n_correct: IntArray
    decisions: IntArray
    predictions: FloatArray
    source: str
    outputs: Outputs
    question: Question

    @property
    def precision(self) -> FloatArray:
        """Share of a leaf's report rows for which it, or its rule's interval, is right; NaN without rows."""
        return np.where(self.n_rows > 0, self.n_correct / np.maximum(self.n_rows, 1), np.nan)

    @property
    def precision_interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the precision (Wilson's)."""
        return wilson(np.nan_to_num(self.precision), self.n_rows)

    @property
    def answers(self) -> list[str]:
        """What each leaf answers: a decision, or its mean number."""
        if self.question.intervals:
            i = self.question.output
            return [self.outputs.format_bound(p[i], i) for p in self.predictions]
        return [self.question.names[c] for c in self.decisions]

    @property
    def _answer_column(self) -> dict[str, Any]:
        if self.question.intervals:
            return {"prediction": self.predictions[:, self.question.output].copy()}
        return {"decision": self.answers}

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
                **self._answer_column,
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

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the largest leaves as a table."""
        yield (
            f"{len(self)} leaves of the {self.source} tree, on "
            f"{'latents' if self.source == 'local' else 'inputs'}, with their precision and that of a "
            f"typical rule, on {int(self.n_rows.sum())} held-out rows"
        )
        cells, answers = (
            [["support", "precision", "rows", "answer", "rule's precision", "a typical rule"]],
            self.answers,
        )
        for i, rule in enumerate(self.rules[:SHOWN]):
            leaf = f"{self.precision[i]:.3f}" if self.n_rows[i] else "–"
            own = f"{rule.precision:.3f}" if rule.n_covered else "–"
            name, typical = answers[i], rule.text.rsplit(" → ", 1)[0]
            cells.append([f"{self.support[i]:.3f}", leaf, f"{self.n_rows[i]}", name, own, typical])
        yield Table(cells, ">>><><")
        if len(self) > SHOWN:
            yield f"  … and {len(self) - SHOWN} more"

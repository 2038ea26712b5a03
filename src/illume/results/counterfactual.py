"""What would have to change for one row to be decided otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from illume.data.schema import Feature
from illume.results.conditions import Interval, Membership
from illume.results.numbers import bound, plain, short
from illume.results.rule import Rule

if TYPE_CHECKING:
    from illume.results.counterfactuals import Counterfactuals


@dataclass(frozen=True)
class Change:
    """One feature of one example: what it was and what it became."""

    feature: str
    before: Any
    after: Any

    @property
    def text(self) -> str:
        """From what to what."""
        before, after = (
            bound(v) if isinstance(v, float) and not math.isnan(v) else short(v)
            for v in (self.before, self.after)
        )
        return f"{before} → {after}"

    def __str__(self) -> str:
        return f"{self.feature}: {self.text}"


@dataclass(frozen=True)
class Example:
    """A changed row that the black box decides otherwise: checked, not guessed.

    Parameters
    ----------
    changes
        The features that change.
    decision, probability
        What the black box says of the changed row.
    distance
        How far it is from the row: Euclidean, in standard deviations; a changed category counts 1.
    plausibility
        How far it is from the nearest training row, in the same measure: the less, the more plausible.
    """

    changes: tuple[Change, ...]
    decision: str
    probability: float
    distance: float
    plausibility: float

    def __str__(self) -> str:
        what = ", ".join(map(str, self.changes))
        return f"{what} ⇒ {self.decision} ({self.probability:.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "changes": [
                {"feature": c.feature, "from": plain(c.before), "to": plain(c.after)} for c in self.changes
            ],
            "decision": self.decision,
            "probability": self.probability,
            "distance": self.distance,
            "plausibility": self.plausibility,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """How one row would be decided otherwise: a view of one row of a batch."""

    batch: Counterfactuals

    @property
    def decision(self) -> str:
        """The black box's decision on the row."""
        return self.batch.class_names[int(self.batch.decisions[0])]

    @property
    def probability(self) -> float:
        """The black box's probability of that decision."""
        return float(self.batch.probabilities[0].max())

    @property
    def examples(self) -> tuple[Example, ...]:
        """Changed rows that are decided as desired, best first."""
        return tuple(self.batch.example(i) for i in range(len(self.batch.row)))

    def feature(self, name: str) -> Feature:
        """Return what was seen of a feature while fitting: its range or its categories."""
        return self.batch.rules.bounds.features[self.batch.feature_names.index(name)]

    @property
    def rule(self) -> Rule | None:
        """When rows like this one are decided as desired; None where no rule is known."""
        return self.batch.rules[0] if self.batch.has_rule[0] else None

    @property
    def conditions(self) -> tuple[Interval | Membership, ...]:
        """The conditions of the rule that the row itself does not satisfy: what has to change."""
        if self.rule is None:
            return ()
        names = {name for name, new in zip(self.batch.feature_names, self.batch.new[0], strict=True) if new}
        return tuple(condition for condition in self.rule.conditions if condition.name in names)

    @property
    def status(self) -> str:
        """`agreed`, `refined` or `not faithful`: whether the tree decides the row like the black box."""
        return str(self.batch.refinement.status[0])

    @property
    def outside_reasons(self) -> tuple[str, ...]:
        """Why the row is outside of what the explainer was fitted on; nothing if it is not."""
        return self.batch.novelty.reasons()

    @property
    def reason(self) -> str:
        """Why there is no example; empty where there is one."""
        return str(self.batch.reasons[0])

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "decision": self.decision,
            "probability": self.probability,
            "examples": [example.to_dict() for example in self.examples],
            "rule": None if self.rule is None else self.rule.to_dict(),
            "changed_conditions": [condition.to_dict() for condition in self.conditions],
            "status": self.status,
            "outside": bool(self.batch.outside[0]),
            "outside_reasons": list(self.outside_reasons),
            "reason": self.reason,
        }

    def lines(self) -> list[str]:
        """Return what is to be said, line by line."""
        lines = [f"{self.decision!r} with probability {self.probability:.3f}; it would be otherwise with"]
        for example in self.examples:
            lines.append(
                f"  {example}  distance {example.distance:.2f}, "
                f"{example.plausibility:.2f} from the nearest training row"
            )
        if not self.examples:
            lines[0] = f"{self.decision!r} with probability {self.probability:.3f}"
            lines.append(f"  no counterfactual: {self.reason}")
        if self.rule is not None and self.conditions:
            lines.append(f"rule for rows like the first example: {self.rule.text}")
            lines.append(f"  {self.rule.measured}")
            lines.append(f"  this row does not satisfy {' and '.join(map(str, self.conditions))}")
        return lines + [self.batch.novelty.note()] * bool(self.outside_reasons)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<p>{'<br>'.join(escape(line) for line in self.lines())}</p>"

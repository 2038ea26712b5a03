"""Rules and counterfactuals of the rows, as the page shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from illume.report.explained import Explained
from illume.report.packing import Packed, pack_codes
from illume.results.counterfactual import Change, Example
from illume.results.numbers import bound, short
from illume.results.rules import Rules


@dataclass(frozen=True)
class OneRule:
    """Conditions as text, the decided class, and what was measured on held-out rows."""

    conditions: tuple[str, ...]
    decision: int
    covered: int
    correct: int
    precision: float | None
    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class RuleData:
    """The rules that occur, and which of them is each row's; they were measured on `n_rows` held-out rows."""

    rules: tuple[OneRule, ...]
    of_row: Packed
    n_rows: int
    wanted: float


def rule_data(rules: Rules | None) -> RuleData | None:
    """Keep each rule once, however many rows have it."""
    if rules is None:
        return None
    position: dict[OneRule, int] = {}
    of_row = [position.setdefault(_one(rules, i), len(position)) for i in range(len(rules))]
    return RuleData(tuple(position), pack_codes(of_row, len(position)), rules.n_rows, rules.wanted)


def _one(rules: Rules, i: int) -> OneRule:
    rule = rules[i]
    low, high = rule.precision_interval
    return OneRule(
        conditions=tuple(map(str, rule.conditions)),
        decision=int(rules.decisions[i]),
        covered=rule.n_covered,
        correct=int(rules.n_correct[i]),
        precision=round(rule.precision, 6) if rule.n_covered else None,
        low=round(low, 6),
        high=round(high, 6),
        coverage=round(rule.coverage, 6),
    )


@dataclass(frozen=True)
class OneExample:
    """Changes as (feature, from, to), and what the black box says of the changed row."""

    changes: tuple[tuple[str, str, str], ...]
    decision: str
    probability: float
    distance: float
    plausibility: float


@dataclass(frozen=True)
class CounterfactualData:
    """Per row that was searched, by its position: the examples found, or why there is none."""

    examples: dict[int, tuple[OneExample, ...]]
    reasons: dict[int, str]
    typical_distance: float


def counterfactual_data(explained: Explained) -> CounterfactualData | None:
    """Return all examples with the rows that they belong to."""
    if not explained.counterfactuals:
        return None
    examples: dict[int, tuple[OneExample, ...]] = {}
    reasons: dict[int, str] = {}
    found = (one for piece in explained.counterfactuals for one in piece)
    for row, one in zip(explained.searched.tolist(), found, strict=True):
        examples[row] = tuple(map(_example, one.examples))
        if one.reason:
            reasons[row] = one.reason
    return CounterfactualData(examples, reasons, round(explained.counterfactuals[0].typical_distance, 6))


def _example(example: Example) -> OneExample:
    return OneExample(
        changes=tuple(_change(change) for change in example.changes),
        decision=example.decision,
        probability=round(example.probability, 6),
        distance=round(example.distance, 6),
        plausibility=round(example.plausibility, 6),
    )


def _change(change: Change) -> tuple[str, str, str]:
    return change.feature, _text(change.before), _text(change.after)


def _text(value: Any) -> str:
    return bound(value) if isinstance(value, float) and math.isfinite(value) else short(value)

"""Rules and counterfactuals of the rows, as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume.report.explained import Explained
from illume.report.packing import Packed, pack_codes
from illume.results.counterfactuals import Change, Example
from illume.results.rules import Rules
from illume.results.text import format_bound, format_value


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
    of_row = [position.setdefault(rule, len(position)) for rule in _each(rules)]
    return RuleData(tuple(position), pack_codes(of_row, len(position)), rules.n_rows, rules.wanted)


def _each(rules: Rules) -> Iterator[OneRule]:
    bounds, said = rules.bounds, rules.bounds.conditioned
    precision, coverage, (low, high) = rules.precision, rules.coverage, rules.precision_interval
    for i in range(len(rules)):
        yield OneRule(
            conditions=tuple(str(bounds.condition(i, int(j))) for j in np.flatnonzero(said[i])),
            decision=int(rules.decisions[i]),
            covered=int(rules.n_covered[i]),
            correct=int(rules.n_correct[i]),
            precision=round(float(precision[i]), 6) if rules.n_covered[i] else None,
            low=round(float(low[i]), 6),
            high=round(float(high[i]), 6),
            coverage=round(float(coverage[i]), 6),
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
    rows = iter(explained.searched.tolist())
    for piece in explained.counterfactuals:
        first = np.searchsorted(piece.row, np.arange(len(piece) + 1))
        for i, row in zip(range(len(piece)), rows, strict=False):
            examples[row] = tuple(_example(piece.example(e)) for e in range(first[i], first[i + 1]))
            if piece.reasons[i]:
                reasons[row] = str(piece.reasons[i])
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
    return format_bound(value) if isinstance(value, float) and math.isfinite(value) else format_value(value)

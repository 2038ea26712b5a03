"""Global view: a few rules for all rows, and what the model answers else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.number_text import count
from illume.results.conditions import sql_literal
from illume.results.display import Shown, Table
from illume.results.rules import Rule, Rules

MEASURED = 2  # report rows that a rule covers, for its precision to be shown


@dataclass(frozen=True, eq=False, repr=False)
class RuleSet(Shown):
    """A few rules that together cover most rows, and what the model mostly answers for the others.

    Every rule holds by itself: its support and precision are those of all held-out rows that it covers.
    Where several rules cover a row, the first one counts.

    Parameters
    ----------
    rules
        The rules, in the order in which they were chosen: each adds most to those before.
    rest
        One rule without conditions: the answer to rows that no rule covers, with their number.
    n_new
        Number of report rows that each rule covers and those before do not.
    n_agreed
        Number of report rows that the rules together, with the rest, answer like the black box.
    n_unmeasured
        Number of further rules that were found and left out, since they cover no report row.
    majority
        The most common decision on the report rows, as position among the decisions, and its share: the
        agreement of a constant answer. None where rules end in intervals.
    """

    rules: Rules
    rest: Rules
    n_new: IntArray
    n_agreed: int
    n_unmeasured: int
    majority: tuple[int, float] | None

    @property
    def otherwise(self) -> Rule:
        """What the black box mostly answers for rows that no rule covers."""
        return self.rest[0]

    @property
    def n_rows(self) -> int:
        """Number of report rows that all figures are measured on."""
        return self.rules.n_rows

    @property
    def support(self) -> FloatArray:
        """Share of the report rows that each rule covers, (r,)."""
        return self.rules.coverage

    @property
    def precision(self) -> FloatArray:
        """Share of the report rows that a rule covers for which it is right, (r,); NaN without rows."""
        return self.rules.precision

    @property
    def measured(self) -> BoolArray:
        """Which rules cover at least two report rows, (r,): the precision of the others is not known."""
        return self.rules.n_covered >= MEASURED

    @property
    def below(self) -> BoolArray:
        """Which rules have less than the wanted precision on the report rows, (r,)."""
        return self.measured & (self.precision < self.rules.wanted)

    @property
    def together(self) -> FloatArray:
        """Share of the report rows that each rule, or one before it, covers, (r,)."""
        return np.cumsum(self.n_new) / max(self.n_rows, 1)

    @property
    def coverage(self) -> float:
        """Share of the report rows that the rules cover together."""
        return float(self.n_new.sum() / max(self.n_rows, 1))

    @property
    def agreement(self) -> float:
        """Share of all report rows that the rules together, with the rest, answer like the black box."""
        return self.n_agreed / max(self.n_rows, 1)

    @property
    def warning(self) -> str:
        """Says so where a constant answer would agree with the black box as often; otherwise empty."""
        if self.majority is None or not len(self):
            return ""
        decision, share = self.majority
        if self.agreement > share or share == 1:
            return ""
        return (
            f"always {self.rules.question.names[decision]!r} would answer like the model for {share:.0%}, so "
            "do not take these rules for a summary of the model; use the rules of single rows"
        )

    @property
    def explanation(self) -> str:
        """What precision means, in one line."""
        right = (
            "decides as the rule says" if self.rules.interval is None else "gives a number in the interval"
        )
        rows = f"share of the held-out rows that the rule covers for which the model {right}"
        return f"precision: {rows} (wanted: {self.rules.wanted:g})"

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, rule: int) -> Rule:
        return self.rules[rule]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def _lines(self) -> Iterator[tuple[Rule, str, float]]:
        """Yield the rules and the rest: each with its conditions as text, and the share covered up to it."""
        for rule, share in zip(self.rules, self.together, strict=True):
            yield rule, rule.premise, float(share)
        yield self.otherwise, "else", 1.0

    def to_frame(self) -> Any:
        """Return a frame with a line per rule, and one for the rest, which is called `else`."""
        batches, (_, texts, together) = (self.rules, self.rest), zip(*self._lines(), strict=True)
        low, high = (
            np.concatenate(each) for each in zip(*(b.precision_interval for b in batches), strict=True)
        )
        columns: dict[str, Any] = {"rule": list(texts)}
        for name in self.rules.question_columns:
            columns[name] = np.concatenate([batch.question_columns[name] for batch in batches])
        if self.rules.interval is not None:
            output = self.rules.question.output
            columns["prediction"] = np.concatenate([batch.predictions[:, output] for batch in batches])
        columns |= {
            "support": np.concatenate([batch.coverage for batch in batches]),
            "n_covered": np.concatenate([batch.n_covered for batch in batches]),
            "precision": np.concatenate([batch.precision for batch in batches]),
            "precision_low": low,
            "precision_high": high,
            "together": np.array(together),
        }
        return self.rules.origin.frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        lines = [_rule_dict(*line) for line in self._lines()]
        for line, below in zip(lines, self.below.tolist(), strict=False):
            line["below"] = below
        return {
            "rules": lines[:-1],
            "else": lines[-1],
            "coverage": self.coverage,
            "agreement": self.agreement,
            "majority": None if self.majority is None else self.majority[1],
            "warning": self.warning,
            "n_rows": self.n_rows,
            "wanted": self.rules.wanted,
            "explanation": self.explanation,
        }

    def to_sql(self) -> str:
        """Return an expression that answers every row by the first rule that covers it, or else by the rest.

        For numbers, the answer is the median of the rule's rows.
        """
        cases = "".join(f"  WHEN {rule.to_sql()} THEN {_sql_answer(rule)}\n" for rule in self.rules)
        other = _sql_answer(self.otherwise)
        return f"CASE\n{cases}  ELSE {other}\nEND" if cases else other

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and the rules as a table."""
        n, right = len(self), "answer like the model" if self.rules.interval is None else "hold its number"
        yield (
            f"{n} rule{'s' * (n != 1)} that cover{'s' * (n == 1)} {self.coverage:.0%} of {self.n_rows} "
            f"held-out rows; with the answer else, they {right} for {self.agreement:.0%}"
        )
        if self.warning:
            yield f"warning: {self.warning}"
        cells = [["", "rule", "answer", "support", "rows", "precision", "together"]]
        for i, (rule, text, together) in enumerate(self._lines(), 1):
            precision = f"{rule.precision:.2f}" if rule.n_covered >= MEASURED else "–"
            shares = [f"{rule.coverage:.0%}", f"{rule.n_covered}", precision, f"{together:.0%}"]
            cells.append([f"{i}" if i <= n else "", text, _answer(rule), *shares])
        yield Table(cells, "><<>>>>", head=True)
        yield self.explanation
        yield "every rule holds by itself; where several cover a row, the first one counts"
        if self.below.any():
            yield f"below the wanted precision: {_numbered(self.below)}"
        if not self.measured.all():
            yield f"too few held-out rows to know the precision: {_numbered(~self.measured)}"
        if self.n_unmeasured:
            yield f"left out, as no held-out row tells their precision: {count(self.n_unmeasured, 'rule')}"
        if not n + self.n_unmeasured:
            yield "no rule of so few conditions tells the answers apart; allow more with max_conditions"


def _numbered(rules: BoolArray) -> str:
    """Return the numbers of rules.

    >>> _numbered(np.array([True, False, True]))
    'rules 1, 3'
    """
    numbers = np.flatnonzero(rules) + 1
    return f"rule{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _rule_dict(rule: Rule, text: str, together: float) -> dict[str, Any]:
    names = ("decision", "interval", "conditions", "precision", "precision_interval", "n_covered")
    known = rule.to_dict()
    shown = {"rule": text, **{name: known[name] for name in names}}
    return {**shown, "prediction": _typical(rule), "support": rule.coverage, "together": together}


def _typical(rule: Rule) -> float | None:
    """Return the median of the rule's numbers; None where it ends in a decision."""
    batch = rule.batch
    return None if batch.interval is None else float(batch.predictions[0, batch.question.output])


def _answer(rule: Rule) -> str:
    """Return what a rule ends in; for numbers, the typical one, too."""
    number, batch = _typical(rule), rule.batch
    if number is None:
        return rule.decision
    return f"{batch.outputs.format_bound(number, batch.question.output)} ({rule.decision})"


def _sql_answer(rule: Rule) -> str:
    number = _typical(rule)
    return sql_literal(rule.decision if number is None else number)

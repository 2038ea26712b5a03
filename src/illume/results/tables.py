"""Rules and counterfactuals as tables: of conditions, and of rows beside their examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume.results.display import Table

if TYPE_CHECKING:
    from illume.results.counterfactuals import Counterfactual, Counterfactuals
    from illume.results.rules import Rule, Rules


def condition_table(rule: Rule) -> Table:
    """Return a line for each condition of a rule, with the row's own value; text says it in one line."""
    known, own = rule.batch.bounds.dictionary, rule.batch.data is not None
    cells = [["feature", "condition", *["this row"] * own]]
    for each in rule.conditions:
        value = [known.exact(each.name, rule.value(each.name))] if own else []
        cells.append([known.label(each.name), str(each), *value])
    return Table(cells, "<" * len(cells[0]), head=True, lines=())


def rule_table(rules: Rules, n: int) -> Table:
    """Return the first n rules, with precision and coverage; text has only the rules."""
    shown = list(rules[:n])
    cells = [["row", "rule", "decision", "precision", "coverage"]]
    for label, rule in zip(rules.row_labels, shown, strict=False):
        precision = f"{rule.precision:.2f}" if rule.n_covered else "–"
        body = " and ".join(map(str, rule.conditions)) or "always"
        cells.append([str(label), body, rule.decision, precision, f"{rule.coverage:.2f}"])
    return Table(cells, "<<<>>", head=True, lines=[f"  {rule.text}" for rule in shown])


def example_table(row: Counterfactual) -> Table:
    """Return a line for each feature that changes somewhere: the row's value, and those of its examples."""
    batch, examples, known = row.batch, row.examples, row.batch.dictionary
    head = ["", "this row", *(f"example {e + 1}" for e in range(len(examples)))]
    cells, marked = [head], []
    for i, j in enumerate(np.flatnonzero(batch.changed.any(0)), start=1):
        name = batch.feature_names[j]
        values = (known.exact(name, value) for value in (batch.before[0, j], *batch.after[:, j]))
        cells.append([known.label(name), *values])
        marked += [(i, int(e) + 2) for e in np.flatnonzero(batch.changed[:, j])]
    cells.append(["answer", batch.outputs.brief(batch.predictions[0]), *(e.answer for e in examples)])
    for name, figure in (("this row", "distance"), ("the nearest training row", "plausibility")):
        cells.append([f"distance from {name}", "", *(f"{getattr(e, figure):.2f}" for e in examples)])
    lines = [
        f"  {e}  distance {e.distance:.2f}, {e.plausibility:.2f} from the nearest training row"
        for e in examples
    ]
    return Table(cells, "<" * len(head), head=True, marked=marked, lines=lines)


def examples_table(found: Counterfactuals, n: int) -> Table:
    """Return the first n examples, each below the row that it changes, with the features that change."""
    shown, label, known = range(len(found.row))[:n], found.row_labels, found.dictionary
    moved = np.flatnonzero(found.changed[: len(shown)].any(0))
    names = [found.feature_names[j] for j in moved]
    cells, marked = [["row", "", *map(known.label, names), "answer"]], []
    for e in shown:
        i = int(found.row[e])
        if e == 0 or i != found.row[e - 1]:
            own = map(known.exact, names, found.before[i, moved])
            cells.append([str(label[i]), "as it is", *own, found.outputs.brief(found.predictions[i])])
        marked += [(len(cells), int(j) + 2) for j in np.flatnonzero(found.changed[e, moved])]
        cells.append(
            ["", "changed", *map(known.exact, names, found.after[e, moved]), found.example(e).answer]
        )
    lines = [f"  row {label[found.row[e]]}: {found.example(e)}" for e in shown]
    return Table(cells, "<" * len(cells[0]), head=True, marked=marked, lines=lines)

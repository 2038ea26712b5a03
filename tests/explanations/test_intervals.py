"""Margins of intervals where rules cover single rows."""

from types import SimpleNamespace

import numpy as np

from illume.data.number_outputs import Numbers
from illume.explanations.boxes import Boxes
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.fit.rule_trees import _fit_intervals
from tests.explanations.common import numbers_layout


def test_the_spread_of_all_numbers_serves_where_no_rule_covers_another_row():
    X = np.linspace(-4, 4, 40)[:, None]
    y = 100 * X
    outputs = Numbers(("price",)).fit(y)
    parts = [AnsweredRows(X[start::3], y[start::3]) for start in range(3)]
    rows = FitRows(outputs, *parts, parts[0])
    alone = Boxes(parts[1].X, parts[1].X, np.ones(parts[1].X.shape, dtype=bool))
    rules = SimpleNamespace(rules=lambda X, decisions: SimpleNamespace(boxes=alone))
    model = SimpleNamespace(
        question=outputs.question(0),
        rules=SimpleNamespace(layout=numbers_layout(1)),
        ask=lambda question, P: rules,
    )
    found = _fit_intervals(model, rows)
    assert found.typical[0] == parts[0].P.std()
    assert np.isfinite(found.margins).all()

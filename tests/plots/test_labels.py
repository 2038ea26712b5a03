"""Labels and units in plots."""

import re
from copy import copy

import pytest

from illume import plots
from tests.common import loans

LABELS = {
    "income": {"label": "Yearly $income", "unit": "k€"},
    "education": {"label": "Highest degree", "values": {"low": "none", "high": "university"}},
    "age": "Age",
    "owner": "Owns a home",
}


@pytest.fixture(scope="module")
def explainer(loan_explainer):
    return copy(loan_explainer).set_params(labels=LABELS)


def words(ax):
    """Return all text of a figure."""
    from matplotlib.text import Text

    figure = ax.figure
    figure.canvas.draw()
    return " | ".join(text.get_text() for text in figure.findobj(Text))


def test_every_plot_shows_labels_and_units(explainer):
    rows = loans(30, seed=5)
    found, rules, examples = explainer(rows), explainer.rules(rows), explainer.counterfactuals(rows.head(6))
    changed = next(each for each in examples if each.examples)
    drawn = [
        *(plots.bar(found), plots.bar(found[1]), plots.waterfall(found[1]), plots.beeswarm(found)),
        *(plots.decision_paths(found), plots.interactions(explainer.interactions(rows))),
        *(plots.dependence(found, "income"), plots.dependence(found, "education", colour="income")),
        *(plots.rule(rules[0]), plots.counterfactual(changed), plots.compare_rows(found[1], found[2])[0]),
    ]
    for ax in drawn:
        text = words(ax)
        assert "income" not in text.replace("\\$income", "").replace("$income", ""), text
        assert "education" not in text, text
    assert "[k€]" in words(drawn[6])
    assert "university" in words(drawn[7])
    assert " k€" in words(drawn[2])
    assert " k€" in words(drawn[-1])
    assert {"= none", "= university"} & set(re.findall("= none|= university", words(drawn[-1])))

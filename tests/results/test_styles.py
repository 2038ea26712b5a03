"""Styled tables show the result's numbers, with bars by sign, and data only as text."""

import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from illume.data.frames import Origin
from illume.errors import MissingExtraError
from illume.results import colours
from tests.common import loans

pytest.importorskip("jinja2")
NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def batch(loan_pullback):
    return loan_pullback(loans(40, seed=2))


@pytest.fixture(scope="module")
def several(three_class_explainer, three_class):
    return three_class_explainer(three_class[1].iloc[:40])


def written(styler):
    """The table as a browser would write it: header, then lines of cells."""
    html = styler.to_html()
    lines = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines]


def test_a_line_per_row_has_the_decision_and_the_strongest_features(batch):
    header, *lines = written(batch[:5].style(n=2))
    top = batch[:5].top(2)
    assert header[1:7] == ["decision", "probability", "status", "base value", *top.feature_names]
    assert len(lines) == 5
    assert lines[0][1] == batch[0].decision
    assert lines[0][5:7] == [f"{number + 0.0:+.3f}" for number in top.values[0]]
    assert header[-1] == "2 other features"


def test_the_numbers_of_a_line_add_up(batch, several):
    for result in (batch, several):
        table = result.style(n=2).data
        decided = result.scores if result.scores.ndim == 1 else result.scores.max(1)
        np.testing.assert_allclose(
            table.iloc[:, 3:].sum(axis=1)[result.faithful], decided[result.faithful], atol=1e-9
        )
    assert batch.refinement.refined.any()
    assert "offset of the refinement" in batch.style().data


def test_bars_go_right_and_blue_for_positive_left_and_orange_for_negative(batch):
    styler = batch[:1].style(n=4)
    styler._compute()
    drawn = {
        name: dict(styler.ctx[0, styler.data.columns.get_loc(name)]).get("background", "")
        for name in batch.feature_names
    }
    assert len({bool(number > 0) for number in batch[0].values if number}) == 2
    for name, number in zip(batch.feature_names, batch[0].values, strict=True):
        assert (colours.FOR_BAR in drawn[name]) == (number > 0)
        assert (colours.AGAINST_BAR in drawn[name]) == (number < 0)


def test_one_row_has_a_line_per_feature_with_its_value(batch):
    header, *lines = written(batch[1].style(n=3))
    assert header[1:] == ["value", "contribution"]
    expected = [[line.name, line.value, f"{line.contribution:+.3f}"] for line in batch[1].lines(3)]
    assert lines == expected


def test_names_values_classes_and_labels_show_as_text(batch):
    labels = replace(batch.labels, features=(NASTY, "income", "owner", "education"), classes=(NASTY, "yes"))
    data = batch.data.astype(object)
    data[:, 3] = NASTY
    index = pd.Index([f"{NASTY}{i}" for i in range(40)], name=NASTY)
    for labelled in (index, pd.Index([NASTY] * 40, name=NASTY)):
        odd = replace(batch, labels=labels, data=data, origin=Origin("pandas", labelled))
        for styler in (odd.style(), odd[0].style()):
            html = styler.to_html()
            assert "<script" not in html
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_rules_and_counterfactuals_show_data_as_text(loan_explainer):
    rows = loans(8, seed=3)
    found, rules = loan_explainer.counterfactuals(rows, n=1), loan_explainer.rules(rows)
    after = found.after.astype(object)
    after[found.changed] = NASTY
    names = (NASTY, "no")
    odd = replace(found, after=after, class_names=names, feature_names=(NASTY, "income", "owner", "edu"))
    for styler in (odd.style(), replace(rules, class_names=names).style()):
        assert "<script" not in styler.to_html()
        assert "&lt;script&gt;" in styler.to_html()


def test_a_feature_may_be_called_like_a_column_of_ours(batch):
    names = ("decision", "offset", "2 other features", "rest")
    odd = replace(batch, labels=replace(batch.labels, features=names))
    table = odd.style(n=2).data
    assert table.columns.is_unique
    top = odd.top(2)
    for j, name in enumerate(top.feature_names):
        np.testing.assert_allclose(table[name], top.values[:, j])
    wide = odd.to_frame()
    np.testing.assert_allclose(wide["offset"], odd.values[:, 1])
    np.testing.assert_allclose(wide["offset_"], odd.offset)


def test_labels_of_rows_are_shown_unique_or_not(batch):
    for labels in (list("abc"), list("aab"), [("x", 1), ("x", 2), ("y", 1)]):
        index = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels)
        _, *lines = written(replace(batch[:3], origin=Origin("pandas", index)).style())
        assert [line[0] for line in lines] == [str(label) for label in labels]


def test_rules_have_precision_and_coverage_as_bars(loan_explainer):
    rules = loan_explainer.rules(loans(6, seed=3))
    header, *lines = written(rules.style())
    assert header[1:] == ["rule", "decision", "precision", "coverage", "covered rows", "status"]
    said = rules[0].text.split(" → ")[0].replace("<", "&lt;").replace(">", "&gt;")
    assert lines[0][1] == said
    assert lines[0][4] == f"{rules[0].coverage:.3f}"
    assert colours.SHARE in rules.style().to_html()


def test_counterfactuals_show_only_what_changes_from_what_to_what(loan_explainer):
    found = loan_explainer.counterfactuals(loans(6, seed=3), n=1)
    table = found.style().data
    marked = table.iloc[:, 4:] != ""
    np.testing.assert_array_equal(marked, found.changed[:, found.changed.any(0)])
    change = found.example(0).changes[0]
    assert (
        f"→ {change.after:.4g}" in table[change.feature][0] or str(change.after) in table[change.feature][0]
    )


def test_nothing_to_show_is_an_empty_table(batch, loan_explainer):
    assert len(written(batch[:0].style())) == 1
    rows = loans(6, seed=3)
    assert len(written(loan_explainer.rules(rows)[:0].style())) == 1
    assert len(written(loan_explainer.counterfactuals(rows)[:0].style())) == 1


@pytest.mark.parametrize("package", ["jinja2", "pandas"])
def test_without_a_package_the_extra_is_named(batch, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'needs {package}; .*pip install "illume\[style\]"'):
        batch.style()

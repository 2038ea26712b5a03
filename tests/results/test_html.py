"""HTML and styled tables show the result's numbers, with bars by sign, and data only as text."""

import re
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from illume.data.class_outputs import Classes
from illume.data.frames import Origin
from illume.errors import MissingExtraError
from illume.results import colours
from tests.common import loans

pytest.importorskip("jinja2")
NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def rules(loan_explainer):
    return loan_explainer.rules(loans(6, seed=3))


@pytest.fixture(scope="module")
def found(loan_explainer):
    return loan_explainer.counterfactuals(loans(6, seed=3), n=1)


def cells(styler):
    """Return the table's cells as text: header, then lines."""
    lines = re.findall(r"<tr>(.*?)</tr>", styler.to_html(), re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines]


def test_a_line_per_row_has_the_decision_and_the_strongest_features(pullback):
    header, *lines = cells(pullback[:5].style(n=2))
    top = pullback[:5].top(2)
    assert header[1:6] == ["decision", "probability", "base value", *top.feature_names]
    assert header[-1] == "2 other features"
    assert len(lines) == 5
    assert lines[0][1] == pullback[0].decision
    assert lines[0][4:6] == [pullback.outputs.format_score(number) for number in top.values[0]]


def test_the_numbers_of_a_line_add_up(pullback, several):
    for result in (pullback, several):
        total = result.style(n=2).data.iloc[:, 2:].sum(axis=1)
        decided = result.scores if result.scores.ndim == 1 else result.scores.max(1)
        np.testing.assert_allclose(total[result.faithful], decided[result.faithful], atol=1e-9)
    assert pullback.refinement.refined.any()
    assert "offset of the row" in pullback.style().data


def test_bars_are_blue_for_positive_and_orange_for_negative_numbers(pullback):
    styler = pullback[:1].style(n=4)
    styler._compute()
    assert len({bool(number > 0) for number in pullback[0].values if number}) == 2
    for name, number in zip(pullback.feature_names, pullback[0].values, strict=True):
        bar = dict(styler.ctx[0, styler.data.columns.get_loc(name)]).get("background", "")
        assert (colours.FOR_BAR in bar, colours.AGAINST_BAR in bar) == (number > 0, number < 0)


def test_one_row_has_a_line_per_feature_with_its_value(pullback):
    header, *lines = cells(pullback[1].style(n=3))
    assert header[1:] == ["value", "contribution"]
    expected = [[line.name, line.value, f"{line.contribution:+.3f}"] for line in pullback[1].lines(3)]
    assert lines == expected


def test_all_text_from_data_is_escaped(pullback, rules, found):
    outputs = Classes((NASTY, f"{NASTY} 2"))
    labels = replace(pullback.labels, features=(NASTY, "income", "owner", "education"), outputs=outputs)
    data = pullback.data.astype(object)
    data[:, 3] = NASTY
    shown = []
    for index in (pd.Index([f"{NASTY}{i}" for i in range(60)], name=NASTY), pd.Index([NASTY] * 60)):
        odd = replace(pullback, labels=labels, data=data, origin=Origin("pandas", index))
        shown += [odd.style().to_html(), odd[0].style().to_html(), odd._repr_html_(), odd[0]._repr_html_()]
    after = found.after.astype(object)
    after[found.changed] = NASTY
    changed = replace(found, after=after, outputs=outputs, feature_names=(NASTY, "income", "owner", "edu"))
    named = replace(rules, outputs=outputs, question=outputs.question())
    shown += [changed.style().to_html(), changed[0]._repr_html_()]
    shown += [named.style().to_html(), named[0]._repr_html_()]
    for html in shown:
        assert "<script" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_html_shows_every_word_of_the_text(pullback, rules, found, loan_pullback):
    for result in (pullback, pullback[0], rules, rules[0], found, found[0], loan_pullback.quality_):
        html = unescape(re.sub(r"<.*?>", " ", result._repr_html_()))
        words, shown = (set(re.sub(r"[█▒→⇒,:]", " ", each).split()) for each in (repr(result), html))
        assert words <= shown


def test_a_feature_may_have_the_name_of_a_column_of_ours(pullback):
    names = ("decision", "offset", "2 other features", "rest")
    odd = replace(pullback, labels=replace(pullback.labels, features=names))
    table, top = odd.style(n=2).data, odd.top(2)
    assert table.columns.is_unique
    for j, name in enumerate(top.feature_names):
        np.testing.assert_allclose(table[name], top.values[:, j])
    wide = odd.to_frame()
    np.testing.assert_allclose(wide["offset"], odd.values[:, 1])
    np.testing.assert_allclose(wide["offset_"], odd.offset)


@pytest.mark.parametrize("labels", [list("abc"), list("aab"), [("x", 1), ("x", 2), ("y", 1)]], ids=str)
def test_labels_of_rows_are_shown_unique_or_not(pullback, labels):
    index = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels)
    _, *lines = cells(replace(pullback[:3], origin=Origin("pandas", index)).style())
    assert [line[0] for line in lines] == [str(label) for label in labels]


def test_rules_have_precision_and_coverage_as_bars(rules):
    header, *lines = cells(rules.style())
    assert header[1:] == ["rule", "decision", "precision", "coverage", "covered rows", "status"]
    premise = rules[0].text.split(" → ")[0].replace("<", "&lt;").replace(">", "&gt;")
    assert (lines[0][1], lines[0][4]) == (premise, f"{rules[0].coverage:.3f}")
    assert colours.SHARE in rules.style().to_html()


def test_counterfactuals_show_only_changes_before_and_after(found):
    table = found.style().data
    np.testing.assert_array_equal(table.iloc[:, 4:] != "", found.changed[:, found.changed.any(0)])
    change = found.example(0).changes[0]
    assert table[change.feature][0] == change.text


def test_nothing_to_show_is_an_empty_table(pullback, rules, found):
    for result in (pullback, rules, found):
        assert len(cells(result[:0].style())) == 1


@pytest.mark.parametrize("package", ["jinja2", "pandas"])
def test_without_a_package_the_extra_is_named(pullback, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'needs {package}; .*pip install "illume\[style\]"'):
        pullback.style()

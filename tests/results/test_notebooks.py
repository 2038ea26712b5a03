"""Results in notebooks: tables with heads, changed cells marked; counts agree, and zero has no sign."""

import re
import subprocess
import sys

import numpy as np
import pytest

import illume
from illume.data.class_outputs import Classes
from illume.data.number_outputs import Numbers
from illume.results import colours
from illume.results.quality import Quality
from illume.results.reasons import Line, Reasons
from tests.common import loans


@pytest.fixture(scope="module")
def rows():
    return loans(20, seed=5)


def results(explainer, rows):
    found, rules, examples = explainer(rows), explainer.rules(rows), explainer.counterfactuals(rows)
    yield from (found.reasons(), rules, rules[0], examples, examples[0], explainer.rule_set())
    yield from (explainer.check(rows), explainer.quality_)


def test_results_are_tables_with_heads(loan_measured, rows):
    for each in results(loan_measured, rows):
        html = each._repr_html_()
        if not isinstance(each, Quality):  # whose lines name their own figures
            assert re.search(r"<table><thead><tr><th style=\"text-align:", html), type(each)
        assert html.count("<table>") == html.count("</table>")
    assert "<table><tbody>" in loan_measured(rows)[0].reasons()._repr_html_()


def test_a_table_of_rules_has_their_figures_and_text_stays_as_it_is(loan_explainer, rows):
    rules = loan_explainer.rules(rows)
    html = rules._repr_html_()
    assert f'<td style="text-align:right">{rules[0].coverage:.2f}</td>' in html
    assert f"  {rules[0].text}" in repr(rules).splitlines()
    own = rules[0]._repr_html_()
    assert "this row" in own
    assert own.count("<tr>") == 1 + len(rules[0].conditions)


def test_changed_cells_are_marked_beside_the_row_itself(loan_explainer, rows):
    examples = loan_explainer.counterfactuals(rows.head(4), n=2)
    mark = f"background:{colours.CHANGED};color:black"  # readable on light and on dark pages
    one = next(each for each in examples if each.examples)
    html = one._repr_html_()
    assert html.count(mark) == sum(len(example.changes) for example in one.examples)
    for change in one.examples[0].changes:
        before, after = change.texts
        assert f">{before}</td>" in html
        assert f'{mark}">{after}</td>' in html
    batch = examples._repr_html_()
    assert batch.count(mark) == int(examples.n_changes[:5].sum())
    assert batch.count(">as it is<") == len(set(examples.row[:5].tolist()))


def test_reasons_are_a_sequence_that_prints(loan_explainer, rows):
    found = loan_explainer(rows)
    reasons = found[1].reasons(2)
    assert isinstance(reasons, Reasons)
    assert len(reasons) <= 2
    assert [line.name for line in reasons] == [line.name for line in reasons[:]]
    assert repr(reasons) == repr(found.reasons(2)[1])
    assert found[1].headline in repr(reasons)
    assert len(found.reasons()) == len(rows)
    assert [len(each) for each in found.reasons(1)[:3]] == [len(found[i].reasons(1)) for i in range(3)]


def test_reasons_have_errors_and_mark_signs_that_are_unsure(loan_measured, rows):
    found = loan_measured(rows)
    unsure = 0
    for row in found:
        reasons = row.reasons(4)
        for line in reasons:
            assert f"{line.contribution:+.3f} ± {line.standard_error:.3f}" in repr(reasons)
            assert line.unsure == (abs(line.contribution) <= 1.96 * line.standard_error)
        assert repr(reasons).count("sign unsure") == sum(line.unsure for line in reasons)
        unsure += repr(reasons).count("sign unsure")
    assert unsure
    assert re.search(r"= \S+ \(\S+ ± \S+, sign unsure\)", repr(found.reasons(4)))


def test_reasons_that_errors_cannot_rank_are_ties():
    lines = [Line(name, "1", value, 0.1, name) for name, value in (("a", 3.0), ("b", 2.0), ("c", 1.9))]
    show = "{0.contribution}".format
    apart = Reasons(tuple(lines[:1]), "yes", show, lines[1])
    cut = Reasons(tuple(lines[:2]), "yes", show, lines[2])
    every = Reasons(tuple(lines), "yes", show)
    assert (apart.ties, cut.ties, every.ties) == ((False,), (False, True), (False, True, False))
    assert "too close to rank: b and c, which is left out" in repr(cut)
    assert repr(every).endswith("too close to rank: b and c")
    assert "too close" not in repr(apart)
    exact = [line._replace(standard_error=0.0) for line in lines]
    assert not any(Reasons(tuple(exact[:2]), "yes", show, exact[2]).ties)


def test_the_next_reason_is_known(loan_measured, rows):
    row = loan_measured(rows)[0]
    every = row.reasons(9)
    assert row.reasons(1).left_out == every[1]
    assert every.left_out is None


def test_a_batch_of_one_row_prints_the_row(loan_explainer, rows):
    found = loan_explainer(rows[:1])
    assert repr(found) == repr(found[0])
    assert found._repr_html_() == found[0]._repr_html_()


def test_importance_has_no_sign(loan_explainer, rows):
    lines = repr(loan_explainer(rows)).partition("mean absolute contribution:")[2]
    assert re.search(r"\d\.\d{3}", lines)
    assert "+" not in lines
    assert "-" not in lines


@pytest.mark.parametrize("outputs", [Classes(("no", "yes")), Numbers(("price",), spread=(1.0,))])
def test_what_is_rounded_to_zero_has_no_sign(outputs):
    for number in (-1e-9, 0.0, -0.0, 1e-9):
        for text in (outputs.format_score(number), outputs.format_total(number)):
            assert text.strip("0.") == ""
    assert outputs.format_score(-0.5).startswith("-0.5")
    assert outputs.format_score(0.5).startswith("+0.5")


def test_counts_agree_in_number(loan_explainer, rows):
    one, two = rows.head(1), rows.head(2)
    many = [loan_explainer.rules(one), loan_explainer.counterfactuals(one, n=1)]
    many += [loan_explainer.check(one), loan_explainer.latents(one), loan_explainer.interactions(one)]
    for each in many:
        assert "1 row" in repr(each)
        assert not re.search(r"\b1 (rows|features|examples|other features|changed features)\b", repr(each))
    assert "2 rows" in repr(loan_explainer(two))
    top = loan_explainer(rows)[0].lines(3)
    assert top[-1].name == "1 other feature"


def test_without_a_model_nothing_is_said_of_agreement(loan_pullback, rows, tmp_path):
    loan_pullback.save(tmp_path / "a.illume")
    alone = illume.load(tmp_path / "a.illume")
    first = repr(alone(rows)[0]).splitlines()[0]
    assert "agrees" not in first
    assert "agrees" in repr(loan_pullback(rows)[np.flatnonzero(loan_pullback(rows).agreed)[0]])
    assert "agrees" not in repr(alone.latents(rows)[0])


def test_bars_are_plain_and_silent_where_widgets_are_missing():
    code = """
import importlib.util, sys, warnings
warnings.simplefilter("error")
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "ipywidgets" else find(name, *a)
from illume.data.progress import tqdm
print(tqdm.__base__.__module__, "tqdm.notebook" in sys.modules)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["tqdm.std", "False"]

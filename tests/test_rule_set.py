"""A rule set is a short summary: few rules, figures from held-out rows, and an answer else."""

import copy
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from illume.data.later import Later
from illume.explanations import rule_cover
from tests.common import FAST, grouped


def corner(rows):
    """Say yes in one corner, and surely so."""
    inside = (rows["a"].to_numpy() > 0) & (rows["b"].to_numpy() > 0.5)
    return np.where(inside, 0.97, 0.02)


@pytest.fixture(scope="module")
def corner_frame():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(600, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def corner_explainer(corner_frame):
    settings = grouped(n_latents=2, queries=0, training=FAST, class_names=["no", "yes"])
    return Explainer(corner, **settings).fit(corner_frame)


def report_rows(explainer, frame):
    """Return the held-out rows with what the model decides about them."""
    fitted = explainer.fitted_
    rows = frame.iloc[fitted.split.report]
    return rows, np.array(fitted.outputs.question().names)[fitted.rows.report.P.argmax(1)]


def summary_boxes(fitted):
    """Return the rules of a rule set as boxes."""
    known = fitted.rule_model.known
    return rule_cover.cover_rows(known, rule_cover.DecisionAim(known, 0.9), 10, 3).boxes


def test_a_model_of_one_rule_is_summed_up_by_that_rule(corner_explainer):
    found = corner_explainer.rule_set(precision=0.97)
    assert found.coverage > 0.95
    assert found.agreement > 0.95
    yes = next(rule for rule in found if rule.decision == "yes")
    assert {condition.name for condition in yes.conditions} == {"a", "b"}
    low = {condition.name: condition.low for condition in yes.conditions}
    assert low["a"] == pytest.approx(0.0, abs=0.2)
    assert low["b"] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("options", [{}, {"max_rules": 2, "max_conditions": 1}, {"precision": 0.6}])
def test_figures_are_those_of_held_out_rows_that_rules_cover(loan_explainer, loan_frame, options):
    found = loan_explainer.rule_set(**options)
    rows, decided = report_rows(loan_explainer, loan_frame)
    assert found.n_rows == len(rows)
    assert len(found) <= options.get("max_rules", 10)
    assert (found.rules.n_conditions <= options.get("max_conditions", 3)).all()
    answers = np.full(len(rows), None)
    for rule in found:
        covered = rule.covers(rows)
        assert rule.n_covered == covered.sum()
        if covered.any():
            assert rule.precision == pytest.approx((decided[covered] == rule.decision).mean())
        answers[covered & (answers == None)] = rule.decision  # noqa: E711
    left = answers == None  # noqa: E711
    assert found.coverage == pytest.approx(1 - left.mean())
    assert found.otherwise.n_covered == left.sum()
    answers[left] = found.otherwise.decision
    assert found.agreement == pytest.approx((answers == decided).mean())
    assert found.together.tolist() == sorted(found.together.tolist())


def test_the_sql_of_the_whole_set_answers_as_its_rules_do(loan_explainer, loan_frame):
    found = loan_explainer.rule_set()
    rows, decided = report_rows(loan_explainer, loan_frame)
    database = sqlite3.connect(":memory:")
    rows.to_sql("loans", database, index=False)
    answers = [answer for (answer,) in database.execute(f"SELECT {found.to_sql()} FROM loans")]
    assert np.mean(answers == decided) == pytest.approx(found.agreement)


def test_rows_that_measure_rules_do_not_choose_them(loan_explainer):
    fitted = loan_explainer.fit_rules().fitted_
    model = fitted.rule_model
    other = copy.copy(loan_explainer)
    model = replace(model, report=replace(model.report, P=1 - model.report.P))
    other.fitted_ = replace(fitted, rules=Later.known(replace(fitted.rules(), model=model)))
    before, after = loan_explainer.rule_set(), other.rule_set()
    assert [rule.text for rule in before] == [rule.text for rule in after]
    assert before.otherwise.text == after.otherwise.text
    assert before.agreement == pytest.approx(1 - after.agreement)


def test_rules_have_the_wanted_precision_where_they_were_chosen(corner_explainer):
    for precision in (0.6, 0.9, 0.97):
        found = corner_explainer.rule_set(precision=precision)
        known = corner_explainer.fitted_.rule_model.known
        assert found.rules.wanted == precision
        rows = pd.DataFrame(known.X * known.layout.scale + known.layout.mean, columns=["a", "b", "c"])
        decided = np.array(["no", "yes"])[known.decisions]
        for rule in found:
            assert (decided[rule.covers(rows)] == rule.decision).mean() >= precision


def test_a_rare_decision_has_a_rule_too(corner_frame):
    def rare(rows):
        return np.where(rows["c"].to_numpy() > 1.5, 0.97, 0.02)

    settings = grouped(n_latents=2, queries=0, training=FAST, class_names=["no", "yes"])
    frame = pd.concat([corner_frame] * 2, ignore_index=True)
    assert rare(frame).mean() < 0.09
    found = Explainer(rare, **settings).fit(frame).rule_set()
    assert "c ≥" in next(rule.text for rule in found if rule.decision == "yes")


@pytest.mark.parametrize(("precision", "words"), [(0.857, "rule 1"), (0.875, "rule 1"), (0.9, ""), (1, "")])
def test_rules_are_named_whose_shown_precision_is_below_the_wanted_one(loan_explainer, precision, words):
    found = loan_explainer.rule_set()
    covered = np.full(len(found), 1_000)
    right = np.where(np.arange(len(found)) == 0, round(1_000 * precision), 1_000)
    found = replace(found, rules=replace(found.rules, n_covered=covered, n_correct=right))
    assert found.below.tolist() == [bool(words)] + [False] * (len(found) - 1)
    assert found.to_dict()["rules"][0]["below"] is bool(words)
    assert ("below the wanted precision: rule 1" in repr(found)) is bool(words)
    assert ("below the wanted" in found._repr_html_()) is bool(words)


def test_rules_that_answer_no_better_than_a_constant_say_so(loan_explainer, loan_frame):
    found = loan_explainer.rule_set()
    _, decided = report_rows(loan_explainer, loan_frame)
    names, counts = np.unique(decided, return_counts=True)
    most, share = str(names[counts.argmax()]), counts.max() / len(decided)
    assert found.to_dict()["majority"] == pytest.approx(share)
    assert found.agreement > share
    assert found.warning == ""
    as_often = replace(found, n_agreed=int(counts.max()))
    words = (
        f"warning: always {most!r} would answer like the model for {share:.0%}, so do not take these rules"
    )
    assert words in repr(as_often)
    assert "do not take these rules" in as_often._repr_html_()
    assert as_often.to_dict()["warning"] == as_often.warning != ""


def test_rules_without_a_held_out_row_are_left_out_and_counted(loan_explainer):
    fitted, full = loan_explainer.fit_rules().fitted_, loan_explainer.rule_set()
    model = fitted.rule_model
    outside = np.repeat(np.flatnonzero(~model.report.members(summary_boxes(fitted))[0]), 10)
    assert len(full) > 1
    report = replace(model.report, X=model.report.X[outside], P=model.report.P[outside])
    other = copy.copy(loan_explainer)
    rules = replace(fitted.rules(), model=replace(model, report=report))
    other.fitted_ = replace(fitted, rules=Later.known(rules))
    found = other.rule_set()
    assert full[0].text not in [rule.text for rule in found]
    assert (found.rules.n_covered > 0).all()
    assert found.n_unmeasured == len(full) - len(found) + full.n_unmeasured
    assert f"left out, as no held-out row tells their precision: {found.n_unmeasured} rule" in repr(found)


def test_the_printed_set_explains_its_precision_in_one_line(loan_explainer):
    found = loan_explainer.rule_set()
    text, html = repr(found), found._repr_html_()
    (line,) = [line for line in text.splitlines() if line.startswith("precision: ")]
    assert line == (
        "precision: share of the held-out rows that the rule covers for which the model decides as the rule "
        "says (wanted: 0.9)"
    )
    assert f"cover {found.coverage:.0%} of {found.n_rows} held-out rows" in text or len(found) == 1
    assert "else" in text
    assert found[0].text.rsplit(" → ", 1)[0] in text
    assert "<table" in html
    assert "else" in html


def test_frames_and_dictionaries_have_a_line_per_rule_and_one_for_else(loan_explainer):
    found = loan_explainer.rule_set()
    frame, values = found.to_frame(), found.to_dict()
    assert frame["rule"].tolist()[-1] == "else"
    assert len(frame) == len(values["rules"]) + 1 == len(found) + 1
    np.testing.assert_allclose(frame["support"][: len(found)], found.support)
    np.testing.assert_allclose(frame["together"].iloc[-1], 1.0)
    assert values["else"]["decision"] == found.otherwise.decision
    assert json.loads(json.dumps(values)) == values


def test_two_calls_give_the_same_set(loan_explainer):
    assert repr(loan_explainer.rule_set()) == repr(loan_explainer.rule_set())


def test_a_set_of_several_classes_has_rules_for_several(three_class_explainer):
    found = three_class_explainer.rule_set(precision=0.7, max_conditions=2)
    assert len({rule.decision for rule in found} | {found.otherwise.decision}) > 1
    assert 0 < found.agreement <= 1


def test_there_is_one_count_of_leaves(loan_explainer):
    tree = loan_explainer.fit_rules().fitted_.rule_model.rules.tree
    assert loan_explainer.rule_quality_.n_leaves == int((tree.children_left_ < 0).sum())
    assert "leaves" not in repr(loan_explainer.rule_set())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_rules": 0}, "max_rules must be a positive integer, found 0"),
        ({"max_conditions": 2.5}, "max_conditions must be a positive integer, found 2.5"),
        ({"precision": 1.2}, "precision must be a number from 0.5 to below 1, found 1.2"),
        ({"interval": 0.8}, "interval is for rules that end in numbers"),
    ],
)
def test_bad_options_are_refused(loan_explainer, options, words):
    with pytest.raises(ValueError, match=words):
        loan_explainer.rule_set(**options)


def test_a_precision_of_fewer_than_two_rows_is_not_shown(loan_explainer):
    found = loan_explainer.rule_set()
    few = np.where(np.arange(len(found)) == 0, 1, found.rules.n_covered)
    found = replace(found, rules=replace(found.rules, n_covered=few, n_correct=np.minimum(few, 1)))
    assert found.measured.tolist() == (few >= 2).tolist()
    assert "too few held-out rows to know the precision: rule" in repr(found)
    assert "–" in repr(found).splitlines()[2]


def test_a_class_name_may_hold_an_arrow(corner_frame):
    settings = grouped(n_latents=2, queries=0, training=FAST, class_names=["a → b", "b → a"])
    found = Explainer(corner, **settings).fit(corner_frame).rule_set()
    assert all("→" not in rule for rule in found.to_frame()["rule"])

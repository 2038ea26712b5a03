"""Questions of above or below a number, answered without a new fit."""

from dataclasses import fields

import numpy as np
import pytest


@pytest.mark.parametrize("threshold", [60_000, 72_500.5])
def test_rules_end_below_or_at_least_the_threshold(houses, threshold):
    rows = houses.X[:60]
    rules, y = houses.explainer.rules(rows, threshold=threshold), houses.predict(rows)
    for i, rule in enumerate(rules):
        side = "at least" if y[i] >= threshold else "below"
        assert f"→ {side} {threshold:,}" in rule.text
        assert rule.covers(rows)[i]
    assert rules.interval is None


def test_precision_is_measured_on_held_out_rows(houses):
    threshold, rows = 72_000, houses.X[:60]
    rules = houses.explainer.rules(rows, threshold=threshold)
    report = houses.X.iloc[houses.explainer.fitted_.split.report]
    above = houses.predict(report) >= threshold
    for i in (0, 7, 33):
        covered = rules[i].covers(report)
        covered &= ~np.isin(report.index, rows.index[i])
        assert rules.n_covered[i] == covered.sum()
        own = houses.predict(rows)[i] >= threshold
        assert rules.n_correct[i] == (above[covered] == own).sum()


def test_a_threshold_needs_no_new_fit(houses):
    houses.explainer.fit_rules()
    before, asked = houses.explainer.fitted_, houses.explainer.fitted_.black_box.n_asked
    houses.explainer.rules(houses.X[:10], threshold=70_000)
    after = houses.explainer.fitted_
    assert all(getattr(before, f.name) is getattr(after, f.name) for f in fields(before))
    assert after.black_box.n_asked - asked == 10


def test_a_threshold_beyond_all_numbers_has_one_side(houses):
    rules = houses.explainer.rules(houses.X[:5], threshold=1e9)
    assert all("below 1,000,000,000" in rule.text for rule in rules)


@pytest.mark.parametrize("threshold", ["high", np.nan, np.inf, True])
def test_what_is_no_threshold_is_refused(houses, threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        houses.explainer.rules(houses.X[:5], threshold=threshold)


def test_classes_have_a_threshold_between_0_and_1(loan_explainer, loan_frame):
    with pytest.raises(ValueError, match="threshold must be a probability above 0 and below 1, found 20"):
        loan_explainer.rules(loan_frame[:3], threshold=20)


def test_several_outputs_are_asked_one_by_one(pair):
    y = pair.predict(pair.X[:20])[:, 1]
    rules = pair.explainer.rules(pair.X[:20], threshold=0.0, output="weight")
    assert [("at least" in rule.text) for rule in rules] == (y >= 0).tolist()
    with pytest.raises(ValueError, match="output must be one of"):
        pair.explainer.rules(pair.X[:20], threshold=0.0)


def test_options_of_the_other_kind_of_rules_are_refused(houses):
    with pytest.raises(ValueError, match="use interval, or give a threshold"):
        houses.explainer.rules(houses.X[:2], precision=0.8)
    with pytest.raises(ValueError, match="these end in a decision: use precision"):
        houses.explainer.rules(houses.X[:2], interval=0.8, threshold=70_000)

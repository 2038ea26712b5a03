"""Rules of rows that are out of the ordinary."""

import numpy as np
import pandas as pd
import pytest

from illume.explanations import rule_sample
from tests.common import linear_black_box, loans
from tests.test_rules import explainer_of


def test_a_missing_number_satisfies_the_rule_of_its_row():
    rows = loans(200)
    model = lambda frame: np.where(frame["income"].isna() | (frame["income"] > 30), 0.9, 0.1)  # noqa: E731
    explainer = explainer_of(model).fit(rows)
    gaps = rows[rows["income"].isna()].head(5)
    for polish in (True, False):
        for i, rule in enumerate(explainer.rules(gaps, polish=polish)):
            assert rule.covers(gaps.iloc[[i]])[0]


def test_a_category_never_seen_gets_a_rule_without_a_condition_on_it(loan_model, loan_frame):
    explainer = explainer_of(loan_model, unknown="ignore").fit(loan_frame)
    rows = loans(10, seed=4).assign(education="doctorate")
    for polish in (True, False):
        for i, rule in enumerate(explainer.rules(rows, polish=polish)):
            assert "education" not in [condition.name for condition in rule.conditions]
            assert rule.covers(rows.iloc[[i]])[0]


def test_columns_of_categories_alone_get_rules_and_counterfactuals():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(["a", "b", "c"], 200), "yes": rng.random(200) < 0.5})
    model = lambda rows: np.where((rows["c"] == "a") ^ rows["yes"], 0.9, 0.1)  # noqa: E731
    explainer = explainer_of(model).fit(frame)
    rules = explainer.rules(frame.head(20))
    assert all(rule.covers(frame.iloc[[i]])[0] for i, rule in enumerate(rules))
    assert (rules.precision == 1).all()
    assert explainer.counterfactuals(frame.head(20), n=1).found.all()


def test_a_fraction_in_a_column_of_whole_numbers_stays_in_its_rule():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(300, 3)).astype(float)
    explainer = explainer_of(linear_black_box([1, -1, 0.2])).fit(X)
    rows = X[:60] + rng.random((60, 3)) * 0.9
    for polish in (True, False):
        rules = explainer.rules(rows, polish=polish)
        assert all(rule.covers(rows[[i]])[0] for i, rule in enumerate(rules))


def test_the_text_of_a_bound_is_the_bound():
    X = np.random.default_rng(0).normal(size=(300, 1)) * 30 + 100_050
    explainer = explainer_of(lambda rows: np.where(rows[:, 0] > 100_050, 0.9, 0.1)).fit(X)
    for rule in explainer.rules(X[:20]):
        for condition in rule.conditions:
            shown = float(str(condition).split()[-1])
            bound = condition.low if np.isfinite(condition.low) else condition.high
            assert shown == pytest.approx(bound, abs=0.01)


def test_rows_of_extreme_size_are_explained_with_the_others(loan_explainer):
    rows = loans(5, seed=3).astype({"income": float})
    rows.loc[2, "income"] = 1e60
    rules = loan_explainer.rules(rows)
    assert all(rule.covers(rows.iloc[[i]])[0] for i, rule in enumerate(rules))
    assert len(loan_explainer.counterfactuals(rows, n=1)) == 5


def test_a_rare_class_gets_rules_and_counterfactuals():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    rare = lambda rows: np.where(rows[:, 0] > 2.9, 0.9, 0.1)  # noqa: E731
    explainer = explainer_of(rare, encoder="identity").fit(X)
    assert explainer.counterfactuals(X[:10], n=1).found.all()
    found = explainer.rules(X[X[:, 0] > 2.9][:3])
    assert all("always" not in rule.text for rule in found)


def test_of_very_many_inputs_rules_are_about_those_that_tell_decisions_apart(monkeypatch):
    monkeypatch.setattr(rule_sample, "MOST_INPUTS", 3)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde")).assign(
        t=rng.choice(["u", "v"], 300)
    )
    model = lambda rows: np.where((rows["b"] > 0.3) | (rows["t"] == "u"), 0.9, 0.1)  # noqa: E731
    explainer = explainer_of(model).fit(frame)
    rules = explainer.rules(frame.head(30))
    assert {condition.name for rule in rules for condition in rule.conditions} == {"b", "t"}
    assert np.nanmean(rules.precision) > 0.9
    assert all(rule.covers(frame.iloc[[i]])[0] for i, rule in enumerate(rules))

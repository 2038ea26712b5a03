"""What a report says, and in which words."""

import re
from dataclasses import replace

import numpy as np
import pytest

from illume import load
from illume.report import rule_table
from tests.report.common import DATE, data_of, text_of

INNER = ("latent", "alignment", "meta encoder")


@pytest.mark.parametrize("name", ["odd_report", "loan_report", "three_class_report", "number_report"])
def test_inner_workings_are_named_in_the_model_card_only(name, request):
    path = request.getfixturevalue(name)
    text, data = text_of(path), data_of(path)
    before, card = text.split("Model card", 2)[-2:]
    assert "Latents" in card
    for word in INNER:
        assert word not in before.lower()
        assert word not in str(data["rows"]["meanings"]) + str(data["counterfactuals"]).lower()
    script = re.findall(r"<script>(.*?)</script>", path.read_text("utf-8"), re.S)[0]
    said = " ".join(re.findall(r"`[^`]*`|\"[^\"]*\"", script)).lower()
    assert not any(word in said for word in INNER)


@pytest.mark.parametrize("name", ["loan_report", "three_class_report", "number_report"])
def test_illume_and_surrogate_are_explained_where_they_first_occur(name, request):
    text = text_of(request.getfixturevalue(name))
    assert text.index("illume") == text.index("illume 0.1.0, a library that explains what models of tables")
    assert text.index("surrogate") == text.index("surrogate, a simpler model that rules come from")


def test_the_lowest_class_and_the_most_common_decision_stand_beside_agreement(odd_report):
    tile = re.search(r"<li><b>[^<]*</b><span>agreement of twin.*?</li>", odd_report.read_text("utf-8"))[0]
    assert "lowest for “" in tile
    assert "always the most common decision" in tile


def test_a_report_has_the_rule_set_with_what_holds_else(loan_report, loan_explainer):
    text, found = text_of(loan_report), loan_explainer.rule_set()
    shown = text[text.index("Rules for most rows") :]
    for rule in found:
        assert rule.text.rsplit(" → ", 1)[0] in shown
    assert f"else {found.otherwise.decision}" in shown
    assert "do not take these rules" not in shown


def test_a_report_says_where_its_rules_are_no_better_than_a_constant(
    loan_explainer, loan_frame, tmp_path, monkeypatch
):
    poor = replace(loan_explainer.rule_set(), n_agreed=0)
    monkeypatch.setattr(rule_table, "summarize_rules", lambda *_: poor)
    path = loan_explainer.report(loan_frame.head(5), tmp_path / "a.html", counterfactuals=False, date=DATE)
    assert poor.warning[1:] in (text := text_of(path))
    assert text.index("Rules for most rows") < text.index(poor.warning[1:]) < text.index("Support")


def test_without_the_model_no_row_says_that_the_surrogate_agrees_with_itself(
    loan_explainer, loan_frame, tmp_path
):
    loan_explainer.save(tmp_path / "loans.illume")
    path = load(tmp_path / "loans.illume").report(loan_frame.head(20), tmp_path / "a.html", date=DATE)
    data, text = data_of(path), text_of(path)
    assert data["rows"]["has_model"] is False
    assert data["counterfactuals"] is None
    assert text.count("The model itself was not at hand when this report was made") == 2


def test_rules_of_several_numbers_are_said_to_be_of_the_first(two_numbers, tmp_path):
    _, X, explainer = two_numbers
    path = explainer.report(X, tmp_path / "a.html", counterfactuals=False, date=DATE)
    assert ", of size only" in text_of(path)
    assert data_of(path)["rows"]["outputs"] == ["size", "weight"]


def test_labels_of_the_data_dictionary_are_shown(loan_explainer, loan_frame, tmp_path):
    plain = loan_explainer.labels
    try:
        loan_explainer.set_params(labels={"age": "Age of the applicant"})
        path = loan_explainer.report(loan_frame.head(9), tmp_path / "a.html", counterfactuals=False)
    finally:
        loan_explainer.set_params(labels=plain)
    columns = [column["name"] for column in data_of(path)["rows"]["columns"]]
    assert "Age of the applicant" in columns
    assert np.all([name != "age" for name in columns])


def test_limits_of_counterfactuals_stand_with_the_rows_and_in_the_card(loan_explainer, loan_frame, tmp_path):
    limits = {"immutable": ["owner"], "direction": {"income": "up"}, "desired_class": "grant"}
    path = loan_explainer.report(loan_frame.head(4), tmp_path / "a.html", date=DATE, **limits)
    found = data_of(path)["counterfactuals"]
    assert found["limits"] == "kept fixed: owner; only up: income"
    assert "it would decide 'grant'" in found["wish"]
    assert "Limits of counterfactuals kept fixed: owner; only up: income" in text_of(path)

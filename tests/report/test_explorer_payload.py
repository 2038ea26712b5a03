"""What the explorer's page computes with: every kind of explainer, question and value."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import illume
from illume import Explainer
from illume.errors import ExportError, LeftOutError
from illume.explanations.asked import Asked
from illume.fit.ask import ask
from illume.report.explorer_payload import explorer_payload
from tests.common import brief_shapley, loans
from tests.report.common import odd_frame
from tests.report.engine import (
    assert_equal,
    assert_rules_equal,
    modules_in,
    needs_node,
    read_figures,
    run_script,
    write_payload,
)

EXACT = {"twin": "auto", "verbose": False}


@pytest.fixture
def compare(tmp_path):
    """Return a function that compares what the engine says of rows with Python."""

    def run(fitted, X, n=40):
        fitted = fitted.with_unknown("ignore")
        frame = fitted.as_frame(X[:n])
        payload = write_payload(fitted, frame, tmp_path)
        numbers = tmp_path / "figures"
        run_script("run_engine.mjs", modules_in(tmp_path / "modules"), tmp_path / "payload.json", numbers)
        said = read_figures(np.fromfile(numbers), fitted)
        assert_equal(said, fitted, frame)
        assert_rules_equal(said, fitted, frame)
        return payload, said

    return run


@needs_node
def test_a_threshold_decides_and_the_positive_class_is_explained(compare, loan_explainer, loan_frame):
    fitted = loan_explainer.fitted_
    usual = compare(fitted, loan_frame)[1]
    payload, said = compare(ask(fitted, "grant", 0.9), loan_frame)
    assert payload["outputs"]["threshold"] == {"class": 0, "value": 0.9}
    assert payload["outputs"]["explained"] == ["grant"]
    np.testing.assert_allclose(said["values"], -usual["values"])
    assert (said["decision"] == np.where(said["answers"][:, :1] >= 0.9, 0, 1)).all()
    assert (said["decision"] != usual["decision"]).any()


@needs_node
def test_a_model_may_answer_with_several_numbers(compare, two_numbers):
    _, X, explainer = two_numbers
    payload, said = compare(explainer.fitted_, X)
    assert payload["outputs"]["names"] == ["size", "weight"]
    assert said["values"].shape == (40, 2 * X.shape[1])


@needs_node
def test_contributions_may_be_in_probabilities_of_the_first_class(
    compare, three_class, loan_model, loan_frame
):
    model, X = three_class
    forest = RandomForestClassifier(20, random_state=0).fit(X, model.predict(X) == "low")
    fitted = Explainer(forest, positive_class="False", **EXACT).fit(X).fitted_
    payload, said = compare(fitted, X)
    assert payload["outputs"]["link"] == "share"
    np.testing.assert_allclose(said["score"][:, 0], said["answers"][:, 0], atol=1e-12)


@needs_node
@pytest.mark.parametrize("scale", ["log-odds", "probability"])
def test_networks_may_learn_either_scale(scale, compare, three_class):
    model, X = three_class
    with brief_shapley():
        explainer = Explainer(model, twin="learned", scale=scale, queries=300, verbose=False).fit(X)
    payload, _ = compare(explainer.fitted_, X)
    assert payload["outputs"]["link"] == {"log-odds": "softmax", "probability": "shares"}[scale]


@needs_node
def test_values_never_seen_are_kept_and_taken_for_no_category(compare, loan_explainer):
    X = loans(40, seed=5)
    X.loc[0, "education"] = "<b>none</b>"
    X.loc[1, "education"] = None
    X.loc[2, ["age", "income"]] = [9000, -1e300]
    payload, said = compare(loan_explainer.fitted_, X)
    assert payload["rows"]["columns"][3]["unseen"] == ["<b>none</b>", None]
    assert said["odd"][:3, 3].tolist() == [1, 1, 0]
    assert said["far"][2] == 1


@needs_node
def test_names_and_categories_may_be_hostile(compare, odd_explainer):
    compare(odd_explainer.fitted_, odd_frame())


def test_an_explainer_saved_without_rows_shows_the_rules_of_its_tree(loan_learned, loan_frame, tmp_path):
    loan_learned.fit_rules().save(tmp_path / "e.illume", rows="none")
    fitted = illume.load(tmp_path / "e.illume").fitted_
    payload = explorer_payload(fitted, Asked.of(fitted, loan_frame.head(9)))
    assert payload["rules"]["rules"]
    assert payload["rule_set"] is None


@needs_node
def test_an_explainer_saved_without_rows_has_no_places_and_no_histogram_of_rows(
    compare, loan_learned, loan_frame, tmp_path
):
    loan_learned.save(tmp_path / "e.illume", rows="none", rules=False)
    fitted = illume.load(tmp_path / "e.illume").fitted_
    payload, said = compare(fitted, loan_frame)
    assert np.isnan(said["trust"][:, 0]).all()
    assert payload["rows"]["answers"] is None
    assert payload["rule_set"] is None
    assert payload["features"][0]["histogram"]["counts"]


def test_the_payload_is_json_and_says_what_features_are(loan_explainer, loan_frame):
    fitted = loan_explainer.fitted_
    payload = json.loads(json.dumps(explorer_payload(fitted, Asked.of(fitted, loan_frame)), allow_nan=False))
    age, income, owner, education = payload["features"]
    assert (age["kind"], age["whole"], age["missing"]) == ("number", True, False)
    assert (income["missing"], income["low"]) == (True, loan_frame["income"].min())
    assert (
        sum(income["histogram"]["counts"]) == loan_frame["income"].notna().iloc[fitted.split.training].sum()
    )
    assert owner["categories"] == [False, True]
    assert education["category_labels"] == ["high", "low", "middle"]
    assert len(payload["rows"]["columns"]) == 4


def test_contributions_of_the_surrogate_have_no_page(loan_pullback, loan_frame, tmp_path):
    with pytest.raises(ExportError, match="fit with contributions='shapley'"):
        loan_pullback.explorer(loan_frame, tmp_path / "page.html")


def test_trees_that_were_saved_without_rows_have_no_page(loan_explainer, loan_frame, tmp_path):
    loan_explainer.fit_rules().save(tmp_path / "e.illume", rows="none")
    with pytest.raises(LeftOutError, match="compares with background rows, and the explainer was saved with"):
        illume.load(tmp_path / "e.illume").explorer(loan_frame, tmp_path / "page.html")

"""The figures in a report are those of the explainer."""

from dataclasses import replace

import numpy as np
import pytest

from illume import SurrogateOptions
from illume.report.card import setting_facts
from tests.common import loans
from tests.report.common import DATE, data_of, numbers, text_of


@pytest.mark.parametrize("name", ["loan", "three_class"])
def test_contributions_are_the_explainers_and_add_up(name, request):
    given = request.getfixturevalue("loan_frame" if name == "loan" else "three_class")
    frame = given if name == "loan" else given[1]
    expected = request.getfixturevalue(f"{name}_explainer")(frame)
    rows = data_of(request.getfixturevalue(f"{name}_report"))["rows"]
    values = np.array([[numbers(packed) for packed in output] for output in rows["contributions"]])
    by_output = np.moveaxis(np.atleast_3d(expected.values), -1, 0)
    np.testing.assert_allclose(np.swapaxes(values, 1, 2), by_output, rtol=1e-6, atol=1e-6)
    offset = np.zeros((len(frame), len(rows["outputs"])))
    for row, each in rows["offset"].items():
        offset[int(row)] = each
    scores = np.array(rows["base"]) + values.sum(1).T + offset
    np.testing.assert_allclose(scores, expected.scores.reshape(len(frame), -1), atol=1e-4)
    np.testing.assert_allclose(np.array(rows["importance"]), np.atleast_2d(expected.importance.T))


def test_decisions_trust_and_places_are_the_explainers(loan_report, loan_explainer, loan_frame):
    expected = loan_explainer(loan_frame)
    rows = data_of(loan_report)["rows"]
    decided = numbers(rows["decision"]).astype(int)
    np.testing.assert_array_equal(decided, expected.decisions)
    np.testing.assert_allclose(numbers(rows["probability"]), expected.probabilities.max(1), atol=1e-6)
    np.testing.assert_allclose(numbers(rows["towards"]), expected.probabilities[:, 1], atol=1e-6)
    words = [rows["levels"][each] for each in numbers(rows["level"]).astype(int)]
    assert words == expected.trust.level.tolist() == ["exact"] * len(loan_frame)
    assert rows["errors"] is None
    plane = np.column_stack([numbers(rows["x"]), numbers(rows["y"])])
    flat = expected.values - expected.values.mean(0)
    near = np.sqrt(np.square(flat[:, None] - flat).sum(2)) + 1e-5
    assert (np.sqrt(np.square(plane[:, None] - plane).sum(2)) <= near).all()  # a plane of contributions
    assert np.square(plane).sum() > 0.6 * np.square(flat).sum()


def test_standard_errors_are_the_explainers(loan_learned, tmp_path):
    loan_measured, frame = loan_learned, loans(30, seed=2)
    options = {"rules": False, "counterfactuals": False, "date": DATE}
    path = loan_measured.report(frame, tmp_path / "measured.html", **options)
    expected, rows = loan_measured(frame), data_of(path)["rows"]
    errors = np.array([numbers(packed) for packed in rows["errors"][0]]).T
    np.testing.assert_allclose(errors, expected.standard_errors, atol=1e-3 * expected.standard_errors.max())
    typical = numbers(rows["contribution_error"])
    np.testing.assert_allclose(typical, expected.trust.contribution_error, rtol=1e-6)
    text, found = text_of(path), loan_measured.quality_.contributions
    assert f"R² {found.r2:.3f}, 95 % interval {found.low:.3f} to {found.high:.3f}" in text
    assert f"the typical error of a contribution is {found.error:.3f} in log-odds" in text
    assert f"Trust in contributions: {found.word}" in text
    assert "Contributions are in the model's log-odds of “refuse” against “grant”" in text
    assert "the surrogate's log-odds" not in text
    assert rows["whose"] == "the model's"


def test_a_report_of_pullback_contributions_says_that_their_accuracy_is_not_measured(loan_pullback, tmp_path):
    options = {"rules": False, "counterfactuals": False, "date": DATE}
    path = loan_pullback.report(loans(30, seed=2), tmp_path / "pullback.html", **options)
    text, rows = text_of(path), data_of(path)["rows"]
    assert rows["errors"] is None
    assert "Trust in contributions: high" not in text
    assert "how true they are of the model is not measured" in text
    assert "Contributions are in the surrogate's log-odds" in text


def test_a_row_keeps_its_own_values(loan_report, loan_frame):
    columns = {column["name"]: column for column in data_of(loan_report)["rows"]["columns"]}
    np.testing.assert_array_equal(numbers(columns["age"]["values"]), loan_frame["age"])
    np.testing.assert_allclose(numbers(columns["income"]["values"]), loan_frame["income"], rtol=1e-6)
    codes = numbers(columns["education"]["values"]).astype(int)
    assert [columns["education"]["categories"][code] for code in codes] == loan_frame["education"].tolist()


def test_rules_are_the_explainers(loan_report, loan_explainer, loan_frame):
    found = data_of(loan_report)["rules"]
    rules = loan_explainer.rules(loan_frame)
    for row, at in enumerate(numbers(found["of_row"]).astype(int)):
        rule, expected = found["rules"][at], rules[row]
        assert rule["conditions"] == [str(condition) for condition in expected.conditions]
        assert (rule["covered"], rule["decision"]) == (expected.n_covered, expected.decision)
        assert rule["precision"] == (pytest.approx(expected.precision) if expected.n_covered else None)


def test_counterfactuals_are_the_explainers_and_belong_to_their_rows(loan_report, loan_explainer, loan_frame):
    found = data_of(loan_report)["counterfactuals"]
    rows = [int(row) for row in found["examples"]]
    refused = np.flatnonzero(loan_explainer(loan_frame).decisions == 1)
    assert len(rows) == 50
    assert set(rows) <= set(refused) or set(refused) <= set(rows)
    expected = loan_explainer.counterfactuals(loan_frame.iloc[rows], n=1)
    assert any(one.examples for one in expected)
    for row, one in zip(rows, expected, strict=True):
        shown = found["examples"][str(row)]
        assert [each["decision"] for each in shown] == [each.decision for each in one.examples]
        changed = [[name for name, *_ in each["changes"]] for each in shown]
        assert changed == [[change.feature for change in each.changes] for each in one.examples]
        assert (str(row) in found["reasons"]) == (not one.examples)


def test_the_card_lists_the_settings_one_by_one_without_the_schema(loan_explainer):
    settings = loan_explainer.get_params(deep=False)
    settings["data_options"] = replace(settings["data_options"], schema=loan_explainer.schema_)
    facts = dict(setting_facts(settings))
    assert (facts["surrogate_options: n_latents"], facts["queries"]) == ("3", "300")
    assert facts["data_options: report_size"] == "0.15"
    assert facts["categorical"] == "none given"
    assert facts["surrogate_options: training"].startswith("Training(batch_size=128")
    assert {"surrogate_options: objective", "rule_options: objective"} <= set(facts)  # both, not one of them
    assert not {"data_options: schema", "model", "data_options"} & set(facts)


def test_the_text_holds_the_measured_figures(loan_report, loan_explainer, loan_frame):
    text, quality = text_of(loan_report), loan_explainer.quality_
    assert "Contributions are exact: the model was read" in text
    assert f"{quality.surrogate.agreement:.3f}" in text
    strongest = np.argmax(loan_explainer(loan_frame).strength)
    assert f"moved most by “{loan_explainer.schema_.names[strongest]}”" in text
    assert "a HistGradientBoostingClassifier (the last of 2 steps of a Pipeline)" in text


def test_the_figures_of_a_learned_twin_stand_by_class(odd_report, odd_explainer):
    text, quality = text_of(odd_report), odd_explainer.quality_
    low, high = quality.report.interval
    assert f"{quality.agreement:.3f} ({low:.3f} to {high:.3f}, 95 % interval)" in text
    for class_quality in quality.classes:
        assert f"decided “{class_quality.name}”" in text


def test_of_too_many_rows_evenly_spaced_ones_are_shown(loan_explainer, loan_frame, tmp_path):
    options = {"max_rows": 10, "rules": False, "counterfactuals": False}
    path = loan_explainer.report(loan_frame, tmp_path / "few.html", date="today", **options)
    found = data_of(path)
    assert found["rows"]["n"] == 10
    assert (found["rows"]["labels"][0], found["rows"]["labels"][-1]) == ("0", "199")
    assert found["rules"] is None
    assert found["counterfactuals"] is None
    assert "evenly spaced, from the 200 rows given" in text_of(path)


@pytest.mark.parametrize("kind", ["polars", "numpy"])
def test_any_frame_can_be_reported(kind, tmp_path):
    import polars as pl

    from illume import Explainer

    X = np.random.default_rng(0).normal(size=(60, 3))
    frame = X if kind == "numpy" else pl.DataFrame(X, schema=["a", "b", "c"])

    def model(rows):
        return np.where(np.asarray(rows)[:, 0] > 0, 0.9, 0.1)

    options = SurrogateOptions(encoder="identity")
    explainer = Explainer(model, contributions="pullback", surrogate_options=options).fit(frame)
    path = explainer.report(frame, tmp_path / "report.html", max_counterfactual_rows=3)
    assert data_of(path)["rows"]["labels"] is None
    assert "the function model" in text_of(path)

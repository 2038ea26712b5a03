"""What a report says about the model itself, where labels are known."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score, roc_auc_score

from illume import load
from illume.data.class_outputs import Classes
from illume.errors import BlackBoxError, SchemaError
from illume.report.drawings import round_numbers
from illume.report.truth import read_labels
from tests.report.common import data_of, text_of

FEW = {"rules": False, "counterfactuals": False}


@pytest.fixture(scope="module")
def loan_labels(loan_frame):
    return np.random.default_rng(4).choice(["grant", "refuse"], len(loan_frame))


def test_a_classifier_is_measured_as_by_scikit_learn(
    loan_explainer, loan_model, loan_frame, loan_labels, tmp_path
):
    path = loan_explainer.report(loan_frame, tmp_path / "report.html", y=loan_labels, **FEW)
    text, decided = text_of(path), loan_model.predict(loan_frame)
    assert f"the true class for {100 * accuracy_score(loan_labels, decided):.0f} %" in text
    area = roc_auc_score(loan_labels == "refuse", loan_model.predict_proba(loan_frame)[:, 1])
    assert f"AUC {area:.3f} for “refuse”" in text
    recall = recall_score(loan_labels, decided, labels=["grant", "refuse"], average=None)
    found = re.findall(r'class="share-right">(\d+)\xa0%', path.read_text("utf-8"))
    assert [int(share) for share in found] == [round(100 * one) for one in recall]
    assert "Calibration" in text
    assert 'href="#model"' in path.read_text("utf-8")


def test_the_model_is_measured_for_the_positive_class_and_at_the_threshold(
    loan_explainer, loan_model, loan_frame, loan_labels, tmp_path
):
    loan_explainer.save(tmp_path / "loans.illume")
    asked = load(tmp_path / "loans.illume", loan_model).set_params(positive_class="grant", threshold=0.2)
    path = asked.report(loan_frame, tmp_path / "report.html", y=loan_labels, **FEW)
    text, P = text_of(path), loan_model.predict_proba(loan_frame)[:, 0]
    assert f"AUC {roc_auc_score(loan_labels == 'grant', P):.3f} for “grant”" in text
    assert "The dot is the decision at the threshold 0.2" in text
    right = ((P >= 0.2) == (loan_labels == "grant")).mean()
    assert f"the true class for {100 * right:.0f} %" in text
    assert data_of(path)["rows"]["threshold"] == 0.2


def test_of_several_classes_each_has_its_curve(three_class_explainer, three_class, tmp_path):
    model, X = three_class
    y = np.roll(model.predict(X), 40)
    text = text_of(three_class_explainer.report(X, tmp_path / "report.html", y=y.tolist(), **FEW))
    for c, name in enumerate(model.classes_):
        assert f"{name}: {roc_auc_score(y == name, model.predict_proba(X)[:, c]):.3f}" in text


def test_a_regressor_is_measured_as_by_scikit_learn(limit_explainer, limit_model, loan_frame, tmp_path):
    y = limit_model.predict(loan_frame) + 1000 * np.random.default_rng(0).normal(size=len(loan_frame))
    text = text_of(limit_explainer.report(loan_frame, tmp_path / "report.html", y=pd.Series(y), **FEW))
    predicted = limit_model.predict(loan_frame)
    assert f"R² {r2_score(y, predicted):.3f}" in text
    assert f"a mean absolute error of {mean_absolute_error(y, predicted):,.0f}" in text
    assert "Residuals" in text


def test_of_several_numbers_all_are_measured_and_the_first_is_drawn(two_numbers, tmp_path):
    model, X, explainer = two_numbers
    text = text_of(explainer.report(X, tmp_path / "report.html", y=model.predict(X) + 0.1, **FEW))
    assert "size: R²" in text
    assert "weight: R²" in text
    assert "The charts show size." in text


def test_without_labels_there_is_no_such_section_but_a_word_on_how_to_get_it(loan_report):
    text = text_of(loan_report)
    assert "How right is the model itself?" not in text
    assert "report(X, y=labels)" in text


@pytest.mark.parametrize("y", [["no", "yes"], [0, 1], [0.0, 1.0], pd.Series([0, 1], index=[7, 3])])
def test_labels_may_have_the_names_that_the_model_gives_them(y):
    model = SimpleNamespace(classes_=np.array([0, 1]))
    assert read_labels(Classes(("no", "yes")), y, 2, model).tolist() == [0, 1]


def test_there_is_no_curve_of_one_class_alone(loan_explainer, loan_frame, tmp_path):
    path = loan_explainer.report(loan_frame.head(2), tmp_path / "a.html", y=["grant", "grant"], **FEW)
    assert "AUC" not in text_of(path)
    assert "Confusion matrix" in text_of(path)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["grant"] * 9, "y holds 9 labels, and there are 10 rows"),
        (
            ["grant"] * 9 + ["maybe"],
            "y holds 'maybe', which is none of the model's classes: 'grant', 'refuse'",
        ),
        (["grant"] * 8 + [None, float("nan")], "y is missing for 2 of 10 rows, first at position 8"),
        ("target", "y must hold the true answer to each row, found 'target'"),
        (np.zeros((10, 3)), r"y has shape \(10, 3\), expected \(10,\)"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_any_work(y, message, loan_explainer, loan_frame, tmp_path):
    with pytest.raises(SchemaError, match=message):
        loan_explainer.report(loan_frame.head(10), tmp_path / "no.html", y=y)
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_expected_for_numbers(limit_explainer, loan_frame, tmp_path):
    with pytest.raises(SchemaError, match="y holds 'much', and the model answers with numbers"):
        limit_explainer.report(loan_frame.head(2), tmp_path / "no.html", y=["much", "little"])


def test_labels_need_the_model(loan_explainer, loan_frame, loan_labels, tmp_path):
    loan_explainer.save(tmp_path / "loans.illume")
    with pytest.raises(BlackBoxError, match="load the explainer with its model"):
        load(tmp_path / "loans.illume").report(loan_frame, tmp_path / "no.html", y=loan_labels, **FEW)


def test_labels_in_place_of_the_path_are_pointed_to_y(loan_explainer, loan_frame, loan_labels):
    with pytest.raises(
        TypeError, match="path must be the name of a file, found ndarray; labels are given as"
    ):
        loan_explainer.report(loan_frame, loan_labels)


def test_the_default_path_replaces_no_file_and_a_given_path_nothing_but_html(
    loan_explainer, loan_frame, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("precious")
    for path in ("report-2.html", "report-3.html"):
        assert str(loan_explainer.report(loan_frame.head(5), **FEW)) == path
    assert (tmp_path / "report.html").read_text() == "precious"
    loan_explainer.report(loan_frame.head(5), "report.html", **FEW)
    assert (tmp_path / "report.html").read_text() != "precious"
    data = tmp_path / "loans.csv"
    data.write_text("precious")
    with pytest.raises(ValueError, match=r"loans\.csv must end in \.html or \.htm"):
        loan_explainer.report(loan_frame.head(5), data)
    assert data.read_text() == "precious"


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1e-9, 1e-9), (3, 3e12), (-7, 0.1)])
def test_ticks_are_few_and_inside(low, high):
    ticks = round_numbers(low, high)
    assert 1 <= len(ticks) <= 8
    hair = 1e-8 * (high - low)
    assert all(low - hair <= tick <= high + hair for tick in ticks)

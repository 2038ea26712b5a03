"""Which models are understood, what they are taken for, and which answers are refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Perceptron, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from illume import Explainer
from illume.data.class_outputs import Classes
from illume.data.number_outputs import Numbers
from illume.errors import BlackBoxError, LabelsOnlyWarning, OptionError
from tests.common import global_explainer
from tests.regression.conftest import numbers

X = numbers(140)


class PredictOnly:
    """A model with nothing but `predict`."""

    def __init__(self, function):
        self.function = function

    def predict(self, rows):
        return self.function(rows)


def line(rows) -> np.ndarray:
    return 2 * np.asarray(rows["a"], dtype=float) - np.asarray(rows["b"], dtype=float)


def outputs_of(model, rows=X, **options):
    """Return what a model is taken for by an explainer that asks no queries."""
    return global_explainer(model, **options).fit(rows).fitted_.outputs


def require_numbers(model, predict=None, rows=X, precision=1e-9, **options):
    """Require that the model is taken for numbers, and that explanations add up to them."""
    explainer = global_explainer(model, **options).fit(rows)
    found = explainer(rows[:9])
    assert isinstance(explainer.fitted_.outputs, Numbers)
    wanted = np.asarray((predict or model.predict)(rows[:9]), dtype=float).reshape(9, -1)
    np.testing.assert_allclose(found.predictions, wanted, rtol=1e-12)
    np.testing.assert_allclose(
        found.scores.reshape(9, -1), wanted, rtol=precision, atol=precision * np.ptp(wanted)
    )
    return found


ANSWERS = {
    "n": line,
    "n by 1": lambda rows: line(rows)[:, None],
    "n by 2": lambda rows: np.stack([line(rows), -line(rows)], axis=1),
    "a list": lambda rows: line(rows).tolist(),
    "single precision": lambda rows: line(rows).astype(np.float32),
    "a tensor": lambda rows: torch.tensor(line(rows)),
    "a series": lambda rows: pd.Series(line(rows), index=rows.index),
    "a series that may miss values": lambda rows: pd.Series(line(rows), dtype="Float64"),
    "a frame": lambda rows: pd.DataFrame({"price": line(rows)}, index=rows.index),
    "a polars series": lambda rows: pl.Series(line(rows)),
    "objects": lambda rows: line(rows).astype(object),
    "decimals": lambda rows: np.array([Decimal(str(each)) for each in line(rows)]),
    "whole numbers": lambda rows: np.round(100 * line(rows)).astype(int),
    "huge": lambda rows: 1e9 * line(rows),
    "tiny": lambda rows: 1e-9 * line(rows),
    "far from 0": lambda rows: 1e6 + line(rows),
    "two values": lambda rows: np.where(line(rows) > 0, 3.5, 1.25),
    "one constant of two": lambda rows: np.stack([line(rows), np.full(len(rows), 7.0)], axis=1),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_numbers_come_in_many_forms(kind):
    require_numbers(ANSWERS[kind], ANSWERS[kind])


def test_gradients_are_left_behind():
    require_numbers(lambda rows: torch.tensor(line(rows), requires_grad=True), line)


def test_regressors_of_scikit_learn():
    y = line(X)
    for model in (
        make_pipeline(StandardScaler(), Ridge()),
        TransformedTargetRegressor(Ridge(), func=np.arcsinh, inverse_func=np.sinh),
        RandomForestRegressor(5, random_state=0),
    ):
        require_numbers(model.fit(X, y))
    require_numbers(LinearRegression().fit(X, np.stack([y, -y], axis=1)))


def test_regressors_of_whole_numbers_or_of_0_and_1_stay_regressors():
    require_numbers(RandomForestRegressor(1, bootstrap=False, random_state=0).fit(X, line(X) > 0))


def test_boosting_libraries():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    model = xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(X, line(X))
    require_numbers(model, precision=1e-6)  # it answers in single precision
    model = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1).fit(X, line(X))
    require_numbers(model)
    require_numbers(model.booster_)


def test_catboost(tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(
        iterations=5, verbose=False, thread_count=1, train_dir=str(tmp_path), allow_writing_files=False
    )
    require_numbers(model.fit(X, line(X)))


@pytest.mark.parametrize("rows", [pl.from_pandas(X), X.to_numpy()], ids=["polars", "numpy"])
def test_rows_of_other_libraries(rows):
    model = Ridge().fit(rows if isinstance(rows, np.ndarray) else rows.to_numpy(), line(X))
    predict = lambda rows: model.predict(np.asarray(rows))  # noqa: E731
    require_numbers(predict, predict, rows)


def test_a_predict_only_object_is_asked_by_predict():
    assert require_numbers(PredictOnly(line)).outputs.names == ("prediction",)


@pytest.mark.parametrize("model", [LinearSVC(), Perceptron()], ids=["svc", "perceptron"])
@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [1.0, 2.0]], ids=["text", "whole", "float"])
def test_classifiers_without_probabilities_are_explained_by_their_decisions(model, labels):
    y = np.array(labels)[(line(X) > 0).astype(int)]
    with pytest.warns(LabelsOnlyWarning, match="decisions alone"):
        explainer = global_explainer(model.fit(X, y)).fit(X)
    found = explainer(X)
    assert explainer.class_names_ == tuple(map(str, labels))
    assert [row.prediction for row in found[:9]] == [str(each) for each in model.predict(X[:9])]
    assert set(np.unique(found.probabilities)) == {0.0, 1.0}


def test_labels_in_text_need_no_classes():
    decide = lambda rows: np.where(line(rows) > 0, "high", "low")  # noqa: E731
    for answers in (decide, lambda rows: decide(rows).astype(object), lambda rows: decide(rows).tolist()):
        with pytest.warns(LabelsOnlyWarning):
            assert outputs_of(answers) == Classes(("high", "low"), labels_only=True)


def test_labels_are_completed_by_class_names():
    decide = lambda rows: np.where(line(rows) > 0, "high", "low")  # noqa: E731
    with pytest.warns(LabelsOnlyWarning):
        assert outputs_of(decide, class_names=["low", "middle", "high"]).names == ("low", "middle", "high")
    with pytest.raises(BlackBoxError, match="the model answers with the labels"):
        outputs_of(decide, class_names=["a", "b", "c"])


def test_a_label_never_seen_before_is_refused_with_its_rows():
    with pytest.warns(LabelsOnlyWarning):
        explainer = global_explainer(lambda rows: np.where(line(rows) > 50, "odd", line(rows) > 0)).fit(X)
    rows = X[:3].copy()
    rows.loc[1, "a"] = 99.0
    with pytest.raises(BlackBoxError, match="'odd', which is none of the labels") as error:
        explainer(rows)
    assert error.value.rows == (1,)


def test_the_task_can_be_said():
    share = lambda rows: 1 / (1 + np.exp(-line(rows)))  # noqa: E731
    assert isinstance(outputs_of(share), Classes)
    assert isinstance(outputs_of(share, task="regression"), Numbers)
    counts = lambda rows: np.clip(line(rows).astype(int), 0, 2)  # noqa: E731
    with pytest.warns(LabelsOnlyWarning, match=r"DataOptions\(task='regression'\)"):
        assert outputs_of(counts).names == ("0", "1", "2")
    assert isinstance(outputs_of(counts, task="regression"), Numbers)
    assert isinstance(outputs_of(counts, output_names=["count"]), Numbers)  # which only numbers have
    with pytest.warns(LabelsOnlyWarning):
        levels = outputs_of(lambda rows: np.where(line(rows) > 0, 3.0, 1.0), task="classification")
    assert levels.names == ("1.0", "3.0")
    with pytest.raises(BlackBoxError, match="no probability"):
        outputs_of(line, task="classification")
    with pytest.raises(BlackBoxError, match="labels such as 'a', expected numbers"):
        outputs_of(lambda rows: ["a"] * len(rows), task="regression")


def at(value, *rows):
    """Return a model that answers some rows badly."""

    def predict(frame):
        answers = line(frame).astype(object if value is None else float)
        answers[np.isin(np.arange(len(answers)), rows)] = value
        return answers

    return predict


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_answers_that_are_no_numbers_are_refused_with_their_rows(value):
    with pytest.raises(BlackBoxError, match="the model answered N") as error:
        outputs_of(at(value, 3, 70))
    assert error.value.rows == (3, 70)


WRONG = {
    "one too few": lambda rows: line(rows)[1:],
    "three axes": lambda rows: line(rows)[:, None, None],
    "no columns": lambda rows: np.empty((len(rows), 0)),
    "one number": lambda rows: 3.0,
    "nothing": lambda rows: None,
    "transposed": lambda rows: line(rows)[None],
    "complex": lambda rows: line(rows) + 1j,
    "dates": lambda rows: (1e6 * line(rows)).astype("datetime64[s]"),
    "ragged": lambda rows: [[1.0] * (i % 2 + 1) for i in range(len(rows))],
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_shapes_and_types_are_refused(kind):
    with pytest.raises(BlackBoxError, match=r"expected|no array"):
        outputs_of(WRONG[kind])


def test_one_answer_for_all_rows_leaves_nothing_to_explain():
    with pytest.raises(BlackBoxError, match=r"answers 3\.00 for all 140 rows"):
        outputs_of(lambda rows: np.full(len(rows), 3.0))


def test_the_logarithm_needs_positive_numbers():
    with pytest.raises(BlackBoxError, match="link='log' needs numbers above 0") as error:
        outputs_of(lambda rows: np.where(np.arange(len(rows)) == 5, -1.0, np.exp(line(rows))), link="log")
    assert error.value.rows == (5,)
    with pytest.raises(BlackBoxError, match="the model answered 0, but"):
        outputs_of(at(0.0, *range(140)), link="log")


def test_names_must_fit_the_answers():
    with pytest.raises(BlackBoxError, match="output_names has 2 names, the model answers 1 number"):
        outputs_of(line, output_names=["a", "b"])
    with pytest.raises(BlackBoxError, match=r"class_names=.* is for models that answer with classes"):
        outputs_of(line, class_names=["a", "b"])
    proba = LinearSVC()
    proba.predict_proba = lambda rows: np.stack([1 - (line(rows) > 0), line(rows) > 0], axis=1) + 0.0
    with pytest.raises(OptionError, match=r"output_names=.* is for models that answer with numbers"):
        outputs_of(proba, output_names=["a"])
    with pytest.raises(OptionError, match="link='log' is for models that answer with numbers"):
        outputs_of(proba, link="log")
    with pytest.raises(ValueError, match="output_names must be a list of names, found 'price'"):
        outputs_of(line, output_names="price")
    with pytest.raises(ValueError, match="must be different from each other"):
        outputs_of(ANSWERS["n by 2"], output_names=["a", "a"])


def test_later_answers_must_be_like_the_first():
    width = [1]
    explainer = global_explainer(lambda rows: np.tile(line(rows)[:, None], width[0])).fit(X)
    width[0] = 2
    with pytest.raises(BlackBoxError, match="answered 2 numbers, expected 1"):
        explainer(X[:9])


def test_whole_numbers_that_only_many_made_up_rows_tell_from_labels_are_numbers():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 2)), columns=["a", "b"])

    def steps(frame):
        return (np.round(frame["a"] * 1.3) + np.round(frame["b"] * 1.5)).to_numpy().astype(int)

    explainer = Explainer(steps, effort="quick", queries=5_000)
    with pytest.warns(UserWarning, match="decisions alone|they are numbers") as told:
        explainer.fit(rows)
    assert "they are numbers" in str(told[-1].message)
    found = explainer(rows)
    np.testing.assert_allclose(found.base_values + found.values.sum(1), steps(rows), atol=1e-9)

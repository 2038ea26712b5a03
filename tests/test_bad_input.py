"""Each kind of bad input has its stated answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from illume import Explainer, LinearEncoder, Schema
from illume.encoders.pair_training import PairTrainer
from illume.encoders.training import Trainer
from illume.errors import BlackBoxError, SchemaError
from tests.common import FAST, grouped, linear_black_box, loans


@pytest.fixture
def never_trains(monkeypatch):
    def fail(*_):
        raise AssertionError("training began although the input is bad")

    monkeypatch.setattr(Trainer, "train_epoch", fail)
    monkeypatch.setattr(PairTrainer, "_step", fail)


def numbers(n=40, m=3):
    return np.random.default_rng(0).normal(size=(n, m))


def explainer_of(model, **settings):
    return Explainer(model, **grouped(**{"n_latents": 2, "queries": 50, "training": FAST} | settings))


def test_a_misspelt_column_is_named_with_the_nearest_match(loan_explainer):
    with pytest.raises(SchemaError, match="column 'income' is missing; the nearest column is 'incomes'"):
        loan_explainer(loans(3).rename(columns={"income": "incomes"}))


def test_an_unseen_category_is_named_or_ignored_by_choice(loan_explainer, loan_model, loan_frame):
    rows = loans(3).assign(education="doctorate")
    with pytest.raises(SchemaError, match="column 'education' holds 'doctorate'"):
        loan_explainer(rows)
    tolerant = explainer_of(loan_model, unknown="ignore").fit(loan_frame)
    attributions = tolerant(rows)
    assert np.isfinite(attributions.values).all()
    total = attributions.base_values + attributions.values.sum(1) + attributions.offset
    np.testing.assert_allclose(attributions.scores, total)


def test_strings_where_numbers_were_are_an_error(loan_explainer):
    with pytest.raises(SchemaError, match="column 'age' holds text such as 'forty'"):
        loan_explainer(loans(3).assign(age="forty"))


def test_infinite_values_are_an_error(loan_explainer, never_trains, loan_model):
    rows = loans(30).assign(income=np.inf)
    with pytest.raises(SchemaError, match="column 'income' holds inf in row 0"):
        loan_explainer(rows)
    with pytest.raises(SchemaError, match="column 'income' holds inf in row 0"):
        explainer_of(loan_model).fit(rows)


def test_constant_and_empty_columns_are_warned_of_and_attributed_nothing():
    X = pd.DataFrame(numbers(), columns=list("abc")).assign(one=3.0, none=np.nan, word="w")

    def model(frame):
        return linear_black_box([2, -1, 1])(frame[list("abc")])

    with pytest.warns(UserWarning, match="its attribution will be 0") as caught:
        explainer = explainer_of(model).fit(X)
    assert len([each for each in caught if "its attribution will be 0" in str(each.message)]) == 3
    later = X.assign(one=4.0, none=1.0, word="v")
    assert (explainer(later).values[:, 3:] == 0).all()


def test_columns_that_are_all_constant_are_refused():
    X = np.ones((20, 2))
    with (
        pytest.warns(UserWarning, match="only one value"),
        pytest.raises(SchemaError, match="no column varies"),
    ):
        explainer_of(lambda rows: np.arange(len(rows)) % 2 * 0.9).fit(X)


def test_an_empty_frame_gives_an_empty_result_of_the_right_shapes(loan_explainer, three_class_explainer):
    empty = loan_explainer(loans(5).iloc[:0])
    assert empty.values.shape == (0, 4)
    assert empty.probabilities.shape == (0, 2)
    assert empty.slopes.shape == (0, 7)
    assert empty.importance.tolist() == [0] * 4
    assert len(empty.to_frame()) == len(empty.to_frame("long")) == 0
    assert "0 rows" in repr(empty)
    assert empty._repr_html_()
    assert list(empty) == []
    assert three_class_explainer(np.empty((0, 4))).values.shape == (0, 4, 3)


def test_one_row_and_one_feature_are_enough(loan_explainer):
    assert loan_explainer(loans(1)).values.shape == (1, 4)
    X = np.linspace(-2, 2, 40)[:, None]
    attributions = explainer_of(linear_black_box([3])).fit(X)(X)
    assert attributions.values.shape == (40, 1)
    assert attributions.agreed.mean() > 0.8


def test_a_model_of_one_answer_is_refused_before_training(never_trains):
    with pytest.raises(BlackBoxError, match="gives all 40 rows the same answer, '1' with probability"):
        explainer_of(lambda rows: np.full(len(rows), 0.9)).fit(numbers())


def failing(rows):
    raise RuntimeError("no GPU")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda rows: np.full(len(rows), np.nan), "NaN"),
        (lambda rows: np.full(3, 0.5), "expected"),
        (lambda rows: np.full((len(rows), 2), 0.7), "answers 0.700000000, 0.700000000 for all 40 rows"),
        (
            lambda rows: np.full((len(rows), 2), "yes"),
            "the model answered 2 values a row, expected one label",
        ),
        (failing, "the model raised RuntimeError on 40 rows: no GPU"),
    ],
)
def test_a_model_that_fails_is_refused_with_its_own_words(model, words, never_trains):
    with pytest.raises(BlackBoxError, match=words):
        explainer_of(model).fit(numbers())


def test_a_model_that_fails_later_leaves_the_explainer_whole(loan_frame, loan_model):
    explainer = explainer_of(loan_model).fit(loan_frame)
    before = explainer(loans(5)).values
    explainer.fitted_.black_box._ask = failing
    with pytest.raises(BlackBoxError, match="no GPU"):
        explainer(loans(5))
    explainer.fitted_.black_box._ask = lambda rows: np.full((len(rows), 3), 1 / 3)
    with pytest.raises(BlackBoxError, match="answered 3 classes, 2 when fitted"):
        explainer(loans(5))
    explainer.fitted_.black_box._ask = loan_model.predict_proba
    np.testing.assert_array_equal(explainer(loans(5)).values, before)


def test_a_fit_that_fails_keeps_the_earlier_fit(loan_frame, loan_model):
    explainer = explainer_of(loan_model).fit(loan_frame)
    before = explainer(loans(5)).values
    with pytest.raises(SchemaError):
        explainer.fit(loan_frame.iloc[:3])
    np.testing.assert_array_equal(explainer(loans(5)).values, before)


def test_fewer_than_ten_rows_are_refused(never_trains):
    with pytest.raises(SchemaError, match="at least 10 rows, found 9"):
        explainer_of(linear_black_box([1, 1, 1])).fit(numbers(9))


def test_ten_rows_are_enough():
    assert explainer_of(linear_black_box([1, 1, 1])).fit(numbers(10))(numbers(10)).values.shape == (10, 3)


def test_before_fit_there_is_a_clear_error():
    with pytest.raises(NotFittedError):
        explainer_of(linear_black_box([1, 1, 1]))(numbers())


def test_a_surrogate_without_weights_is_refused(never_trains):
    explainer = explainer_of(linear_black_box([1, 1, 1]), surrogate=KNeighborsClassifier()).fit(numbers())
    with pytest.raises(ValueError, match="has no coef_; use a linear classifier"):
        explainer.fit_latents()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_latents": 0}, "n_latents must be 'auto' or a positive integer, found 0"),
        ({"n_latents": "many"}, "found 'many'"),
        ({"queries": -1}, "queries must be .auto., an integer, 0 or more, or a time"),
        ({"unknown": "drop"}, "unknown must be 'error' or 'ignore'"),
        ({"validation_size": 0.4, "report_size": 0.3}, "at most 0.5 together"),
        ({"validation_size": 0}, "must be positive"),
        ({"encoder": "pca"}, "'pca' is not known; choose one of"),
        ({"objective": "best"}, "objective 'best' is not known"),
        ({"surrogate": "tree"}, "a tree gives no attributions"),
        ({"schema": Schema(()), "categorical": ["x0"]}, "either a schema or categorical"),
        ({"surrogate": "forest"}, "choose 'logistic'"),
        ({"tree": LogisticRegression()}, "gives no rules; use 'tree'"),
        ({"search": "fast"}, "search must be .exact. or .index., found .fast."),
        ({"rule_objective": "best"}, "objective 'best' is not known"),
        ({"encoder": LinearEncoder(2), "rule_objective": "so"}, "brings its own objective"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_model_is_asked(settings, words):
    with pytest.raises(ValueError, match=words):
        explainer_of(failing, **settings).fit(numbers())

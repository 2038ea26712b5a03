import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from illume import Explainer
from illume.data import black_box as module
from illume.data.black_box import BlackBox
from illume.data.frames import as_frame
from illume.errors import BlackBoxError
from tests.common import loans

FRAME = as_frame(np.arange(12.0).reshape(6, 2))


def answer_of(answer):
    return BlackBox(lambda rows: answer)(FRAME)


def test_one_column_is_the_probability_of_the_second_class():
    p = np.linspace(0, 1, 6)
    for answer in (p, p[:, None], torch.tensor(p, requires_grad=True)):
        np.testing.assert_allclose(answer_of(answer), np.column_stack([1 - p, p]))


def test_the_model_is_asked_with_the_users_own_kind_of_frame():
    asked = []
    rows = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    BlackBox(lambda frame: asked.append(frame) or np.full(len(frame), 0.5))(as_frame(rows))
    pd.testing.assert_frame_equal(asked[0], rows)


def test_it_is_asked_in_batches_and_rows_are_counted(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    sizes = []
    black_box = BlackBox(lambda rows: sizes.append(len(rows)) or np.full(len(rows), 0.5))
    assert black_box(FRAME).shape == (6, 2)
    assert sizes == [4, 2]
    assert black_box.n_asked == 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.array([0.5, np.nan, 0.5, 0.5, 0.5, 0.5]), "NaN or infinity; failing rows: 1"),
        (np.full(5, 0.5), r"6 rows with shape \(5,\), expected \(6, n_classes\)"),
        (np.full((6, 2, 2), 0.5), r"shape \(6, 2, 2\)"),
        (np.full((6, 2), 0.4), "sum to 0.8, not to 1; .*; failing rows: 0, 1"),
        (np.full(6, 1.5), "answered 1.5, which is no probability"),
        (np.array([0, 1, 0, 1, 0, 1]), "labels such as"),
        (np.array(list("ababab")), "labels such as .*'a'"),
        (np.array([[-1.0, 2.0]] * 6), "no probability; .*failing rows: 0"),
        (np.array([[0], [1], [0], [1], [0], [1]]), "labels such as"),
        ([[0.5, 0.5], [1.0]], "is no array"),
        (np.empty(0, dtype=object), "labels, expected"),
    ],
)
def test_what_is_no_probability_is_refused(answer, words):
    with pytest.raises(BlackBoxError, match=words):
        answer_of(answer)


def test_the_models_own_words_are_kept():
    def broken(rows):
        raise KeyError("income")

    with pytest.raises(BlackBoxError, match="the model raised KeyError on 6 rows: 'income'") as caught:
        BlackBox(broken)(FRAME)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Ridge(), "a Ridge is a regressor; illume explains classifiers"),
        ("model.pkl", "a str cannot be asked; pass an object with predict_proba"),
    ],
)
def test_what_is_no_classifier_is_refused_at_once(model, words):
    with pytest.raises(BlackBoxError, match=words):
        BlackBox(model)


@pytest.mark.parametrize("kind", [Pipeline, LogisticRegression, dict])
def test_a_class_in_the_place_of_a_model_is_refused_as_such(kind):
    words = rf"the model {kind.__name__} is a class; pass an instance that has been fitted"
    with pytest.raises(BlackBoxError, match=words):
        BlackBox(kind)
    with pytest.raises(BlackBoxError, match=words):
        Explainer(kind).fit(loans(20))


def test_a_model_whose_predict_gives_probabilities_will_do():
    class Keras:
        def predict(self, rows):
            return np.full((len(rows), 3), 1 / 3)

    assert BlackBox(Keras())(FRAME).shape == (6, 3)


def test_a_model_whose_predict_gives_labels_is_refused_even_where_they_are_floats():
    class Machine:
        def predict(self, rows):
            return (rows[:, 0] > 4).astype(float)

    with pytest.raises(BlackBoxError, match="predict answers with labels"):
        BlackBox(Machine())(FRAME)


def test_a_model_that_changes_its_number_of_classes_is_refused(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    with pytest.raises(BlackBoxError, match=r"\[2, 4\] classes by turns"):
        BlackBox(lambda rows: np.full((len(rows), len(rows)), 1 / len(rows)))(FRAME)


def test_class_names_are_the_models_the_users_or_numbers():
    class Named:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, rows):
            return np.full((len(rows), 2), 0.5)

    assert BlackBox(Named()).names(2) == ("no", "yes")
    assert BlackBox(Named(), ["bad", "good"]).names(2) == ("bad", "good")
    assert BlackBox(lambda rows: rows).names(3) == ("0", "1", "2")
    with pytest.raises(BlackBoxError, match="class_names has 1 names, the model has 2 classes"):
        BlackBox(Named(), ["bad"]).names(2)

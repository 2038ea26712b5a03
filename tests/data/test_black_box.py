import time
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from illume import Explainer
from illume.data import black_box as module
from illume.data.black_box import BlackBox, OutputRequest
from illume.data.frames import as_frame
from illume.errors import BlackBoxError, LabelsOnlyWarning
from tests.common import loans

FRAME = as_frame(np.arange(12.0).reshape(6, 2))


def answer_of(answer, task="auto"):
    return BlackBox(lambda rows: answer, OutputRequest(task))(FRAME)


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


def test_rows_are_counted_where_several_threads_ask():
    class Yielding(type(FRAME)):
        """A frame that lets other threads go on whenever its rows are counted."""

        def __len__(self):
            time.sleep(0)
            return super().__len__()

    frame = Yielding(**vars(FRAME))
    black_box = BlackBox(lambda rows: np.full(len(rows), 0.5))
    black_box(frame)

    def ask():
        for _ in range(100):
            black_box(frame)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert black_box.n_asked == (1 + 4 * 100) * 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.array([0.5, np.nan, 0.5, 0.5, 0.5, 0.5]), "NaN or infinity; failing rows: 1"),
        (np.full(5, 0.5), r"6 rows with shape \(5,\), expected \(6,\), or \(6, c\)"),
        (np.full((6, 2, 2), 0.5), r"shape \(6, 2, 2\)"),
        (np.full((6, 2), 0.4), "sum to 0.8, not to 1; .*; failing rows: 0, 1"),
        (np.full(6, 1.5), "answered 1.5, which is no probability"),
        (np.tile([1.0002, 0.0007], (6, 1)), "probabilities sum to 1.0009, not to 1; .*; failing rows: 0, 1"),
        (np.tile([0.3, 1.7], (6, 1)), "answered 1.7, which is no probability"),
        (np.tile([1.7, -0.7], (6, 1)), "answered (1|-0).7, which is no probability"),
        (np.array([[-1.0, 2.0]] * 6), "no probability; .*failing rows: 0"),
        ([[0.5, 0.5], [1.0]], "is no array"),
        (np.empty(0, dtype=object), r"shape \(0,\), expected"),
    ],
)
def test_what_is_no_probability_is_refused(answer, words):
    with pytest.raises(BlackBoxError, match=words):
        answer_of(answer, "classification")


@pytest.mark.parametrize("answer", [np.full(6, 1.5), np.full((6, 2), 0.4), np.array([[-1.0, 2.0]] * 6)])
def test_what_is_no_probability_is_a_number(answer):
    black_box = BlackBox(lambda rows: answer)
    np.testing.assert_array_equal(black_box(FRAME), answer.reshape(6, -1))
    assert black_box.outputs.task == "regression"


@pytest.mark.parametrize("answer", [[0, 1, 0, 1, 0, 1], list("ababab"), [[False], [True]] * 3])
def test_decisions_count_as_certain_with_a_warning(answer):
    black_box = BlackBox(lambda rows: np.array(answer))
    with pytest.warns(LabelsOnlyWarning, match="decisions alone"):
        P = black_box(FRAME)
    np.testing.assert_array_equal(P, np.eye(2)[[0, 1] * 3])
    assert black_box.outputs.names == tuple(map(str, np.unique(answer)))
    np.testing.assert_array_equal(black_box(FRAME), P)  # without another warning


def test_the_models_own_words_are_kept():
    def broken(rows):
        raise KeyError("income")

    with pytest.raises(BlackBoxError, match="the model raised KeyError on 6 rows: 'income'") as caught:
        BlackBox(broken)(FRAME)
    assert isinstance(caught.value.__cause__, KeyError)


def test_what_is_no_model_is_refused_at_once():
    with pytest.raises(BlackBoxError, match="a str cannot be asked; pass an object with predict_proba"):
        BlackBox("model.pkl")


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


def test_floats_of_0_and_1_are_labels_of_predict_but_probabilities_of_a_callable():
    class Machine:
        def predict(self, rows):
            return (rows[:, 0] > 4).astype(float)

    with pytest.warns(LabelsOnlyWarning):
        P = BlackBox(Machine())(FRAME)
    named = BlackBox(Machine().predict, OutputRequest(class_names=["no", "yes"]))
    np.testing.assert_array_equal(named(FRAME), P)
    assert named.outputs.names == ("no", "yes")
    assert not named.outputs.labels_only


def test_a_model_that_changes_its_number_of_classes_is_refused(monkeypatch):
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    with pytest.raises(BlackBoxError, match=r"shapes \[\(2,\), \(4,\)\] by turns"):
        BlackBox(lambda rows: np.full((len(rows), len(rows)), 1 / len(rows)))(FRAME)


def test_class_names_are_the_models_the_users_or_numbers():
    class Named:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, rows):
            return np.full((len(rows), 2), 0.5)

    def names(model, given=None):
        black_box = BlackBox(model, OutputRequest(class_names=given))
        black_box(FRAME)
        return black_box.outputs.names

    assert names(Named()) == ("no", "yes")
    assert names(Named(), ["bad", "good"]) == ("bad", "good")
    assert names(lambda rows: np.full((len(rows), 3), 1 / 3)) == ("0", "1", "2")
    with pytest.raises(BlackBoxError, match="class_names has 1 names, the model has 2 classes"):
        names(Named(), ["bad"])


class Constant:
    def __init__(self, classes_):
        self.classes_ = np.array(classes_)

    def predict_proba(self, rows):
        return np.full((len(rows), 2), 0.5)


def test_two_classes_never_have_the_same_name():
    with pytest.raises(BlackBoxError, match=r"two classes of the model are called '1', among \['1', '1'\]"):
        BlackBox(Constant(classes_=["1", 1]))(FRAME)


@pytest.mark.parametrize("given", [["yes", "no"], ["yes", "maybe"], ["maybe", "no"]])
def test_class_names_cannot_exchange_the_models_classes(given):
    with pytest.raises(BlackBoxError, match=r"own classes_ are \['no', 'yes'\], in this order"):
        BlackBox(Constant(classes_=["no", "yes"]), OutputRequest(class_names=given))(FRAME)


def test_class_names_of_a_model_that_answers_with_labels_are_its_labels():
    black_box = BlackBox(lambda rows: np.array(list("ababab")), OutputRequest(class_names=["b", "a", "c"]))
    with pytest.warns(LabelsOnlyWarning):
        np.testing.assert_array_equal(black_box(FRAME), np.eye(3)[[1, 0] * 3])
    with pytest.raises(
        BlackBoxError, match=r"\['no', 'yes'\], the model answers with the labels \['a', 'b'\]"
    ):
        BlackBox(lambda rows: np.array(list("ababab")), OutputRequest(class_names=["no", "yes"]))(FRAME)


def whole(rows):
    """Count points: few values on rows of these two kinds, others on mixed rows."""
    return (3 * rows["a"] + 5 * rows["b"]).to_numpy().astype(int)


def two_kinds():
    kind = np.arange(60) % 2
    return as_frame(pd.DataFrame({"a": kind, "b": kind}))


def test_whole_numbers_that_take_new_values_on_mixed_rows_are_numbers():
    black_box = BlackBox(whole)
    assert np.unique(black_box(two_kinds())).tolist() == [0, 8]
    assert black_box.outputs.task == "regression"
    assert sorted(np.unique(black_box(as_frame(pd.DataFrame({"a": [0, 1], "b": [1, 0]}))))) == [3, 5]


def test_whole_numbers_that_take_no_new_values_or_may_not_be_mixed_are_labels():
    for model, mixes in ((lambda rows: (whole(rows) > 4) * 8, True), (whole, False)):
        black_box = BlackBox(model, mixes=mixes)
        with pytest.warns(LabelsOnlyWarning):
            black_box(two_kinds())
        assert black_box.outputs.task == "classification"


def test_a_model_that_fails_on_mixed_rows_answers_labels():
    def picky(rows):
        if (rows["a"] != rows["b"]).any():
            raise ValueError("no such rows")
        return whole(rows)

    black_box = BlackBox(picky)
    with pytest.warns(LabelsOnlyWarning):
        black_box(two_kinds())
    assert black_box.outputs.task == "classification"

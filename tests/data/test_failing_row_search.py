import pickle

import numpy as np
import pytest

from illume.data import black_box as module
from illume.data.black_box import BlackBox, OutputRequest
from illume.data.frames import as_frame
from illume.errors import BlackBoxError

CLASSES = OutputRequest("classification")


class Fragile:
    """A model of the first column that fails as it is told to, and keeps what it was asked about."""

    def __init__(self, fails):
        self.fails, self.asked = fails, []

    def __call__(self, rows):
        self.asked.append(len(rows))
        if self.fails(rows[:, 0], len(self.asked)):
            raise ValueError("no such row")
        return rows[:, 0] / 1000


def rows(n):
    return as_frame(np.arange(float(n))[:, None])


def test_a_model_that_fails_once_still_gives_every_answer():
    model = Fragile(lambda x, turn: turn == 1)
    P = BlackBox(model)(rows(9))
    np.testing.assert_array_equal(P[:, 1], np.arange(9) / 1000)
    assert model.asked == [9, 1, 4, 5]


def test_a_single_row_gets_a_second_chance_and_no_third():
    assert BlackBox(Fragile(lambda x, turn: turn == 1))(rows(1)).shape == (1, 2)
    model = Fragile(lambda x, turn: True)
    with pytest.raises(
        BlackBoxError, match="raised ValueError on 1 row: no such row; asked again, it failed again"
    ):
        BlackBox(model)(rows(1))
    assert model.asked == [1, 1]


def test_failing_rows_are_named_in_the_models_own_words():
    model = Fragile(lambda x, turn: np.isin(x, (3, 700, 998)).any())
    with pytest.raises(
        BlackBoxError, match=r"^the model raised ValueError: no such row; failing rows: 3, 700, 998$"
    ) as caught:
        BlackBox(model)(rows(1000))
    assert caught.value.rows == (3, 700, 998)
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(model.asked) < 3 * 2 * 10


def test_no_more_than_ten_failing_rows_are_looked_for():
    model = Fragile(lambda x, turn: (x % 3 == 1).any())
    with pytest.raises(BlackBoxError, match=r"failing rows: 1, 4, 7, 10, 13, 16, 19, 22, 25, 28 and more$"):
        BlackBox(model)(rows(4096))
    assert len(model.asked) < 200


def test_a_model_that_fails_on_everything_is_asked_a_few_times_only():
    model = Fragile(lambda x, turn: True)
    with pytest.raises(
        BlackBoxError, match="on 4,096 rows: no such row; asked about 5 of them one by one, it failed on each"
    ):
        BlackBox(model)(rows(4096))
    assert model.asked == [4096, 1, 1, 1, 1, 1]


def test_a_model_that_cannot_take_many_rows_at_once_is_asked_about_fewer_from_then_on():
    model = Fragile(lambda x, turn: len(x) > 100)
    black_box = BlackBox(model)
    assert len(black_box(rows(400))) == 400
    assert model.asked == [400, 1, 200, 100, 100, 200, 100, 100]
    model.asked.clear()
    assert len(black_box(rows(250))) == 250
    assert model.asked == [100, 100, 50]


@pytest.mark.parametrize("bad", [np.nan, 7.0])
def test_positions_are_those_of_the_whole_frame_and_not_of_a_batch(monkeypatch, bad):
    monkeypatch.setattr(module, "BATCH_ROWS", 8)
    with pytest.raises(BlackBoxError) as caught:
        BlackBox(lambda X: np.where(X[:, 0] == 19, bad, 0.5), CLASSES)(rows(30))
    assert caught.value.rows == (19,)
    with pytest.raises(BlackBoxError) as caught:
        BlackBox(Fragile(lambda x, turn: 19 in x))(rows(30))
    assert caught.value.rows == (19,)


def test_a_wrong_answer_found_while_halving_is_named_by_its_place():
    def model(X):
        if len(X) > 4:
            raise ValueError("too many")
        return np.where(X[:, 0] == 13, np.nan, 0.5)

    with pytest.raises(BlackBoxError, match=r"NaN or infinity; failing rows: 13$"):
        BlackBox(model)(rows(16))


def test_an_interrupt_is_no_failure_of_the_model():
    def model(X):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BlackBox(model)(rows(4))


def test_the_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(BlackBoxError("no", (1, 2), more=True)))
    assert (str(error), error.rows) == ("no; failing rows: 1, 2 and more", (1, 2))

import numpy as np
import pytest

from illume.encoders.base import as_probabilities


def test_labels_become_certain_probabilities():
    assert as_probabilities([2, 5, 9, 5]).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]


def test_probabilities_stay_as_they_are():
    P = np.array([[0.2, 0.3, 0.5], [1, 0, 0]])
    assert as_probabilities(P).tolist() == P.tolist()


@pytest.mark.parametrize("y", [[0.25, 0.5], [[0.25], [0.5]]])
def test_one_column_is_the_second_of_two_classes(y):
    assert as_probabilities(y).tolist() == [[0.75, 0.25], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("y", "words"),
    [([0.5, 7.25], "found 0.5 to 7.25"), ([[0.5, 0.6], [0.5, 0.5]], "rows that sum to 1")],
)
def test_what_is_neither_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        as_probabilities(y)

import numpy as np
import pytest

from illume.results.trust import Trust, typical_errors

VALUES = np.array([[3.0, 4.0]])


def level_of(error):
    return Trust.of(VALUES, np.full((1, 2), error)).level.tolist()


@pytest.mark.parametrize(
    ("error", "level"), [(0.0, "exact"), (0.5, "high"), (1.5, "fair"), (2.5, "low"), (np.nan, "unknown")]
)
def test_the_level_goes_by_what_errors_leave_of_the_contributions(error, level):
    assert level_of(error) == [level]


def test_share_is_of_the_squares_and_never_below_nothing():
    trust = Trust.of(np.tile(VALUES, (3, 1)), np.array([[1.0, 0.0], [0.0, 0.0], [60.0, 80.0]]))
    np.testing.assert_allclose(trust.share, [1 - 1 / 25, 1, 0])
    np.testing.assert_allclose(trust.contribution_error, [np.sqrt(0.5), 0, np.sqrt(5000)])


def test_contributions_of_nothing_are_exact_only_without_errors():
    trust = Trust.of(np.zeros((3, 2)), np.array([[0.0, 0.0], [0.1, 0.0], [np.nan, np.nan]]))
    assert trust.level.tolist() == ["exact", "low", "unknown"]


def test_several_outputs_are_one_figure_and_no_features_are_unknown():
    errors = np.array([[[1.0, 2.0], [2.0, 1.0]]])
    np.testing.assert_allclose(typical_errors(errors), [np.sqrt(2.5)])
    assert np.isnan(typical_errors(np.empty((2, 0)))).all()
    assert Trust.of(np.empty((0, 3)), np.empty((0, 3))).level.shape == (0,)


def test_rows_are_taken_one_by_one_as_together():
    errors = np.array([[0.0, 0.0], [1.5, 1.5], [9.0, 9.0]])
    trust = Trust.of(np.tile(VALUES, (3, 1)), errors)
    assert [str(trust[[i]].level[0]) for i in range(3)] == ["exact", "fair", "low"]

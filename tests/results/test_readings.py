"""What pictures and reports read off a result: columns, outputs, calibration, agreement by class."""

import numpy as np
import pytest

from illume.results.calibration import calibration, class_agreement
from illume.results.frames import UNKNOWN, feature_column
from illume.results.predictions import Labels
from tests.common import loans

LABELS = Labels(
    features=("size", "kind", "same"),
    inputs=("size", "kind = a", "kind = b", "kind = (missing)"),
    classes=("no", "yes"),
    owner=np.array([0, 1, 1, 1]),
    unit=np.ones(4),
)


def rows(*lines):
    data = np.empty((len(lines), 3), dtype=object)
    data[:] = lines
    return data


def test_a_number_is_read_as_a_number_and_nan_where_it_is_missing():
    found = feature_column(rows((1.5, "a", "z"), (None, "b", "z")), LABELS, 0)
    assert found.numeric
    np.testing.assert_array_equal(found.values, [1.5, np.nan])


def test_categories_are_read_as_positions_and_a_missing_one_has_its_own():
    found = feature_column(rows((1, "b", 0), (1, None, 0), (1, "a", 0)), LABELS, 1)
    assert found.categories == ("a", "b", "(missing)")
    np.testing.assert_array_equal(found.values, [1, 2, 0])


def test_a_category_that_was_never_seen_is_unknown_and_a_constant_column_keeps_its_text():
    data = rows((1, "new", "z"), (1, "a", "z"))
    assert feature_column(data, LABELS, 1).categories == ("a", "b", "(missing)", UNKNOWN)
    assert feature_column(data, LABELS, 2).categories == ("z",)


def test_the_column_of_a_batch_is_found_by_name_or_position(loan_explainer):
    batch = loan_explainer(loans(10, seed=2))
    np.testing.assert_array_equal(batch.column("age").values, batch.data[:, 0].astype(float))
    assert batch.column(-1).categories == ("high", "low", "middle")
    assert batch.top(2).column(0).name == batch.top(2).feature_names[0]


def test_contributions_to_an_output_are_a_plane_of_the_values(three_class_explainer, three_class):
    batch = three_class_explainer(three_class[1][:7])
    np.testing.assert_array_equal(batch.contributions("mid"), batch.values[:, :, 1])
    row = batch[2]
    np.testing.assert_array_equal(row.contributions("top"), batch.values[2, :, 2])
    np.testing.assert_array_equal(row.contributions(), batch.values[2, :, row.output])
    lines = row.lines(1, "top")
    total = sum(line.contribution for line in lines) + row.base_value[2]
    assert total == pytest.approx(float(row.score[2]))
    assert batch.top(1, "mid").feature_names[0] == batch.feature_names[batch.importance[:, 1].argmax()]


def test_calibration_groups_rows_by_the_surrogate_and_averages_the_black_box():
    found = calibration(np.array([0.0, 0.2, 0.9, 1.0]), np.array([0.05, 0.05, 0.95, 1.0]), "yes", 10)
    assert found.n_rows.tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.black_box[0] == pytest.approx(0.1)
    assert found.surrogate[-1] == pytest.approx(0.975)
    assert np.isnan(found.black_box[1:-1]).all()
    assert found.low[0] == pytest.approx(0.02)
    assert found.error == pytest.approx((0.05 + 0.025) / 2)


def test_a_surrogate_that_says_the_same_has_no_calibration_error():
    P = np.linspace(0, 1, 50)
    assert calibration(P, P, "yes").error == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(calibration(P[:0], P[:0], "yes").error)
    with pytest.raises(ValueError, match="n_bins must be a positive integer, found 0"):
        calibration(P, P, "yes", 0)


def test_agreement_by_class_is_a_share_with_an_interval_and_unknown_without_rows():
    found = class_agreement(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), ("a", "b", "c"))
    np.testing.assert_allclose(found.agreement, [2 / 3, 1.0, np.nan])
    low, high = found.interval
    assert (low[:2] <= found.agreement[:2]).all()
    assert (found.agreement[:2] <= high[:2]).all()
    assert (low[2], high[2]) == (0.0, 1.0)
    assert found.total == 0.75
    nobody = np.empty(0, dtype=int)
    assert np.isnan(class_agreement(nobody, nobody, ("a",)).total)


def test_the_calibration_of_a_batch_is_that_of_the_class_asked_for(loan_explainer):
    batch = loan_explainer(loans(60, seed=2))
    found = batch.calibration()
    assert found.name == "refuse"
    assert found.n_rows.sum() == 60
    expected = class_agreement(batch.decisions, batch.surrogate_decisions, batch.class_names)
    assert batch.class_agreement.total == expected.total == batch.agreed.mean()


def test_rules_know_their_rows(loan_explainer):
    frame = loans(8, seed=2)
    rules = loan_explainer.rules(frame)
    assert rules[3].value("education") == frame["education"].iloc[3]
    assert rules[2:5][0].value("age") == frame["age"].iloc[2]
    assert rules[0].feature("age").numeric

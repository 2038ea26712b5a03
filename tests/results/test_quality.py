"""Words of trust follow from the measured figures, and say no more."""

from dataclasses import replace

import numpy as np
import pytest

from illume.metrics.fidelity import Fidelity
from illume.results.diagnostics import calibration, class_agreement
from illume.results.quality import ClassQuality, ContributionQuality, SurrogateQuality
from illume.twin.training_run import EFFORTS, count_queries, next_effort
from tests.common import loans

MEASURED = ContributionQuality(0.95, 0.92, 0.97, 0.051, 0.94, 200, 4_000, 0.98)


@pytest.mark.parametrize(
    ("r2", "low", "n_rows", "word"),
    [
        (0.95, 0.92, 200, "high"),
        (0.9, 0.8, 20, "high"),
        (0.95, 0.79, 200, "fair"),
        (0.899, 0.85, 200, "fair"),
        (0.99, 0.98, 19, "fair"),
        (0.7, 0.5, 200, "fair"),
        (0.69, 0.6, 200, "low"),
        (0.85, 0.4, 200, "low"),
        (-1.0, -2.0, 200, "low"),
        (np.nan, np.nan, 1, "unknown"),
    ],
)
def test_the_word_follows_r2_and_its_interval(r2, low, n_rows, word):
    assert replace(MEASURED, r2=r2, low=low, n_rows=n_rows).word == word


@pytest.fixture
def quality(loan_measured):
    classes = (ClassQuality("grant", 0.81, 0.9, 100), ClassQuality("refuse", 0.99, 0.9, 300))
    changed = {"classes": classes, "contributions": MEASURED, "majority": 0.75, "surrogate": None}
    return replace(loan_measured.quality_, report=Fidelity(0.945, 0.9, 400), **changed)


@pytest.fixture
def latent():
    """The quality of a latent surrogate."""
    report, baseline = Fidelity(0.955, 0.91, 400), Fidelity(0.845, 0.6, 400)
    return SurrogateQuality(report, baseline, (), "meta", 8, False, "it is closer", 1.5)


def test_contributions_come_first_then_the_twin_with_its_worst_class(quality):
    answers, first, r2, error, coverage, more, *lines = repr(quality).splitlines()
    assert answers.endswith("probabilities of 2 classes: 'grant', 'refuse'")
    assert first == "Contributions: trust high; measured on 200 held-out rows"
    assert "0.950   95 % interval 0.920 to 0.970" in r2
    assert "0.051   in log-odds" in error
    assert "0.940   of 95 % intervals" in coverage
    assert "miss 5.0% of the variance" in more
    (twin,) = (line for line in lines if line.startswith("Twin: "))
    assert twin.startswith("Twin: a network; measured on 400 held-out rows (the model was not read: ")
    by_name = {line.split()[0]: line for line in lines}
    assert "agreement 0.945" in by_name["all"]
    low, high = quality.report.interval
    assert f"95 % interval {low:.3f} to {high:.3f}" in by_name["all"]
    assert by_name["grant"].endswith("the worst")
    assert "worst" not in by_name["refuse"]


def test_quality_speaks_of_what_users_know(quality, latent):
    assert "surrogate" not in repr(replace(quality, surrogate=None)).lower()
    text = repr(replace(quality, surrogate=latent))
    assert "Latent surrogate, behind slopes, latents and rules; 400 held-out rows" in text
    assert "the global surrogate, one for all rows, agrees on 0.845 (R² 0.600)" in text
    for local, words in (
        ("meta", "one linear model for every row"),
        ("identity", "one linear model for all"),
    ):
        assert f"it is {words}" in repr(replace(quality, surrogate=replace(latent, encoder=local)))
    for jargon in ("encoder", "alignment", "report row", "counterfactual"):
        assert jargon not in text


def test_contributions_of_a_model_that_was_read_are_exact(loan_explainer):
    quality = loan_explainer.quality_
    assert (quality.word, quality.exact, quality.contributions) == ("exact", True, None)
    assert (quality.agreement, quality.error) == (1.0, pytest.approx(0.0, abs=1e-9))
    text = repr(quality)
    assert "Contributions: exact, in log-odds of 'refuse' against 'grant'; read from the model" in text
    assert "Twin: the model itself" in text
    assert quality.more == quality.few == ""


def test_the_majority_is_the_share_of_the_most_common_decision(loan_measured):
    decisions = loan_measured.fitted_.rows.report.P.argmax(1)
    assert loan_measured.quality_.majority == np.bincount(decisions).max() / len(decisions)


def test_a_fall_back_and_ignored_columns_are_mentioned(quality, latent):
    text = repr(replace(quality, surrogate=replace(latent, fell_back=True), ignored=("owner", "noise")))
    assert "FELL BACK to the global surrogate" in text
    assert "the model ignores owner, noise" in text
    assert "FELL BACK" not in repr(replace(quality, surrogate=latent))
    many = repr(replace(quality, ignored=tuple("abcdefghij")))
    assert "the model ignores a, b, c, d, e, f, g, h and 2 more" in many


def test_figures_that_were_not_measured_are_called_unknown(quality, loan_pullback):
    text = repr(replace(quality, contributions=replace(MEASURED, r2=np.nan, low=np.nan, n_rows=1)))
    assert "trust unknown; too few held-out rows to measure it (1)" in text
    assert "of the variance" not in text
    assert loan_pullback.quality_.contributions is None
    assert "how true they are of the model is not measured" in repr(loan_pullback.quality_)


def test_more_effort_is_arithmetic(quality):
    step = next_effort("standard", 60, 50_000)
    standard, thorough = EFFORTS["standard"], EFFORTS["thorough"]
    assert step.name == "thorough"
    assert step.n_queries == count_queries(thorough, 60) == 1_250_000
    now, then = standard.training_operations(60, 50_000), thorough.training_operations(60, 1_250_000)
    assert step.ratio == pytest.approx(then / now)
    assert next_effort("thorough", 60, 1_250_000) is None
    assert "effort='standard' would learn from" in quality.more
    assert "highest effort" in replace(quality, effort="thorough", next_effort=None).more
    assert replace(quality, contributions=None).more == ""


@pytest.fixture(scope="module")
def measured(loan_measured):
    return loan_measured(loans(12, seed=4))


def test_a_row_shows_its_errors_and_how_many_signs_are_sure(measured):
    assert measured.kind == "shapley"
    one = measured[3]
    sure = int((np.abs(one.values) > 1.96 * one.standard_errors).sum())
    assert int(one.sure().sum()) == sure
    for text in (repr(one), one._repr_html_()):
        assert f"{one.values[0]:+.3f} ± {one.standard_errors[0]:.3f}" in text
        assert f"= {one.score:+.3f} (the model's)" in text.replace("&#x27;", "'")
        assert (
            f"in the contributions: {one.trust.level}; typical error {one.trust.contribution_error:.3f}"
            in text
        )
        assert f"the sign is sure (95 %) for {sure} of 4 features" in text
    typical = np.sqrt(np.square(measured.standard_errors).mean())
    assert f"; typical error {typical:.3f}" in repr(measured).splitlines()[1]


def test_prints_tell_signs_apart_and_mark_those_that_are_unsure(measured):
    errors = np.tile([0.5, 1.5, 0.0, 0.5], (len(measured), 1))
    values = np.tile([2.0, -2.0, 0.0, -1.0], (len(measured), 1))
    one = replace(measured, values=values, standard_errors=errors)[3]
    lines = {line.split()[0]: line for line in repr(one).splitlines()}
    names = one.feature_labels
    assert lines[names[0]].endswith("+2.000 ± 0.500    " + 20 * "█")
    assert lines[names[1]].endswith("-2.000 ± 1.500 ?  " + 20 * "▒")
    assert lines[names[2]].endswith(" 0.000")
    assert lines[names[3]].endswith("-1.000 ± 0.500    " + 10 * "▒")
    assert "the sign is sure (95 %) for 2 of 4 features; 1 the model ignores" in repr(one)
    assert "; ? stands where it is not" in repr(one)
    assert "; ? stands" not in repr(replace(measured, standard_errors=0 * errors)[3])


def test_errors_go_along_with_rows_features_frames_and_dictionaries(measured):
    errors, one = measured.trust.contribution_error, measured[3]
    np.testing.assert_allclose(errors, np.sqrt(np.square(measured.standard_errors).mean(1)), rtol=1e-6)
    np.testing.assert_array_equal(measured[2:5].trust.contribution_error, errors[2:5])
    np.testing.assert_array_equal(measured[2:5].standard_errors, measured.standard_errors[2:5])
    order = [measured.feature_names.index(name) for name in measured.top(2).feature_names]
    np.testing.assert_array_equal(measured.top(2).standard_errors, measured.standard_errors[:, order])
    assert measured[2:5].kind == measured.top(2).kind == "shapley"
    np.testing.assert_array_equal(measured.to_frame()["contribution_error"], errors)
    assert measured.to_frame()["trust"].tolist() == measured.trust.level.tolist()
    assert one.to_dict()["trust"]["contribution_error"] == one.trust.contribution_error
    assert one.to_dict()["features"][0]["standard_error"] == one.standard_errors[0]
    assert measured.to_dict()["trust"]["contribution_error"] == errors.tolist()


def test_an_ignored_feature_is_exactly_zero_and_not_sure(measured):
    values, errors = measured.values.copy(), measured.standard_errors.copy()
    values[:, 2], errors[:, 2] = 0.0, 0.0
    one = replace(measured, values=values, standard_errors=errors)[0]
    assert "1 the model ignores, exactly 0" in repr(one)
    assert not one.sure()[2]


def test_pulled_back_rows_have_no_errors(pullback):
    assert np.isnan(pullback.standard_errors).all()
    assert np.isnan(pullback.trust.contribution_error).all()
    assert "±" not in repr(pullback[0]) + pullback[0]._repr_html_()
    assert "(the surrogate's)" in repr(pullback[0])
    assert "typical error" not in repr(pullback) + repr(pullback[0])
    assert pullback[0].to_dict()["features"][0]["standard_error"] is None


def test_pulled_back_results_of_the_global_surrogate_mention_it(measured, pullback, loan_pullback):
    assert pullback.fell_back == loan_pullback.quality_.surrogate.fell_back
    assert "fell back" not in repr(replace(measured, fell_back=True))  # contributions are not its own
    fallen = replace(pullback, fell_back=True)
    for text in (repr(fallen), repr(fallen[0]), fallen._repr_html_(), fallen[0]._repr_html_()):
        assert "fell back to the global surrogate" in text
    assert "fell back" not in repr(replace(pullback, fell_back=False))


def test_calibration_groups_rows_by_the_surrogate_and_averages_the_black_box():
    found = calibration(np.array([0.0, 0.2, 0.9, 1.0]), np.array([0.05, 0.05, 0.95, 1.0]), "yes", 10)
    assert found.n_rows.tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.black_box[0] == pytest.approx(0.1)
    assert found.surrogate[-1] == pytest.approx(0.975)
    assert np.isnan(found.black_box[1:-1]).all()
    assert found.low[0] == pytest.approx(0.02)
    assert found.error == pytest.approx((0.05 + 0.025) / 2)
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


def test_the_calibration_of_a_batch_is_that_of_the_requested_class(binary):
    found = binary.calibration()
    assert found.name == "refuse"
    assert found.n_rows.sum() == 60
    expected = class_agreement(binary.decisions, binary.surrogate_decisions, binary.class_names)
    assert binary.class_agreement.total == expected.total == binary.agreed.mean()

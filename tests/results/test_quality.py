"""The words of trust follow from what was measured, and say no more."""

from dataclasses import replace

import numpy as np
import pytest

from illume.metrics.fidelity import Fidelity
from illume.results.quality import ClassQuality, ContributionQuality
from illume.shapley.effort import EFFORTS, next_effort
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
    changed = {"classes": classes, "contributions": MEASURED, "fell_back": False, "majority": 0.75}
    return replace(loan_measured.quality_, report=Fidelity(0.945, 0.9, 400), **changed)


def test_contributions_come_first_then_agreement_beside_majority_and_worst_class(quality):
    first, r2, error, coverage, more, *_ = repr(quality).splitlines()
    assert first == "Contributions: trust high; measured on 200 held-out rows"
    assert "0.950   95 % interval 0.920 to 0.970" in r2
    assert "0.051   in log-odds" in error
    assert "0.940   of 95 % intervals" in coverage
    assert "miss 5.0% of the variance" in more
    majority, grant, refuse = (
        next(line for line in repr(quality).splitlines() if line.split()[:1] == [name])
        for name in ("majority", "grant", "refuse")
    )
    assert "0.750" in majority
    assert majority.endswith("always the most common decision")
    assert grant.endswith("the worst class")
    assert "worst" not in refuse
    assert "chose nothing" not in repr(quality)


def test_the_majority_is_the_share_of_the_most_common_decision(loan_measured):
    decisions = loan_measured.fitted_.rows.report.P.argmax(1)
    assert loan_measured.quality_.majority == np.bincount(decisions).max() / len(decisions)


def test_a_fall_back_and_ignored_columns_are_said(quality):
    said = repr(replace(quality, fell_back=True, ignored=("owner", "noise")))
    assert "FELL BACK to the global surrogate" in said
    assert "the model ignores owner, noise" in said
    assert "FELL BACK" not in repr(quality)
    many = repr(replace(quality, ignored=tuple("abcdefghij")))
    assert "the model ignores a, b, c, d, e, f, g, h and 2 more" in many


def test_what_was_not_measured_is_said(quality, loan_pullback):
    unknown = replace(MEASURED, r2=np.nan, low=np.nan, n_rows=1)
    said = repr(replace(quality, contributions=unknown))
    assert "trust unknown; 1 held-out rows are too few" in said
    assert "of the variance" not in said
    assert loan_pullback.quality_.contributions is None
    assert "how true they are of the model is not measured" in repr(loan_pullback.quality_)


def test_more_effort_is_arithmetic(quality):
    step = next_effort("standard", 60, 500_000)
    standard, thorough = EFFORTS["standard"], EFFORTS["thorough"]
    assert step.name == "thorough"
    assert step.n_queries == thorough.most_queries(60)
    assert step.ratio == pytest.approx(thorough.operations / standard.operations, rel=0.01)
    assert "effort='standard' with queries='auto' would learn from up to" in quality.more
    assert "highest effort" in replace(quality, effort="thorough", next_effort=None).more
    assert replace(quality, contributions=None).more == ""


def test_a_row_says_its_errors_and_how_many_signs_are_sure(loan_measured):
    batch = loan_measured(loans(12, seed=4))
    assert batch.kind == "shapley"
    np.testing.assert_allclose(
        batch.trust.contribution_error, np.sqrt(np.square(batch.standard_errors).mean(1)), rtol=1e-6
    )
    one = batch[3]
    sure = int((np.abs(one.values) > 1.96 * one.standard_errors).sum())
    assert int(one.sure().sum()) == sure
    for text in (repr(one), one._repr_html_()):
        assert f"{one.values[0]:+.3f} ± {one.standard_errors[0]:.3f}" in text
        assert f"= {one.score:+.3f} (the model's)" in text.replace("&#x27;", "'")
        assert f"a typical error of {one.trust.contribution_error:.3f}" in text
        assert f"the sign is sure (95 %) of {sure} of 4 features" in text
    typical = np.sqrt(np.square(batch.standard_errors).mean())
    assert f"typical error of a contribution: {typical:.3f}" in repr(batch)
    frame = batch.to_frame()
    np.testing.assert_array_equal(frame["trust_contribution_error"], batch.trust.contribution_error)
    assert one.to_dict()["trust"]["contribution_error"] == one.trust.contribution_error
    assert one.to_dict()["features"][0]["standard_error"] == one.standard_errors[0]
    assert batch.to_dict()["trust"]["contribution_error"] == batch.trust.contribution_error.tolist()
    np.testing.assert_array_equal(batch[2:5].trust.contribution_error, batch.trust.contribution_error[2:5])


def test_an_ignored_feature_is_exactly_zero_and_not_sure(loan_measured):
    one = loan_measured(loans(3))[0]
    values, errors = one.batch.values.copy(), one.batch.standard_errors.copy()
    values[:, 2], errors[:, 2] = 0.0, 0.0
    said = repr(replace(one, batch=replace(one.batch, values=values, standard_errors=errors)))
    assert "1 the model ignores, exactly 0" in said


def test_pulled_back_rows_have_no_errors(loan_pullback):
    batch = loan_pullback(loans(5))
    assert np.isnan(batch.trust.contribution_error).all()
    assert "±" not in repr(batch[0]) + batch[0]._repr_html_()
    assert "(the surrogate's)" in repr(batch[0])
    assert "typical error" not in repr(batch) + repr(batch[0])
    assert batch[0].to_dict()["features"][0]["standard_error"] is None


def test_results_of_the_global_surrogate_say_so(loan_measured):
    batch = loan_measured(loans(3))
    assert batch.fell_back == loan_measured.quality_.fell_back
    said = replace(batch, fell_back=True)
    for text in (repr(said), repr(said[0]), said._repr_html_(), said[0]._repr_html_()):
        assert "fell back to the global surrogate" in text
    assert "fell back" not in repr(replace(batch, fell_back=False))

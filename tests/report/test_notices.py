"""Warnings come exactly where they are due."""

from dataclasses import replace

import numpy as np
import pytest

from illume.metrics.fidelity import Fidelity
from illume.report.explained import Options, explain
from illume.report.notices import NOTE, WARNING, notices
from illume.report.summary import summary
from illume.report.thresholds import low_trust
from illume.results.quality import ClassQuality, ContributionQuality
from illume.results.trust import Novelty, Trust

FINE = Fidelity(0.99, 0.95, 400)
MEASURED = ContributionQuality(0.95, 0.92, 0.97, 0.051, 0.94, 200, 4_000, 0.98)


@pytest.fixture(scope="module")
def explained(loan_measured, loan_frame):
    return well_explained(loan_measured, loan_frame, np.full(20, 1e-9))


@pytest.fixture(scope="module")
def pulled_back(loan_pullback, loan_frame):
    return well_explained(loan_pullback, loan_frame, np.full(20, np.nan))


def well_explained(explainer, frame, error):
    fitted = explainer.fitted_
    rows = fitted.as_frame(frame.dropna().head(20))
    found = explain(fitted, rows, Options(rules=False, counterfactuals=False), verbose=False)
    sure = Trust(np.ones(20), np.zeros(20), np.full(20, 25), np.zeros(20), error)
    agreed = np.ones(20, dtype=bool)
    refinement = replace(found.attributions.refinement, agreed=agreed, neighbour=np.full(20, -1))
    inside = Novelty.empty(20, found.attributions.feature_names)
    attributions = replace(found.attributions, trust=sure, refinement=refinement, novelty=inside)
    return replace(found, attributions=attributions)


@pytest.fixture
def quality(loan_measured):
    classes = tuple(ClassQuality(name, 0.99, 0.95, 200) for name in ("grant", "refuse"))
    return replace(
        loan_measured.quality_,
        contributions=MEASURED,
        majority=0.6,
        report=FINE,
        baseline=Fidelity(0.9, 0.8, 400),
        classes=classes,
        encoder="meta",
        fell_back=False,
    )


def said(found, kind):
    return [notice.found for notice in found if notice.kind == kind]


def test_nothing_is_said_where_all_is_well(explained, quality):
    assert notices(explained, quality, None) == ()
    assert summary("a model", explained, quality).level == "high"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"report": Fidelity(0.7, 0.9, 400)}, "decides otherwise than the model on 30\xa0%"),
        ({"report": Fidelity(1.0, 0.9, 20)}, "Only 20 rows were kept aside"),
        ({"report": Fidelity(0.99, 0.3, 400)}, "explains little of the model's probabilities (R² 0.300)"),
        ({"classes": (ClassQuality("grant", 0.5, 0.1, 10),)}, "it agrees on “grant” (50\xa0% of 10)"),
        (
            {"classes": (ClassQuality("grant", np.nan, np.nan, 0),)},
            "None of the rows kept aside was decided as “grant”",
        ),
        ({"majority": 0.995}, "no more than always naming the most common decision would (99.5\xa0%)"),
        ({"contributions": replace(MEASURED, r2=0.5)}, "explain little of the model's own Shapley values"),
        ({"contributions": replace(MEASURED, r2=np.nan)}, "How true contributions are was not measured"),
        ({"contributions": replace(MEASURED, coverage=0.8)}, "holds the model's own value in 80\xa0%"),
    ],
)
def test_a_poor_fit_is_warned_of(change, words, explained, quality):
    (warning,) = said(notices(explained, replace(quality, **change), None), WARNING)
    assert words in warning


def test_a_simpler_model_that_does_as_well_is_named(explained, quality):
    (note,) = said(notices(explained, replace(quality, fell_back=True), None), NOTE)
    assert "share one linear surrogate" in note
    (note,) = said(notices(explained, replace(quality, baseline=Fidelity(1.0, 0.99, 400)), None), NOTE)
    assert "a single linear model for all rows did no worse" in note


def test_ignored_columns_are_named(explained, quality):
    (note,) = said(notices(explained, replace(quality, ignored=("owner", "age")), None), NOTE)
    assert note.startswith("The model ignores “owner” and “age”")


def test_of_pulled_back_contributions_it_is_said_that_their_truth_is_not_measured(pulled_back, quality):
    (note,) = said(notices(pulled_back, replace(quality, contributions=None), None), NOTE)
    assert "how true they are of the model is not measured" in note


def test_rows_of_low_trust_are_counted(explained, quality):
    attributions = explained.attributions
    size = np.sqrt(np.square(attributions.values[2]).mean())
    trust = Trust(
        np.r_[0.5, np.ones(19)],
        np.r_[0.0, 0.3, np.zeros(18)],
        attributions.trust.n_rows,
        np.zeros(20),
        np.r_[0.0, 0.0, 0.51 * size, np.zeros(17)],
    )
    doubtful = replace(explained, attributions=replace(attributions, trust=trust))
    assert np.flatnonzero(low_trust(doubtful.attributions)).tolist() == [0, 1, 2]
    (warning,) = said(notices(doubtful, quality, None), WARNING)
    assert warning.startswith("3 rows of 20 (15\xa0%) lie where trust is low")
    assert "typical error of more than half their size" in warning
    unknown = Trust.unknown(20)
    assert low_trust(replace(attributions, trust=unknown)).all()


def test_contributions_are_the_models_where_the_surrogate_decides_otherwise(explained, quality):
    agreed = np.r_[False, np.ones(19, dtype=bool)]
    refinement = replace(explained.attributions.refinement, agreed=agreed)
    changed = replace(explained, attributions=replace(explained.attributions, refinement=refinement))
    (note,) = said(notices(changed, quality, None), NOTE)
    assert note.startswith(
        "For 1 row the surrogate decides otherwise than the model. Contributions are the model's"
    )


def test_refined_and_unfaithful_rows_are_told_apart(pulled_back, quality):
    explained = pulled_back
    refinement = replace(
        explained.attributions.refinement,
        agreed=np.r_[False, False, np.ones(18, dtype=bool)],
        neighbour=np.r_[7, -np.ones(19, dtype=int)],
    )
    changed = replace(explained, attributions=replace(explained.attributions, refinement=refinement))
    found = notices(changed, quality, None)
    assert any(text.startswith("1 row could not be made to agree") for text in said(found, WARNING))
    assert any(
        text.startswith("For 1 row the surrogate first decided otherwise") for text in said(found, NOTE)
    )


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({}, "high", "explain 95\xa0% of the variance of the model's own Shapley values (R² 0.950"),
        ({"low": 0.79}, "fair", "mostly, not always"),
        ({"r2": 0.89}, "fair", "mostly, not always"),
        ({"r2": 0.6}, "low", "Do not rely on single explanations"),
        ({"r2": np.nan}, "unknown", "How true contributions are was not measured"),
    ],
)
def test_trust_follows_from_the_truth_of_contributions(change, level, words, explained, quality):
    for report in (FINE, Fidelity(0.6, 0.2, 500)):  # whatever the surrogate decides
        measured = replace(quality, report=report, contributions=replace(MEASURED, **change))
        found = summary("a model", explained, measured)
        assert found.level == level
        assert words in found.paragraphs[-1][1]
        assert "always naming the most common decision would on 60\xa0%" in found.paragraphs[-1][1]
        assert "It does worst on “grant”: 99\xa0% of 200 rows" in found.paragraphs[-1][1]


@pytest.mark.parametrize(
    ("measured", "level", "words"),
    [
        ((Fidelity(0.99, 0.9, 1000), 0.6), "fair", "mostly, not always"),
        ((Fidelity(0.97, 0.9, 1000), 0.98), "low", "Do not rely on single explanations"),
        ((Fidelity(0.95, 0.9, 12), 0.6), "uncertain", "measure on more rows"),
        ((Fidelity(0.6, 0.2, 500), 0.5), "low", "Do not rely on single explanations"),
        ((Fidelity(np.nan, np.nan, 0), np.nan), "unknown", "No rows were kept aside"),
    ],
)
def test_trust_in_pulled_back_contributions_is_fair_at_most(measured, level, words, pulled_back, quality):
    report, majority = measured
    changed = replace(quality, report=report, majority=majority, contributions=None)
    found = summary("a model", pulled_back, changed)
    assert found.level == level
    assert words in found.paragraphs[-1][1]
    assert "how true they are of the model was not measured" in found.paragraphs[-1][1]


def test_rows_outside_of_the_fit_are_told(explained, quality):
    attributions = explained.attributions
    features = np.zeros((20, len(attributions.feature_names)), dtype=bool)
    features[:2, 0] = True
    novelty = Novelty(features, np.zeros(20, dtype=bool), attributions.feature_names)
    flagged = replace(explained, attributions=replace(attributions, novelty=novelty))
    assert any("2 rows of 20" in notice.found for notice in notices(flagged, quality, None))

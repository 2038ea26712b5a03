"""Warnings come exactly where they are due."""

from dataclasses import replace

import numpy as np
import pytest

from illume.metrics.fidelity import Fidelity
from illume.report.explained import Options, explain
from illume.report.notices import NOTE, WARNING, notices
from illume.report.summary import summary
from illume.report.thresholds import low_trust
from illume.results.novelty import Novelty
from illume.results.quality import ClassQuality
from illume.results.trust import Trust

FINE = Fidelity(0.99, 0.95, 400)


@pytest.fixture(scope="module")
def explained(loan_explainer, loan_frame):
    rows = loan_explainer._checked(loan_frame.dropna().head(20))
    found = explain(loan_explainer, rows, Options(rules=False, counterfactuals=False))
    sure = Trust(np.ones(20), np.zeros(20), np.full(20, 25), np.zeros(20))
    agreed = np.ones(20, dtype=bool)
    refinement = replace(found.attributions.refinement, agreed=agreed, neighbour=np.full(20, -1))
    attributions = replace(found.attributions, trust=sure, refinement=refinement)
    return replace(found, attributions=attributions)


@pytest.fixture
def quality(loan_explainer):
    classes = tuple(ClassQuality(name, 0.99, 0.95, 200) for name in ("grant", "refuse"))
    return replace(
        loan_explainer.quality_,
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


def test_rows_of_low_trust_are_counted(explained, quality):
    attributions = explained.attributions
    trust = Trust(
        np.r_[0.5, np.ones(19)], np.r_[0.0, 0.3, np.zeros(18)], attributions.trust.n_rows, np.zeros(20)
    )
    doubtful = replace(explained, attributions=replace(attributions, trust=trust))
    assert np.flatnonzero(low_trust(doubtful.attributions)).tolist() == [0, 1]
    (warning,) = said(notices(doubtful, quality, None), WARNING)
    assert warning.startswith("2 rows of 20 (10\xa0%) lie where trust is low")
    unknown = Trust.unknown(20)
    assert low_trust(replace(attributions, trust=unknown)).all()


def test_refined_and_unfaithful_rows_are_told_apart(explained, quality):
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
    ("report", "level", "words"),
    [
        (Fidelity(0.97, 0.9, 1000), "high", "good account"),
        (Fidelity(0.9, 0.9, 200), "fair", "mostly, not always"),
        (Fidelity(0.95, 0.9, 12), "uncertain", "measure on more rows"),
        (Fidelity(0.6, 0.2, 500), "low", "Do not rely on single explanations"),
        (Fidelity(np.nan, np.nan, 0), "low", "No rows were kept aside"),
    ],
)
def test_the_summary_says_how_far_to_trust(report, level, words, explained, quality):
    found = summary("a model", explained, replace(quality, report=report))
    assert found.level == level
    assert words in found.paragraphs[-1][1]


def test_rows_outside_of_the_fit_are_told(explained, quality):
    attributions = explained.attributions
    features = np.zeros((20, len(attributions.feature_names)), dtype=bool)
    features[:2, 0] = True
    novelty = Novelty(features, np.zeros(20, dtype=bool), attributions.feature_names)
    flagged = replace(explained, attributions=replace(attributions, novelty=novelty))
    assert any("2 rows of 20" in notice.found for notice in notices(flagged, quality, None))

"""Warnings are given exactly when they are due."""

from dataclasses import replace

import numpy as np
import pytest

from illume.metrics.fidelity import Fidelity
from illume.report.sentences import NOTE, WARNING, find_notices, low_trust, summary
from illume.results.quality import ClassQuality, ContributionQuality, SurrogateQuality
from illume.results.trust import Novelty, Trust

FINE = Fidelity(0.99, 0.95, 400)
MEASURED = ContributionQuality(0.95, 0.92, 0.97, 0.051, 0.94, 200, 4_000, 0.98)


@pytest.fixture(scope="module")
def shapley(loan_measured, loan_frame):
    return flawless(loan_measured, loan_frame, np.full(20, 1e-9))


@pytest.fixture(scope="module")
def pullback(loan_pullback, loan_frame):
    return flawless(loan_pullback, loan_frame, np.full(20, np.nan))


def flawless(explainer, frame, error):
    """Attributions that nothing needs to be said about."""
    found = explainer(frame.dropna().head(20))
    agreed = np.ones(20, dtype=bool)
    inside = Novelty(np.zeros((20, len(found.feature_names)), dtype=bool), ~agreed, found.feature_names)
    changes = {"trust": Trust(error, 1.0 - error), "novelty": inside}
    if found.kind == "pullback":
        changes["refinement"] = replace(found.refinement, agreed=agreed, neighbour=np.full(20, -1))
    return replace(found, **changes)


@pytest.fixture
def quality(loan_measured):
    classes = tuple(ClassQuality(name, 0.99, 0.95, 200) for name in ("grant", "refuse"))
    return replace(
        loan_measured.quality_,
        exact=False,
        reason="it is neither trees nor linear",
        contributions=MEASURED,
        majority=0.6,
        report=FINE,
        classes=classes,
        ignored=(),
        surrogate=None,
    )


@pytest.fixture
def surrogate():
    told = {"encoder": "meta", "n_latents": 4, "fell_back": False, "reason": "", "seconds": 1.0}
    return SurrogateQuality(FINE, FINE, (), **told)


def texts(kind, attributions, quality):
    return [notice.found for notice in find_notices(attributions, quality, None) if notice.kind == kind]


def test_nothing_is_said_if_all_is_well(shapley, quality):
    assert find_notices(shapley, quality, None) == ()
    assert quality.word == "high"


def test_of_an_exact_twin_nothing_is_doubted(shapley, quality):
    exact = replace(quality, exact=True, contributions=None, report=Fidelity(1.0, 1.0, 10))
    assert find_notices(shapley, exact, None) == ()
    trust = summary("a model", shapley, 20, exact)[-1][1]
    assert trust.startswith("Contributions are exact: the model was read")
    assert "network" not in trust


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (WARNING, {"report": Fidelity(0.7, 0.9, 400)}, "disagrees with it on 30\xa0%"),
        (WARNING, {"report": Fidelity(1.0, 0.9, 20)}, "measured on only 20 held-out rows"),
        (WARNING, {"classes": (ClassQuality("grant", 0.5, 0.1, 10),)}, "agrees on “grant” (50\xa0% of 10)"),
        (WARNING, {"classes": (ClassQuality("grant", np.nan, np.nan, 0),)}, "was decided as “grant”"),
        (WARNING, {"majority": 0.995}, "always predicting the most common decision would (99.5\xa0%)"),
        (WARNING, {"contributions": replace(MEASURED, r2=0.5)}, "little of the model's own Shapley values"),
        (WARNING, {"contributions": replace(MEASURED, r2=np.nan)}, "contributions was not measured"),
        (WARNING, {"contributions": replace(MEASURED, coverage=0.8)}, "model's own value in only 80\xa0%"),
        (NOTE, {"ignored": ("owner", "age")}, "The model ignores “owner” and “age”"),
    ],
)
def test_a_poor_fit_gives_a_warning_and_what_is_good_to_know_a_note(kind, change, words, shapley, quality):
    (found,) = texts(kind, shapley, replace(quality, **change))
    assert words in found


def test_a_poor_surrogate_gives_a_warning_about_rules(shapley, quality, surrogate):
    assert find_notices(shapley, replace(quality, surrogate=surrogate), None) == ()
    poor = replace(surrogate, report=Fidelity(0.7, 0.4, 400))
    (found,) = texts(WARNING, shapley, replace(quality, surrogate=poor))
    assert "agrees with the model on 70\xa0% of the held-out rows (R² 0.400)" in found


def test_rules_of_low_precision_give_a_warning(shapley, quality, loan_explainer):
    rules = replace(loan_explainer.fit_rules().rule_quality_, precision=0.5)
    (notice,) = find_notices(shapley, quality, rules)
    assert "on average for 50\xa0% of the held-out rows" in notice.found


def test_rows_of_low_trust_are_counted(shapley, quality):
    share = np.r_[0.69, 0.2, np.ones(18)]
    doubtful = replace(shapley, trust=Trust(np.ones(20), share))
    assert low_trust(doubtful)[:4].tolist() == [True, True, False, False]
    (warning,) = texts(WARNING, doubtful, quality)
    assert warning.startswith("2 rows of 20 (10\xa0%) have low trust")
    assert "typical error of more than half their size" in warning


def test_where_few_queries_make_most_rows_doubtful_it_is_said_once_how_many_are_needed(shapley, quality):
    trust = Trust(np.full(20, 1e9), np.zeros(20))
    few = replace(quality, effort="quick", contributions=replace(MEASURED, n_rows=14), n_queries=20_000)
    (notice,) = find_notices(replace(shapley, trust=trust), few, None)
    assert notice.found.startswith("20 rows of 20")
    assert "about only 14 held-out rows" in notice.advice
    assert "fit with queries=80_000 or more (now 20_000)" in notice.advice
    assert "queries=80_000 would narrow them" in few.more
    (notice,) = find_notices(replace(shapley, trust=trust), quality, None)
    assert "queries" not in notice.advice, "errors were measured on 200 rows: more would not help"


def test_errors_that_are_not_known_are_not_called_large(shapley, quality):
    trust = Trust(np.full(20, np.nan), np.full(20, np.nan))
    (found,) = texts(WARNING, replace(shapley, trust=trust), quality)
    assert "the errors of their contributions are not known" in found


def test_rows_outside_of_the_fit_are_counted(shapley, quality):
    features = np.zeros((20, len(shapley.feature_names)), dtype=bool)
    features[:2, 0] = True
    novelty = Novelty(features, np.zeros(20, dtype=bool), shapley.feature_names)
    (warning,) = texts(WARNING, replace(shapley, novelty=novelty), quality)
    assert warning.startswith("2 rows of 20 (10\xa0%) are outside")


def test_pullback_rows_on_which_the_surrogate_disagrees_are_counted(pullback, quality):
    agreed = np.r_[False, False, np.ones(18, dtype=bool)]  # the first was refined, the second could not be
    neighbour = np.r_[7, -np.ones(19, dtype=int)]
    changed = replace(pullback, refinement=replace(pullback.refinement, agreed=agreed, neighbour=neighbour))
    quality = replace(quality, contributions=None)
    assert any(
        text.startswith("1 row could not be made to agree") for text in texts(WARNING, changed, quality)
    )
    assert any(text.startswith("For 1 row the surrogate first") for text in texts(NOTE, changed, quality))
    assert low_trust(changed)[:3].tolist() == [False, True, False]
    assert "how true they are of the model is not measured" in texts(NOTE, changed, quality)[0]


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({}, "high", "explain 95\xa0% of the variance of the model's own Shapley values (R² 0.950"),
        ({"low": 0.79}, "fair", "mostly, not always"),
        ({"r2": 0.89}, "fair", "mostly, not always"),
        ({"r2": 0.6}, "low", "Do not rely on single explanations"),
        ({"r2": np.nan}, "unknown", "The accuracy of contributions was not measured"),
    ],
)
def test_trust_follows_from_the_accuracy_of_contributions(change, level, words, shapley, quality):
    for report in (FINE, Fidelity(0.6, 0.2, 500)):  # whatever the network decides
        measured = replace(quality, report=report, contributions=replace(MEASURED, **change))
        assert measured.word == level
        trust = summary("a model", shapley, 20, measured)[-1][1]
        assert words in trust
        assert "always predicting the most common decision would agree on 60\xa0%" in trust
        assert "Its lowest agreement is on “grant”: 99\xa0% of 200 rows" in trust


def test_trust_in_pullback_contributions_is_not_known(pullback, quality):
    changed = replace(quality, contributions=None)
    trust = summary("a model", pullback, 20, changed)[-1][1]
    assert "how true they are of the model is not measured" in trust

"""How many queries a fit asks follows from data and effort, not from the clock."""

import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from illume.errors import FewQueriesWarning
from illume.twin import training_run
from illume.twin.training_run import EFFORTS, MOST_SECONDS, TIERS, affordable_queries, count_queries
from tests.common import grouped

ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
OPTIONS = grouped(effort="quick", encoder="identity", verbose=False, random_state=0)


def model(rows, seconds=0.0):
    time.sleep(seconds)
    return 1 / (1 + np.exp(-rows.sum(axis=1).to_numpy()))


@pytest.fixture
def small_tiers(monkeypatch):
    """Numbers of queries that a test can wait for."""
    monkeypatch.setattr(training_run, "TIERS", (120, 600))
    monkeypatch.setattr(training_run, "FOR_EACH_FEATURE", 1)
    monkeypatch.setitem(EFFORTS, "quick", training_run.Effort(600, 2e11, 128, 1_200, 48, 1e6))


def test_tiers_are_five_times_apart_and_grow_with_effort_and_features():
    assert all(high >= 5 * low for low, high in pairwise(TIERS))
    counts = [[count_queries(effort, m) for m in (5, 30, 100)] for effort in EFFORTS.values()]
    assert (np.diff(counts, axis=0) >= 0).all()
    assert (np.diff(counts, axis=1) >= 0).all()
    assert [row[0] for row in counts] == [50_000, 250_000, 1_250_000]
    assert count_queries(EFFORTS["quick"], 500) == 250_000  # each feature gets some
    assert count_queries(EFFORTS["thorough"], 500) == 250_000  # more would not fit into memory


def test_twice_as_slow_changes_nothing_unless_all_queries_take_minutes():
    fast = MOST_SECONDS / 50_000 / 2.1
    assert affordable_queries(50_000, fast) == affordable_queries(50_000, 2 * fast) == 50_000
    assert affordable_queries(50_000, 5 * fast) == 10_000


def test_a_busy_machine_learns_the_same_to_the_bit(small_tiers):
    found = [Explainer(lambda rows, s=s: model(rows, s), **OPTIONS).fit(ROWS) for s in (0.0, 0.005)]
    assert [each.quality_.n_queries for each in found] == [600, 600]
    for name in ("values", "standard_errors"):
        idle, busy = (getattr(each(ROWS[:9]), name) for each in found)
        np.testing.assert_array_equal(idle, busy)


def test_a_model_too_slow_for_its_tier_is_asked_less_and_that_is_said_with_seconds(small_tiers, monkeypatch):
    monkeypatch.setattr(training_run, "MOST_SECONDS", 1.0)
    slow = Explainer(lambda rows: model(rows, 0.005 * len(rows)), **OPTIONS)
    with pytest.warns(
        FewQueriesWarning, match=r"120 queries, because 600 would take about \d s; .*queries=600"
    ):
        fewer = slow.fit(ROWS).quality_.fewer
    assert (fewer.n_queries, fewer.wanted) == (120, 600)
    assert str(fewer) in repr(slow.quality_)
    assert slow.set_params(queries=200).fit(ROWS).quality_.fewer is None


def test_one_slow_call_is_not_a_slow_model(small_tiers, monkeypatch):
    monkeypatch.setattr(training_run, "MOST_SECONDS", 1.0)
    calls = []

    def starts_slowly(rows):
        calls.append(len(rows))
        return model(rows, 0.6 if len(calls) == 1 else 0.0)

    quality = Explainer(starts_slowly, **OPTIONS).fit(ROWS).quality_
    assert (quality.n_queries, quality.fewer) == (600, None)


def test_the_few_features_that_a_model_uses_are_found_among_many():
    X = np.random.default_rng(0).normal(size=(500, 100))

    def few(rows):
        rare = (rows[:, 40] > 1) & (rows[:, 60] > 1)  # which single changes of a few rows hardly show
        return 1 / (1 + np.exp(-2 * rows[:, 3] * rows[:, 7] - 4 * rare))

    explainer = Explainer(few, effort="quick", queries=100_000, verbose=False).fit(X)
    values = explainer(X).values
    assert (np.delete(values, [3, 7, 40, 60], axis=1) == 0).all()
    assert (values[:, [3, 7, 40, 60]] != 0).any(0).all()

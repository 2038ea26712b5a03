"""The benchmark of wide data: choosing and reporting share no data, and figures are what they are called."""

import json
import sys

import numpy as np
import pytest
from benchmarks.wide_data import CHOOSING, KINDS, REPORTED, problem

from benchmarks import records, wide


def test_nothing_is_reported_on_what_it_was_chosen_by():
    assert not {seed for _, seed in CHOOSING} & {seed for _, seed in REPORTED}
    assert {kind for kind, _ in REPORTED} > {kind for kind, _ in CHOOSING}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_drawn_by_the_seed_and_both_classes_come_up(kind):
    m = 80
    draws = [KINDS[kind](m, rng)(200, rng) for rng in map(np.random.default_rng, (1, 1, 2))]
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    np.testing.assert_array_equal(draws[0][1], draws[1][1])
    assert not np.array_equal(draws[0][1], draws[2][1])
    X, logits = draws[0]
    assert X.shape == (200, 4 if kind == "categories" else m)
    assert 0.2 < (logits > np.median(logits)).mean() < 0.8


@pytest.mark.parametrize("kind", ["sparse", "categories"])
def test_fresh_rows_are_none_of_the_fitted_ones(kind):
    found = problem(kind, 7, 40, (120, 30), "mlp")
    assert (len(found.rows), len(found.fresh)) == (120, 30)
    assert found.model.predict_proba(found.fresh).shape == (30, 2)
    if kind == "sparse":
        assert not np.isin(found.fresh[:, 0], found.rows[:, 0]).any()


@pytest.fixture
def lines(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "RESULTS", tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["wide", *words])
        wide.main()
        return [json.loads(line) for line in (tmp_path / "wide.jsonl").read_text().splitlines()]

    return run


def test_costs_are_recorded_for_both(lines):
    small = ("--latents", "2", "--rank", "3", "--steps-timed", "1", "--rows-timed", "8", "--rounds", "1")
    whole, low = lines("cost", "--sizes", "6", *small)
    assert (whole["rank"], low["rank"]) == (None, 3)
    assert whole["weights"] == 6 * 17 * 128 + 128 + 128 * 128 + 128 + 12 * 128 + 12, (
        "both hidden layers are 128 wide, and every input has 16 bins"
    )
    assert min(each["step_processor_ms"] for each in (whole, low)) > 0


def test_agreement_is_recorded_for_both(lines):
    small = (
        "--inputs",
        "12",
        "--rows",
        "150",
        "--fresh",
        "40",
        "--queries",
        "0",
        "--steps",
        "2",
        "--rank",
        "3",
    )
    only = ("--choose", "--kinds", "sparse", "--models", "mlp")
    whole, low = lines("agreement", *small, *only)
    assert (whole["maps"], low["maps"], low["rank"]) == ("whole", "low", 3)
    assert whole["chosen_by"]
    assert 0 <= low["agreement"] <= 1

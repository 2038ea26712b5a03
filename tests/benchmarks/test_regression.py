"""Regression: data sets, reference Shapley values, rules beside trees, counterfactuals and tables."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks.harness import run
from benchmarks.regression import case as cases
from benchmarks.regression import cells, data
from benchmarks.regression.case import Case, compute_reference, make_model
from benchmarks.regression.cells import Bench, contribution_figures, regression
from benchmarks.regression.counterfactuals import example_figures, our_figures
from benchmarks.regression.data import DEVELOPMENT, HELD_OUT, SOURCES, Source
from benchmarks.regression.page import tables
from benchmarks.regression.rules import TreeRules, interval_figures, rule_figures
from benchmarks.regression.speed import rows_per_second

GENERATED = [name for name, source in SOURCES.items() if not source.needs_folder]
WEIGHTS = np.array([3.0, -2.0, 0.0])
LEVELS = np.array([10.0, 0.0, -10.0])


def toy():
    """A line of three numbers and a category of three levels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    level = pd.Categorical.from_codes(rng.integers(3, size=400), ["low", "middle", "high"])
    return X.assign(level=level), X.to_numpy() @ WEIGHTS + LEVELS[level.codes]


class Line:
    """The function of the toy itself, called with encoded rows."""

    def __init__(self, encoding):
        self.encoding = encoding

    def predict(self, X):
        numbers = X[:, :3] * self.encoding.scale[:3] + self.encoding.mean[:3]
        return numbers @ WEIGHTS + X[:, 3:] @ LEVELS


@pytest.fixture
def line(monkeypatch, tmp_path):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setitem(data.SOURCES, "toy", Source(toy))
    monkeypatch.setattr(Case, "_fit_model", lambda self, X, y: Line(self.encoding))
    return Case("toy", "line", n_rows=8)


def by_hand(rows, background):
    """A sum gives each feature its own part, less the mean over the background."""

    def parts(frame):
        return np.column_stack(
            [frame[["a", "b", "c"]].to_numpy() * WEIGHTS, LEVELS[frame["level"].cat.codes]]
        )

    return parts(rows) - parts(background).mean(0)


def test_the_reference_of_a_line_is_its_parts(line):
    found = compute_reference(line)
    assert (found.how, found.noise) == ("enumeration", 0.0)
    np.testing.assert_allclose(found.values[:, :, 0], by_hand(line.explained, line.background), atol=1e-9)
    walked = compute_reference(line, most_queries=30_000)
    assert (walked.how, walked.noise < 0.01) == ("walks", True)
    np.testing.assert_allclose(walked.values[:, :, 0], by_hand(line.explained, line.background), atol=1.5)


def test_a_reference_is_computed_once(line, monkeypatch):
    first = line.reference()
    monkeypatch.setattr(cases, "compute_reference", None)
    np.testing.assert_array_equal(line.reference().values, first.values)


def test_a_positive_target_gets_a_model_of_positive_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.exponential(0.01, 60)
    assert (make_model("mlp", 0, 60, positive=True).fit(X, y).predict(3 * X) > 0).all()


@pytest.mark.parametrize("name", GENERATED)
def test_a_data_set_is_the_same_every_time(name):
    (X, y), (again, _) = SOURCES[name].make(), SOURCES[name].make()
    assert len(X) == len(y)
    assert np.isfinite(y).all()
    assert (y > 0).all() or not SOURCES[name].positive
    pd.testing.assert_frame_equal(X, again)


def test_no_data_set_is_for_development_and_held_out():
    assert not set(DEVELOPMENT) & set(HELD_OUT)
    assert {*DEVELOPMENT, *HELD_OUT} == set(SOURCES)
    assert len(HELD_OUT) >= 8


def test_rules_are_measured_on_other_rows_than_their_own():
    p = np.array([1.0, 2.0, 3.0, 9.0])
    covers = np.array([[True, True, True, True], [False, True, False, False]])
    found = interval_figures(covers, np.array([[0.0, 2.5], [2.0, 2.0]]), p, span=2.0)
    assert found["interval_coverage"] == pytest.approx(1 / 3)  # the second rule covers no other row
    assert (found["coverage"], found["covering"], found["own"]) == (0.5, 0.5, 1.0)
    assert found["width"] == 1.0  # of 2.5, at most the span, and 0


def test_intervals_of_leaves_hold_as_many_new_rows_as_wanted():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    p = np.where(X[:, 0] > 0.5, 10.0, 0.0) + rng.normal(0, 1 + X[:, 0], 4000)
    tree = TreeRules.fit(X[:2000], p[:2000], np.arange(600), leaves=2)
    found = tree.figures(X[2000:], p[2000:], 100.0, np.arange(2))
    assert found["interval_coverage"] == pytest.approx(0.9, abs=0.03)
    assert (found["conditions"], found["covering"]) == (1.0, 1.0)
    assert found["coverage"] == pytest.approx(0.5, abs=0.02)
    assert found["width"] == pytest.approx(2 * 1.645 * 1.5, rel=0.1)


class Known:
    """An explainer that gives a line its parts, every row the same rule, and examples of a wanted number."""

    quality_ = SimpleNamespace(r2=1.0)

    def __init__(self, case):
        self.case = case

    def fit_rules(self):
        return self

    def __call__(self, X, refine=0):
        values, P = by_hand(X, self.case.background), self.case.black_box.predict(X)[:, None]
        base = self.case.black_box.predict(self.case.background).mean()
        facts = {
            "values": values,
            "base_values": np.full(len(X), base),
            "standard_errors": np.ones(values.shape),
        }
        return SimpleNamespace(**facts, predictions=P, surrogate_predictions=P)

    def rules(self, X):
        n = len(X)
        facts = {
            "interval": np.tile([-1e9, 1e9], (n, 1)),
            "precision": np.ones(n),
            "n_conditions": np.ones(n),
        }
        return Batch([SimpleNamespace(covers=lambda frame: np.ones(len(frame), dtype=bool))] * n, facts)

    def counterfactuals(self, X, n, desired_range):
        examples = X.assign(a=X["a"] + 1.0).head(2)
        facts = {"found": np.arange(len(X)) < 2, "examples": examples, "n_asked": 5 * len(X)}
        return SimpleNamespace(row=np.array([0, 1]), **facts)


class Batch(list):
    def __init__(self, rows, facts):
        super().__init__(rows)
        vars(self).update(facts)


def test_true_contributions_score_one(line):
    found = contribution_figures(line, Known(line), "illume-refine-16")
    assert found["r2_unbiased"] == pytest.approx(1)
    assert (found["surrogate_r2"], found["top3"]) == (1.0, 1.0)
    assert found["sum_error"] < 1e-9


def test_rules_and_a_tree_are_measured_side_by_side(line):
    found = rule_figures(line, Known(line))
    assert (found["interval_coverage"], found["coverage"], found["own"]) == (1.0, 1.0, 1.0)
    assert found["width"] == pytest.approx(np.ptp(line.p_train))  # no end: the whole range
    assert found["tree_leaves"] == 2
    assert 0.7 < found["tree16_interval_coverage"] <= 1.0


def test_examples_count_where_the_model_agrees(line):
    answer = line.black_box.predict(line.explained.head(1)).item()
    found = our_figures(line, Known(line), line.explained, answer + 2.5, answer + 3.5)
    assert (found["in_range"], found["median_changes"], found["found"]) == (0.5, 1.0, 0.25)
    assert found["asked_per_row"] == 5
    assert example_figures(line, line.test.head(0), line.test.head(0), 0, 1)["in_range"] is None


def test_rows_are_added_until_the_time_is_up():
    sizes = []
    rate = rows_per_second(lambda X: sizes.append(len(X)), np.zeros((100, 2)), limit_s=1.0)
    assert sizes == [2, 5, 20, 80, 100]
    assert rate > 0


def test_cells_become_lines_and_tables(line, monkeypatch, tmp_path):
    monkeypatch.setitem(data.SPLITS, "heldout", ("toy",))
    monkeypatch.setitem(data.SPLITS, "all", ("toy",))
    monkeypatch.setattr(Bench, "fit", lambda self, **_: (Known(self.case), {"fit_s": 1.0, "fit_asks": 3}))
    options = {"split": "heldout", "models": ("xgb",), "parts": ("contributions", "rules"), "rows": 8}
    assert len(list(regression(**options))) == 3 + 5 * 2
    assert run("regression", regression(**options, seeds=1), tmp_path) == 0
    lines = [json.loads(text) for text in (tmp_path / "regression.jsonl").read_text().splitlines()]
    assert {line["setting"] for line in lines} == {*cells.SETTINGS["contributions"], "trained", "fresh"}
    found = {table.name: table for table in tables(tmp_path)}
    assert set(found) == {"regression-contributions", "regression-rules-trained", "regression-rules-fresh"}
    assert found["regression-contributions"].rows[0][0] == "toy, xgb"
    assert all(len(row) == len(table.head) for table in found.values() for row in table.rows)

"""Work grows in proportion to rows, and no faster: counted, not timed."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from illume import Explainer
from illume.data.class_outputs import Classes
from illume.encoders.estimators import TrainedEncoder
from illume.encoders.options import QUICK
from illume.explanations import neighbours
from illume.fit import trials
from illume.surrogates import selection
from tests.common import CHECKS, grouped

QUERIES = 50
QUESTION = Classes(("no", "yes")).question()


class Counting:
    """A model that knows how many rows it was asked about."""

    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))

    def during(self, call):
        before = self.rows
        call()
        return self.rows - before


def rows_of(n):
    return np.random.default_rng(0).normal(size=(n, 4))


def fitted(n, model=None):
    training = replace(QUICK, max_steps=3)
    settings = {"n_latents": 2, "queries": QUERIES, "training": training, "verbose": False}
    return Explainer(model or Counting(), **grouped(**settings)).fit(rows_of(n))


@pytest.fixture(scope="module")
def model():
    return Counting()


@pytest.fixture(scope="module")
def explainer(model):
    return fitted(1_000, model).fit_rules()


@pytest.mark.parametrize("n", [500, 2_000])
def test_a_fit_asks_once_about_every_row_and_about_no_more_queries(n):
    model = Counting()
    explainer = fitted(n, model)
    assert model.rows == explainer.quality_.n_asked == n + CHECKS + QUERIES


def test_rules_are_fitted_without_asking():
    model = Counting()
    explainer = fitted(300, model)
    assert model.during(explainer.fit_rules) == 0


@pytest.mark.parametrize("kind", ["__call__", "rules", "latents", "interactions"])
def test_an_explanation_asks_about_its_row_only(explainer, model, kind):
    for n in (50, 200):
        assert model.during(lambda n=n: getattr(explainer, kind)(rows_of(n))) == n


@pytest.mark.parametrize("kind", ["report", "explorer"])
def test_a_page_asks_about_each_row_once_and_about_what_it_searched(explainer, model, kind, tmp_path):
    X, page = rows_of(60), tmp_path / "page.html"
    write = getattr(explainer, kind)
    assert model.during(lambda: write(X, page, counterfactuals=False)) == len(X)
    n = 2 if kind == "report" else 3
    searched = model.during(lambda: explainer.counterfactuals(X, n=n)) - len(X)
    assert 0 < searched == model.during(lambda: write(X, page)) - len(X)


def test_counterfactuals_of_four_times_the_rows_ask_four_times_as_much(explainer, model):
    few = rows_of(40)
    asked = [model.during(lambda X=X: explainer.counterfactuals(X, n=1)) for X in (few, np.tile(few, (4, 1)))]
    assert 0 < 4 * asked[0] == asked[1]


def test_of_very_many_rows_a_surrogate_encodes_and_learns_from_some(explainer, monkeypatch):
    monkeypatch.setattr(selection, "MAX_ROWS", 100)
    monkeypatch.setattr(trials.validation_sample, "__defaults__", (40,))
    encoded, learned = [], []
    transform, grow = TrainedEncoder.transform, selection.DecisionTreeSurrogate.fit

    def counted(self, X):
        encoded.append(len(X))
        return transform(self, X)

    def counted_too(self, Z, P):
        learned.append(len(Z))
        return grow(self, Z, P)

    monkeypatch.setattr(TrainedEncoder, "transform", counted)
    monkeypatch.setattr(selection.DecisionTreeSurrogate, "fit", counted_too)
    trials.fit_surrogate(explainer.fitted_.local.encoder, "tree", explainer.fitted_.rows)
    assert len(explainer.fitted_.rows.training) == 700
    assert 50 <= max(learned) <= 100 + 2
    assert sum(encoded) <= 2 * (100 + 2) + 40


@pytest.mark.parametrize("n", [1_000, 4_000])
def test_what_a_row_is_compared_with_does_not_grow_with_the_training_rows(monkeypatch, n):
    monkeypatch.setattr(neighbours, "MOST", 100)
    X = rows_of(n)
    P = np.eye(2)[(X[:, 0] > 0).astype(int)]
    found = neighbours.Neighbours.of(X, X, QUESTION, (P, P), "exact")
    assert [len(search.vectors) for search in found.searches] == [100, 100]
    for c, rows in enumerate(found.valid):
        assert len(np.unique(rows)) == 100
        assert (P[rows].argmax(1) == c).all()
        assert np.diff(rows).max() < n / 8  # from all over the rows


def test_rows_that_are_kept_in_a_file_are_searched_whichever_were_searched_before(monkeypatch):
    monkeypatch.setattr(neighbours, "MOST", 100)
    X = rows_of(4_000)
    P = np.eye(2)[(X[:, 0] > 0).astype(int)]
    found, kept = neighbours.Neighbours.of(X, X, QUESTION, (P, P), "exact"), np.arange(3, 4_000, 10)
    rows = P[kept], found.alike[kept]
    again = neighbours.Neighbours.from_valid(X[kept], X[kept], QUESTION, rows, "exact")
    assert list(map(len, again.valid)) == [100, 100]


def test_a_few_training_rows_are_all_searched():
    X = rows_of(300)
    P = np.eye(2)[(X[:, 0] > 0).astype(int)]
    assert sum(map(len, neighbours.Neighbours.of(X, X, QUESTION, (P, P), "exact").valid)) == 300


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_a_fit_grows_in_proportion_to_rows():
    fitted(500)  # what is imported and kept once
    few, more, most = (peak_of(lambda n=n: fitted(n)) for n in (2_000, 8_000, 32_000))
    assert most - more <= 1.05 * 4 * (more - few)
    assert more > few


def test_memory_of_explaining_piece_by_piece_does_not_grow(explainer):
    def explain(n):
        for piece in explainer.stream(X[:n], chunk_rows=2_000):
            len(piece)

    X = rows_of(40_000)
    explain(4_000)
    few, many = peak_of(lambda: explain(10_000)), peak_of(lambda: explain(40_000))
    assert many <= 1.1 * few

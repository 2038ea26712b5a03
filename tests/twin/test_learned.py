"""The learned twin answers what every twin does, also against rows that it was not fitted against."""

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, SurrogateOptions, Training
from illume.data.frames import as_frame
from illume.twin.learned import LearnedTwin

SURROGATE = SurrogateOptions(n_latents=2, training=Training(max_epochs=2))


def log_odds(X):
    return (X["a"] + 1.5 * X["b"] * X["c"]).to_numpy()


@pytest.fixture(scope="module")
def case():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 4)), columns=["a", "b", "c", "unused"])
    options = {"queries": 30_000, "effort": "quick", "verbose": False, "surrogate_options": SURROGATE}
    fitted = Explainer(lambda rows: 1 / (1 + np.exp(-log_odds(rows))), **options).fit(X).fitted_
    assert isinstance(fitted.twin, LearnedTwin)
    return fitted, fitted.twin, X


def ask(fitted, X):
    frame = as_frame(X)
    return frame, fitted.encode(frame), fitted.black_box(frame)


def test_it_answers_nearly_like_the_model_and_values_add_up_to_the_model(case):
    fitted, twin, X = case
    frame, encoded, P = ask(fitted, X[:50])
    rows = twin.read(frame, encoded)
    assert np.corrcoef(twin.scores(rows)[:, 0], log_odds(X[:50]))[0, 1] > 0.98
    sums = twin.base_values + twin.values(rows, P).values.sum(1)
    np.testing.assert_allclose(sums[:, 0], log_odds(X[:50]), atol=1e-6)


def test_against_other_rows_values_change_as_the_formula_says_and_the_model_is_not_asked(case):
    fitted, twin, X = case
    frame, encoded, P = ask(fitted, X[:50])
    other, asked = ask(fitted, X[X["c"] > 1.0]), fitted.black_box.n_asked
    found = twin.against(*other)
    contributions = found.values(found.read(frame, encoded), P)
    assert fitted.black_box.n_asked == asked
    b, c = X["b"][:50].to_numpy(), X["c"][:50].to_numpy()
    means = X[X["c"] > 1.0][["a", "b", "c"]].mean()
    product = (X["b"] * X["c"])[X["c"] > 1.0].mean()
    # of b * c: half of what b changes before c does, and half of what it changes after
    wanted = 0.75 * (b * means["c"] - product + b * c - means["b"] * c)
    error = contributions.values[:, 1, 0] - wanted
    assert np.square(error).mean() < 0.1 * wanted.var()  # rows at the edge of what was learned
    assert not contributions.values[:, 3].any()
    assert (np.abs(error) <= 3 * contributions.errors[:, 1, 0] + 0.05).mean() > 0.9


def test_pairs_have_the_interaction_of_the_formula_and_add_up_to_contributions(case):
    fitted, twin, X = case
    frame, encoded, P = ask(fitted, X[:50])
    rows = twin.read(frame, encoded)
    found = twin.pairs(rows, P)
    assert found.features.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.values.sum(2), twin.values(rows, P).values[:, found.features])
    strength = np.abs(found.values).mean((0, 3))
    assert strength[1, 2] > 5 * max(strength[0, 1], strength[0, 2])
    assert (found.errors[:, 1, 2] > 0).all()
    assert twin.pairs(rows, P, most=2).features.shape == (2,)

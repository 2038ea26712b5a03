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


def test_errors_of_main_effects_hold_those_of_contributions_and_pairs(case):
    fitted, twin, X = case
    frame, encoded, P = ask(fitted, X[:40])
    rows = twin.read(frame, encoded)
    pairs, alone = twin.pairs(rows, P), twin.values(rows, P).errors[:, twin.model.coding.features]
    diagonal = np.einsum("njjc->njc", pairs.errors)
    assert (diagonal >= alone).all()
    assert (pairs.errors > 0).all()


@pytest.fixture(scope="module")
def explainer(case):
    X = case[2][:200]
    model = Explainer(
        lambda rows: 1 / (1 + np.exp(-log_odds(rows))), queries=4_000, effort="quick", verbose=False
    )
    return model.fit(X), X


def test_refining_goes_for_other_backgrounds_too(explainer):
    fitted, X = explainer
    others = X[X["c"] > 0.5]
    before, after = (fitted(X[:30], background=others, refine=n) for n in (0, 64))
    np.testing.assert_allclose(after.values.sum(1), before.values.sum(1), atol=1e-6)
    assert after.standard_errors[:, :3].mean() < 0.9 * before.standard_errors[:, :3].mean()
    product = X["b"] * X["c"]
    means, b, c = others.mean(), X["b"][:30], X["c"][:30]
    wanted = 0.75 * (b * means["c"] - product[X["c"] > 0.5].mean() + b * c - means["b"] * c)
    missed = [np.square(found.values[:, 1] - wanted).mean() for found in (before, after)]
    assert missed[1] < missed[0]


def test_interactions_and_reports_compare_with_other_rows_too(explainer, tmp_path):
    fitted, X = explainer
    others = X[X["c"] > 0.5]
    pairs, found = fitted.interactions(X[:5], background=others), fitted(X[:5], background=others)
    used = [found.feature_names.index(name) for name in pairs.feature_names]
    np.testing.assert_allclose(pairs.values.sum(2), found.values[:, used], atol=1e-6)
    options = {"rules": False, "counterfactuals": False, "date": "2026-01-01"}
    pages = [
        fitted.report(X[:5], tmp_path / f"{name}.html", background=rows, **options).read_text("utf-8")
        for name, rows in (("own", None), ("others", others))
    ]
    assert pages[0] != pages[1]


def test_the_word_of_all_rows_and_those_of_each_row_are_about_the_same_figure(explainer):
    fitted, X = explainer
    quality, trust = fitted.quality_.contributions, fitted(X).trust
    assert quality.word in ("high", "fair")
    assert trust.share.mean() > quality.r2 - 0.1
    assert (trust.level == "low").mean() < 0.1


def test_a_time_limit_says_that_it_gives_up_repeatability(case):
    X = case[2][:100]
    limited = Explainer(lambda rows: rows["a"].to_numpy(), effort="quick", queries="0.5 s", verbose=False)
    with pytest.warns(UserWarning, match=r"depends on how busy .* queries=\d+ repeats this one"):
        asked = limited.fit(X).quality_.n_queries
    assert 1_000 < asked <= 50_000
    with pytest.raises(ValueError, match="a time such as '60 s', found '60 minutes'"):
        limited.set_params(queries="60 minutes").fit(X)

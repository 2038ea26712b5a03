"""Models of few possible rows are asked about all of them, and explained exactly."""

from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, SurrogateOptions, Training, load

OPTIONS = {
    "verbose": False,
    "random_state": 0,
    "surrogate_options": SurrogateOptions(n_latents=2, training=Training(max_epochs=2)),
}


def binary(n, **shares):
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: (rng.random(n) < share).astype(float) for name, share in shares.items()})


def enumerated(score, rows, background):
    """Shapley values by all subsets, with every background row."""
    m, values = rows.shape[1], np.zeros(rows.shape)

    def worth(i, chosen):
        mixed = background.copy()
        for j in chosen:
            mixed.isetitem(j, np.full(len(mixed), rows.iloc[i, j], dtype=object))
        return score(mixed).mean()

    for i, j in product(range(len(rows)), range(m)):
        others = [k for k in range(m) if k != j]
        for size in range(m):
            for chosen in combinations(others, size):
                gain = worth(i, (*chosen, j)) - worth(i, chosen)
                values[i, j] += gain / (m * comb(m - 1, size))
    return values


def test_cough_and_fever_of_compare_xai_is_exact():
    X = binary(2_000, cough=0.5, fever=0.5)
    explainer = Explainer(lambda rows: 80.0 * rows["cough"] * rows["fever"], **OPTIONS).fit(X)
    background = X.iloc[explainer.fitted_.split.training]
    rows = pd.DataFrame({"cough": [0.0, 0.0, 1.0, 1.0], "fever": [0.0, 1.0, 0.0, 1.0]})
    cough, fever, both = (
        background["cough"].mean(),
        background["fever"].mean(),
        background.prod(axis=1).mean(),
    )
    found = explainer(rows)
    for i, (a, b) in enumerate(rows.to_numpy()):
        of_cough = 40 * ((a * fever - both) + (a * b - cough * b))
        of_fever = 40 * ((b * cough - both) + (a * b - a * fever))
        np.testing.assert_allclose(found.values[i], [of_cough, of_fever], atol=1e-4)
    assert not found.standard_errors.any()
    assert explainer.quality_.contributions.r2 == 1.0
    assert explainer.quality_.contributions.n_asked == 4


@pytest.mark.parametrize("missing", [False, True])
def test_categories_numbers_and_missing_values_are_as_by_all_subsets(missing):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"kind": rng.choice(list("xyz"), 400), "n": rng.choice([1.0, 5.0, 7.0], 400)})
    X["flag"], X["unused"] = rng.random(400) < 0.3, rng.normal(size=400)
    if missing:
        X.loc[::7, "n"] = np.nan

    def log_odds(rows):
        kind, n = np.asarray(rows["kind"]) == "x", np.nan_to_num(np.asarray(rows["n"], float), nan=-2.0)
        return 0.3 * n * kind + np.asarray(rows["flag"], float) * (1 - 0.2 * n) - 0.5

    explainer = Explainer(lambda rows: 1 / (1 + np.exp(-log_odds(rows))), **OPTIONS)
    with pytest.warns(UserWarning, match="ignores unused"):
        explainer.fit(X)
    background = X.iloc[explainer.fitted_.split.training]
    found = explainer(X[:20])
    wanted = enumerated(log_odds, X[:20], background)
    np.testing.assert_allclose(found.values, wanted, atol=2e-5)
    np.testing.assert_allclose(explainer(X[:20], refine=16).values, wanted, atol=2e-5)


def test_files_answer_the_same(tmp_path):
    X = binary(300, a=0.5, b=0.3, c=0.8)
    model = lambda rows: 1 / (1 + np.exp(-(rows["a"] + 2 * rows["b"] * rows["c"])))  # noqa: E731
    explainer = Explainer(model, **OPTIONS).fit(X)
    explainer.save(tmp_path / "saved.illume")
    loaded = load(tmp_path / "saved.illume", model=model)
    np.testing.assert_array_equal(loaded(X[:9]).values, explainer(X[:9]).values)


def test_what_columns_outside_the_features_decide_is_learned():
    X = binary(500, a=0.5)
    X["noise"] = np.random.default_rng(0).normal(size=500)
    explainer = Explainer(lambda rows: rows["a"] + rows["noise"], queries=2_000, effort="quick", **OPTIONS)
    assert explainer.fit(X).quality_.contributions.r2 != 1.0

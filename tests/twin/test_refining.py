"""Refining makes values truer, also of models that answer exactly 0 and 1, and counts what it leaves out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from illume import Explainer, SurrogateOptions, Training
from illume.twin import refiner
from tests.twin.test_tabulated import enumerated

OPTIONS = {
    "queries": 10_000,
    "effort": "quick",
    "verbose": False,
    "random_state": 0,
    "surrogate_options": SurrogateOptions(n_latents=2, training=Training(max_epochs=2)),
}


def test_of_nearest_neighbours_refined_values_are_nearer_to_those_of_all_subsets():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    model = KNeighborsClassifier(5).fit(X, X["a"] * X["b"] + X["c"] > 0)
    explainer = Explainer(model, **OPTIONS).fit(X)
    background = X.iloc[explainer.fitted_.split.training]
    rows = X.iloc[explainer.fitted_.split.report[:15]]
    scale = explainer.fitted_.twin.model.scale

    def score(mixed):
        return scale(model.predict_proba(mixed.astype(float)))[:, 0]

    wanted = enumerated(score, rows, background)
    before, after = (np.square(explainer(rows, refine=n).values - wanted).mean() for n in (0, 64))
    assert (model.predict_proba(X) == 0).any()
    assert after < before


@pytest.mark.parametrize("kept", [50, 10**6])
def test_intervals_of_refined_values_hold_those_against_all_background_rows(kept, monkeypatch):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(1_500, 2)), columns=list("ab"))
    monkeypatch.setattr(refiner, "KEPT_ROWS", kept)
    monkeypatch.setattr("illume.fit.shapley_values.KEPT_ROWS", kept)

    def model(rows):
        return 1 / (1 + np.exp(-(rows["a"] - 0.7 * rows["b"])))

    explainer = Explainer(model, **OPTIONS).fit(X)
    background, rows = X.iloc[explainer.fitted_.split.training], X[:200]
    wanted = (rows - background.mean()) * [1.0, -0.7]
    found = explainer(rows, refine=64)
    inside = np.abs(found.values - wanted) <= 1.96 * found.standard_errors
    assert inside.to_numpy().mean() > 0.9

"""Standard errors from few validation rows hold for new rows, and for every feature."""

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, SurrogateOptions, Training
from illume.twin.value_errors import NetworkRows, WalkEstimates, fit_errors

SIZES = np.geomspace(0.02, 1.0, 8)  # of the values of eight features
NOISE = 0.6  # of a walk, relative to them


def draw(rng, n, off):
    """Return true values, values that are off by errors of sizes (8,), and what they miss of the sum."""
    truth = rng.normal(size=(n, len(SIZES), 1)) * SIZES[:, None]
    values = truth + rng.normal(size=truth.shape) * off[:, None]
    return truth, values, (truth - values).sum(1)


@pytest.mark.parametrize(("n", "share"), [(10, 0.8), (40, 0.9), (150, 0.9)])
@pytest.mark.parametrize("own", [0.6, 1.0])
def test_stated_errors_are_the_true_ones_for_nine_of_ten_features(n, share, own):
    """`own` is the part of the errors that is known without asking; walks of the model are noisy."""
    rng, off = np.random.default_rng(n), 0.3 * SIZES
    ratios, inside = [], []
    for _ in range(30):
        truth, values, remainder = draw(rng, n, off)
        walk = np.broadcast_to(np.square(NOISE * SIZES)[:, None], truth.shape[1:])
        walked = truth + rng.normal(size=truth.shape) * np.sqrt(walk / 2)
        others, found, missed = draw(rng, 200, off)
        network = found + np.sqrt(own) * (others - found)
        known = NetworkRows(found, missed, network, np.zeros(others.shape))
        estimates = WalkEstimates(walked, np.broadcast_to(walk / 2, truth.shape), walk)
        model = fit_errors(values, remainder, estimates, known)
        truth, values, remainder = draw(rng, 400, off)
        values = values + remainder[:, None] * model.share
        stated = model.errors(values, remainder)
        true = np.square(truth - values)
        ratios.append(np.sqrt(np.square(stated).mean(0) / true.mean(0))[:, 0])
        inside.append((true <= 1.96**2 * np.square(stated)).mean((0, 2)))
    ratios = np.array(ratios)
    assert ((ratios > 0.6) & (ratios < 1.7)).mean() > share
    assert 0.7 < np.median(ratios) < 1.4
    assert 0.9 < np.mean(inside) <= 1.0


def fit(X, **options):
    surrogate = SurrogateOptions(n_latents=2, training=Training(max_epochs=2))
    usual = {"queries": 10_000, "effort": "quick", "verbose": False, "surrogate_options": surrogate}

    def model(rows):
        return 1 / (1 + np.exp(-rows.iloc[:, 0] * (1 + rows.iloc[:, -1])))

    return Explainer(model, random_state=0, **usual | options).fit(X)


def normal(n, names):
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, len(names))), columns=list(names))


def test_errors_are_not_a_multiple_of_values_where_few_rows_are_held_out():
    X = normal(130, "abc")
    found = fit(X)(X)
    ratio = found.standard_errors[:, 0] / np.abs(found.values[:, 0])
    assert np.isfinite(ratio).all()
    assert ratio.std() > 0.1 * ratio.mean()


def test_errors_of_a_handful_of_rows_are_not_measured():
    X = normal(30, "abc")
    found = fit(X)
    assert np.isnan(found(X).standard_errors[:, 0]).all()
    assert found.quality_.contributions.word == "unknown"


def test_copies_of_training_rows_measure_nothing():
    X = normal(60, "abc")
    explainer = fit(pd.concat([X] * 20, ignore_index=True))
    assert explainer.quality_.contributions.n_rows == explainer.quality_.report.n_rows == 0
    assert np.isnan(explainer(X).standard_errors[:, 0]).all()


def test_one_used_feature_has_no_error():
    X = normal(300, "ab").assign(c=0.0)
    X["c"] = np.random.default_rng(1).normal(size=300)

    def model(rows):
        return 1 / (1 + np.exp(-1 + 0.5 * np.square(rows["a"])))

    surrogate = SurrogateOptions(n_latents=2, training=Training(max_epochs=2))
    explainer = Explainer(model, queries=10_000, effort="quick", verbose=False, surrogate_options=surrogate)
    found = explainer.fit(X)(X[:20])
    training = X.iloc[explainer.fitted_.split.training]
    wanted = 0.5 * (np.square(training["a"]).mean() - np.square(X["a"][:20]))
    np.testing.assert_allclose(found.values[:, 0], wanted, atol=1e-6)
    assert not found.standard_errors.any()
    assert explainer.quality_.contributions.error == 0.0


def test_quality_says_how_far_each_feature_is_off():
    X = normal(800, "abc")
    measured = fit(X).quality_.contributions
    assert [each.name for each in measured.features] == ["a", "c"]
    assert all(each.standard_error > 0 for each in measured.features)
    assert np.mean([each.coverage for each in measured.features]) == pytest.approx(measured.coverage)

"""Other packages, on a black box whose right explanation is known."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from benchmarks.data import problem
from benchmarks.methods.attribution_peers import lime, shap
from benchmarks.methods.embeddings import pca
from benchmarks.methods.oracle import gradient
from benchmarks.methods.outcome import explained_classes


@dataclass(frozen=True)
class Linear:
    """A probability that is linear in the encoded row, as far as rows go."""

    weights: tuple[float, ...]

    def predict_proba(self, X):
        p = np.clip(0.5 + X @ np.array(self.weights), 0.0, 1.0)
        return np.column_stack([1 - p, p])


WEIGHTS = (0.04, -0.02, 0.0, 0.03)


@pytest.fixture(scope="module")
def linear():
    small = problem("seneca-rb-4+0-0", "truth", 0, "clean")
    return replace(small, model=Linear(WEIGHTS))


@pytest.fixture(scope="module")
def sign(linear):
    return np.where(explained_classes(linear) == 1, 1.0, -1.0)[:, None]


def test_lime_finds_the_slopes_of_the_explained_class(linear, sign):
    pytest.importorskip("lime")
    outcome = lime(linear, {"samples": 1000, "rows": 5}, "cpu")
    np.testing.assert_allclose(outcome.slopes, sign[:5] * WEIGHTS, atol=2e-3)
    np.testing.assert_allclose(outcome.slopes_of_one, np.tile(WEIGHTS, (5, 1)), atol=2e-3)


@pytest.mark.filterwarnings("ignore")  # the package's own
def test_kernel_shap_finds_the_contributions_of_the_explained_class(linear, sign):
    pytest.importorskip("shap")
    outcome = shap(linear, {"rows": 5}, "cpu")
    means = outcome.contributions_of_one - linear.X_test[:5] * WEIGHTS  # less the background's share
    np.testing.assert_allclose(means, np.broadcast_to(means[0], means.shape), atol=1e-8)
    np.testing.assert_allclose(outcome.contributions, sign[:5] * outcome.contributions_of_one, atol=1e-8)


def test_all_components_keep_all_distances(linear):
    train, test = pca(linear, {"k": 4}, "cpu").latents
    distance = np.linalg.norm(linear.X_test[0] - linear.X_train[0])
    assert np.linalg.norm(test[0] - train[0]) == pytest.approx(distance)


def test_the_gradient_at_the_row_is_that_of_the_score():
    rc = problem("seneca-rc-4+0-0", "truth", 0, "paper")
    slopes = gradient(rc, {}, "cpu").slopes / rc.encoding.scale
    rows, step = rc.test.to_numpy(float)[:50], 1e-6
    score = rc.model.classifier.expression.score
    moved = [score(rows + step * np.eye(4)[j]) - score(rows - step * np.eye(4)[j]) for j in range(4)]
    near = np.column_stack(moved) / (2 * step)
    smooth = np.abs(near).max(1) < 1e3  # near a pole a difference is no derivative
    assert smooth.any()
    np.testing.assert_allclose(slopes[:50][smooth], near[smooth], rtol=1e-3, atol=1e-4)

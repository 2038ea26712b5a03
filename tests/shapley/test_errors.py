"""Standard errors from few validation rows hold for new rows."""

import numpy as np
import pytest

from illume.shapley.value_errors import WalkEstimates, fit_errors

SIZES = np.geomspace(0.02, 1.0, 8)  # of the errors of eight features


def draw(rng, n):
    """Return true values, values that are off by errors of these sizes, and what they miss of the sum."""
    truth = rng.normal(size=(n, len(SIZES), 1)) * SIZES[:, None]
    values = truth + rng.normal(size=truth.shape) * 0.3 * SIZES[:, None]
    return truth, values, (truth - values).sum(1)


@pytest.mark.parametrize("n", [10, 25, 150])
def test_95_percent_intervals_of_new_rows_hold_the_truth_for_every_feature(n):
    rng, inside = np.random.default_rng(n), []
    for _ in range(30):
        truth, values, remainder = draw(rng, n)
        noise = np.full(truth.shape, 1e-6)
        found = fit_errors(values, remainder, WalkEstimates(truth, noise, noise))
        truth, values, remainder = draw(rng, 200)
        values = values + remainder[:, None] * found.share
        inside.append(np.abs(truth - values) <= 1.96 * found.errors(values, remainder))
    by_feature = np.mean(inside, axis=(0, 1, 3))
    assert 0.93 < by_feature.mean() < 0.985
    assert by_feature.min() > 0.85

"""Wide data: the explainer takes maps of low rank by itself, and explains as ever."""

import numpy as np
import pytest

import illume
from illume import Explainer, SurrogateOptions
from illume.encoders.estimators import RANK, WIDE
from tests.common import FAST, use_local

ROWS = np.random.default_rng(0).normal(size=(90, WIDE))


def curved(rows):
    return 1 / (1 + np.exp(-3 * rows[:, 0] * rows[:, 1] - rows[:, 2]))


@pytest.fixture(scope="module")
def wide():
    found = Explainer(
        curved, queries=0, verbose=False, surrogate_options=SurrogateOptions(n_latents=2, training=FAST)
    ).fit(ROWS)
    return use_local(found)  # so few rows of so many columns teach little


def test_maps_have_low_rank_by_themselves(wide):
    assert wide.fitted_.local.encoder.rank_ == RANK
    W = wide.fitted_.local.encoder.encode(ROWS).W
    varying = (W - W.mean(0)).reshape(-1, WIDE)
    assert np.linalg.matrix_rank(varying, tol=1e-8) <= RANK + 2 * 2, "a basis, and two scaled constants"


def test_contributions_add_up(wide):
    found = wide(ROWS)
    total = found.base_values + found.values.sum(1) + found.offset
    np.testing.assert_allclose(total, found.scores, rtol=1e-5, atol=1e-8)


def test_a_saved_one_explains_the_same(wide, tmp_path):
    wide.save(tmp_path / "wide.illume")
    loaded = illume.load(tmp_path / "wide.illume", model=curved)
    assert loaded.fitted_.pair.encoder.rank_ == RANK
    np.testing.assert_array_equal(loaded(ROWS[:9]).values, wide(ROWS[:9]).values)


def test_whole_maps_can_be_asked_for():
    explainer = Explainer(
        curved,
        queries=0,
        verbose=False,
        surrogate_options=SurrogateOptions(rank=None, n_latents=2, training=illume.Training(max_epochs=1)),
    )
    assert explainer.fit(ROWS[:, :20]).fitted_.local.encoder.rank_ is None


def test_a_rank_that_means_nothing_is_refused_before_the_model_is_asked():
    with pytest.raises(ValueError, match="rank must be 'auto', None"):
        Explainer(None, surrogate_options=SurrogateOptions(rank=0)).fit(ROWS)


def test_other_encoders_have_no_rank():
    fitted = Explainer(
        curved,
        queries=0,
        verbose=False,
        surrogate_options=SurrogateOptions(encoder="linear", rank=3, n_latents=2, training=FAST),
    )
    assert not hasattr(fitted.fit(ROWS[:, :5]).fitted_.local.encoder, "rank")

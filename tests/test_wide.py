"""Wide data: the explainer takes maps of low rank by itself, and explains as ever."""

import numpy as np
import pytest

import illume
from illume.encoders.estimators import RANK, WIDE
from tests.common import FAST, global_explainer, use_local

ROWS = np.random.default_rng(0).normal(size=(90, WIDE))


def curved(rows):
    return 1 / (1 + np.exp(-3 * rows[:, 0] * rows[:, 1] - rows[:, 2]))


def explainer_of(**settings):
    usual = {"encoder": "meta", "n_latents": 2, "training": FAST, "verbose": False}
    return global_explainer(curved, **usual | settings)


@pytest.fixture(scope="module")
def wide():
    return use_local(explainer_of().fit(ROWS))  # few rows of many columns teach little


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
    explainer = explainer_of(rank=None, training=illume.Training(max_epochs=1))
    assert explainer.fit(ROWS[:, :20]).fitted_.local.encoder.rank_ is None


def test_a_rank_that_means_nothing_is_refused_before_the_model_is_asked():
    with pytest.raises(ValueError, match="rank must be 'auto', None"):
        explainer_of(rank=0).fit(ROWS)


def test_other_encoders_have_no_rank():
    linear = explainer_of(encoder="linear", rank=3)
    assert not hasattr(linear.fit(ROWS[:, :5]).fitted_.local.encoder, "rank")

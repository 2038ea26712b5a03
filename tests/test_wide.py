"""Wide data: the explainer takes maps of low rank by itself, and explains as ever."""

import numpy as np
import pytest

import illume
from illume.encoders.base import IdentityEncoder
from illume.encoders.estimators import RANK, WIDE
from illume.encoders.options import PairObjective
from tests.common import FAST, brief_shapley, global_explainer, grouped, use_local

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


class Recorder(IdentityEncoder):
    """An encoder that keeps what it was given to learn from."""

    def fit(self, X, y=None, **options):
        Recorder.learned = X, y
        return super().fit(X, y, **options)


@pytest.mark.parametrize(("background", "n_mixed"), [(None, 1_000), (ROWS[:5, :4], 0)])
def test_the_encoder_learns_from_the_rows_that_shapley_values_ask_about(background, n_mixed):
    settings = {"queries": 3_000, "background": background, "encoder": Recorder(), "verbose": False}
    with brief_shapley():
        explainer = illume.Explainer(curved, **grouped(**settings)).fit(ROWS[:, :4]).fit_latents()
    fitted, encoding, (X, P) = explainer.fitted_, explainer.fitted_.encoding, Recorder.learned
    n_rows, n_queries = len(fitted.rows.training), len(fitted.queries())
    assert len(X) >= n_rows + n_queries + n_mixed
    assert n_mixed or len(X) == n_rows + n_queries
    by_twin = slice(n_rows, n_rows + n_queries)  # the model was not asked about these
    answers = np.delete(curved(X * encoding.scale + encoding.mean), by_twin)
    np.testing.assert_allclose(np.delete(P[:, 1], by_twin), answers, atol=1e-9)
    nothing = np.zeros(X[by_twin].shape, dtype=bool)
    scores = fitted.twin.scores(fitted.twin.read_encoded(encoding, X[by_twin], nothing))
    np.testing.assert_allclose(P[by_twin], fitted.outputs.answers_of(scores), atol=1e-6)


def test_the_network_leaves_out_inputs_without_effect():
    X = np.random.default_rng(1).normal(size=(600, 120))
    P = np.full((600, 2), 0.5)  # no input has an effect
    training = illume.Training(64, learning_rate=5e-3, max_epochs=8)
    objective = PairObjective()
    encoder = illume.MetaEncoder(1, rank=2, n_bins=0, objective=objective, training=training, verbose=False)
    encoder.fit(X, P)
    lengths = np.linalg.norm(encoder.weights_["layers.0.weight"], axis=0)
    assert np.median(lengths) < 0.01  # .99 where inputs cost nothing


@pytest.mark.slow
def test_the_surrogate_agrees_on_new_rows_of_wide_data():
    rows = np.random.default_rng(1).normal(size=(4_000, 300))
    explainer = illume.Explainer(curved, effort="quick", queries=30_000, verbose=False).fit(rows[:3_000])
    new = explainer.fitted_.encode(explainer.fitted_.as_frame(rows[3_000:])).X
    found = explainer.fitted_.pair.answers(new)[:, 1] > 0.5
    assert (found == (curved(rows[3_000:]) > 0.5)).mean() > 0.93

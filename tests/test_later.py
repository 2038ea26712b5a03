"""The latent surrogate and rules are trained when they are first asked for."""

import pickle

import numpy as np
import pytest

import illume
from illume import Explainer
from illume.data.later import Later
from illume.errors import LeftOutError
from tests.common import FAST, grouped, loans

SETTINGS = grouped(training=FAST, queries=300)


@pytest.fixture
def explainer(loan_model):
    return Explainer(loan_model, **SETTINGS).fit(loans(200))


def test_contributions_text_and_frames_train_nothing(explainer):
    found = explainer(loans(40))
    _ = str(found), str(found[0]), found.to_frame(), found[0].to_dict(), found.to_dict(), found.trust
    _ = explainer.interactions(loans(3)), explainer.quality_, list(found)
    assert not explainer.fitted_.latents.ready
    assert explainer.quality_.surrogate is None


def test_slopes_train_the_latent_surrogate_once(explainer):
    found = explainer(loans(40))
    assert found.slopes.shape == (40, explainer.fitted_.encoding.n_inputs)
    latent = explainer.fitted_.latents()
    assert explainer.quality_.surrogate is latent.quality
    _ = explainer.latents(loans(5)), explainer.rules(loans(5))
    assert explainer.fitted_.latents() is latent


def test_what_is_trained_later_is_the_same_in_any_order(loan_model):
    first, second = (Explainer(loan_model, **SETTINGS).fit(loans(200)) for _ in range(2))
    rules, slopes = first.rules(loans(30)), first(loans(30)).slopes
    later_slopes = second(loans(30)).slopes
    np.testing.assert_array_equal(slopes, later_slopes)
    assert list(map(str, rules)) == list(map(str, second.rules(loans(30))))


def test_a_file_holds_what_was_trained(explainer, loan_model, tmp_path):
    path = tmp_path / "loans.illume"
    explainer.save(path)
    loaded = illume.load(path, loan_model)
    np.testing.assert_array_equal(loaded(loans(9)).values, explainer(loans(9)).values)
    assert not loaded.fitted_.latents.ready  # it trains its own, from the rows in the file
    assert loaded.latents(loans(9)).Z.shape == explainer.latents(loans(9)).Z.shape
    explainer.save(path, rules=True)
    loaded = illume.load(path, loan_model)
    np.testing.assert_array_equal(loaded(loans(9)).slopes, explainer(loans(9)).slopes)
    assert list(map(str, loaded.rules(loans(9)))) == list(map(str, explainer.rules(loans(9))))


def test_copies_of_results_keep_what_was_read(explainer):
    found = explainer(loans(9))
    with pytest.raises(LeftOutError, match="slopes were not computed"):
        _ = pickle.loads(pickle.dumps(found)).slopes
    slopes = found.slopes
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.slopes, slopes)
    np.testing.assert_array_equal(copy[3].slopes, slopes[3])


def test_a_pickled_explainer_trains_as_the_original_does(explainer):
    copy = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(copy(loans(9)).slopes, explainer(loans(9)).slopes)


def test_a_later_value_is_made_once():
    made = []
    later = Later(lambda: made.append(1) or len(made))
    doubled = later.then(lambda n: 2 * n)
    assert not doubled.ready
    assert (doubled(), later(), doubled(), later()) == (2, 1, 2, 1)
    assert made == [1]


def test_trust_of_rows_and_of_the_batch_say_the_same(explainer, loan_measured):
    exact = explainer(loans(40))
    assert explainer.quality_.word == "exact"
    assert set(exact.trust.level) == {"exact"}
    assert "contributions are exact" in str(exact)
    learned = loan_measured(loans(40))
    usual = loan_measured.fitted_.usual_square
    assert usual > 0
    share = 1 - (learned.standard_errors**2).mean(1) / np.maximum((learned.values**2).mean(1), usual)
    np.testing.assert_allclose(learned.trust.share, share.clip(0, 1), rtol=1e-5)
    order = {"low": 0, "fair": 1, "high": 2}
    levels = np.array([order[level] for level in learned.trust.level])
    assert (np.diff(levels[np.argsort(share)]) >= 0).all()

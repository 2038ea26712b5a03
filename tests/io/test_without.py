"""What a loaded explainer can do without its model, without rows, and without rules."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load
from sklearn.tree import DecisionTreeClassifier

import illume
from tests.common import CLOSE, FAST, grouped
from tests.io.common import ARRAYS, members_of, same
from tests.io.conftest import steep


def test_without_the_model_the_surrogate_stands_in_and_results_say_so(small, small_file, numpy_rows):
    loaded, before = illume.load(small_file), small(numpy_rows)
    found = loaded(numpy_rows)
    assert loaded.model is None
    assert found.stand_in
    assert not before.stand_in
    assert found.agreed.all()
    assert found.probabilities.tobytes() == found.surrogate_probabilities.tobytes()
    assert found.surrogate_probabilities.tobytes() == before.surrogate_probabilities.tobytes()
    agreed = before.agreed
    assert found.values[agreed].tobytes() == before.values[agreed].tobytes()
    latents = repr(loaded.latents(numpy_rows[:3]))
    for shown in (repr(found), repr(found[0]), found._repr_html_(), found[0]._repr_html_(), latents):
        assert "without the model" in shown
    assert "without the black box" not in repr(small.latents(numpy_rows[:3]))
    assert found.to_dict()["stand_in"]
    assert found[0].to_dict()["stand_in"]
    assert found[:3].stand_in


def test_without_the_model_rules_are_for_the_surrogates_decisions(small_file, numpy_rows):
    loaded = illume.load(small_file)
    rules = loaded.rules(numpy_rows)
    assert np.array_equal(rules.decisions, loaded(numpy_rows).surrogate_decisions)
    assert "the decisions are the surrogate's own" in repr(rules)
    assert "the decisions are the surrogate's own" in repr(rules[0])
    assert rules[0].to_dict()["stand_in"]
    assert all(rule.covers(numpy_rows[[i]]).all() for i, rule in enumerate(rules))


def test_without_the_model_the_global_view_is_the_same_but_there_are_no_counterfactuals(
    small, small_file, numpy_rows
):
    assert same(small.rule_set(), illume.load(small_file).rule_set())
    with pytest.raises(illume.errors.BlackBoxError, match=r"use illume.load\(path, model=…\)"):
        illume.load(small_file).counterfactuals(numpy_rows)


def test_the_same_model_raises_no_warning(small, small_file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert illume.load(small_file, model=small.model).fitted_.black_box.model is small.model


def test_another_model_is_told_with_how_much_differs(small_file):
    with pytest.warns(
        illume.errors.ModelChangedWarning, match=r"on 42 of 42 stored rows.*42 are clearly different"
    ):
        illume.load(small_file, model=lambda rows: 1 - steep(rows))


def test_a_model_that_moves_by_less_than_the_tolerance_is_the_same(small, small_file):
    illume.load(small_file, model=lambda rows: small.model(rows) + 4e-7 * np.sign(0.5 - small.model(rows)))
    with pytest.warns(illume.errors.ModelChangedWarning, match="0 are clearly different"):
        illume.load(small_file, model=lambda rows: 0.999 * small.model(rows) + 0.0005)


def test_a_model_of_other_classes_or_columns_is_refused_with_the_file_named(small_file):
    with pytest.raises(illume.errors.BlackBoxError, match="answered 3 classes, 2 when fitted"):
        illume.load(small_file, model=lambda rows: np.full((len(rows), 3), 1 / 3))
    said = r"asked about \d+ rows of the file.* raised .*only integers"
    with pytest.raises(illume.errors.BlackBoxError, match=said) as found:
        illume.load(small_file, model=lambda rows: rows["no such column"])
    assert found.value.rows == ()


@pytest.fixture(scope="module")
def without_rows(loan_pullback, tmp_path_factory):
    path = tmp_path_factory.mktemp("none") / "none.illume"
    loan_pullback.save(path, rows="none", rules=True)
    return path


def test_without_rows_the_file_holds_none(without_rows):
    members, _ = members_of(without_rows)
    manifest = json.loads(members["manifest.json"])
    assert not any(name.startswith("rows.") for name in load(members[ARRAYS]))
    assert manifest["rows"] is None
    assert manifest["latent"] is not None


def test_without_rows_only_refinement_and_trust_are_off(loan_pullback, loan_model, loan_frame, without_rows):
    before, after = loan_pullback(loan_frame), illume.load(without_rows, model=loan_model)(loan_frame)
    agreed = before.agreed
    assert agreed.any()
    assert (~agreed).any()
    assert after.values[agreed].tobytes() == before.values[agreed].tobytes()
    assert np.array_equal(after.faithful, agreed)
    assert not after.novelty.far.any()
    assert "refinement is off" in repr(after)
    assert "refinement is off" in repr(after[int(np.flatnonzero(~agreed)[0])])


def test_without_rows_there_are_the_trees_own_rules(loan_pullback, loan_model, loan_frame, without_rows):
    loaded = illume.load(without_rows, model=loan_model)
    before = loan_pullback.rules(loan_frame, polish=False)
    after = loaded.rules(loan_frame, polish=False)
    agreed = before.refinement.agreed
    assert after.bounds.low[agreed].tobytes() == before.bounds.low[agreed].tobytes()
    assert after.n_rows == 0
    assert np.isnan(after.precision).all()
    for asked in (loaded.rules, loaded.counterfactuals):
        with pytest.raises(illume.errors.LeftOutError, match="saved with rows='none'"):
            asked(loan_frame)
    with pytest.raises(illume.errors.LeftOutError, match="polish=False"):
        loaded.rules(loan_frame, polish=False, max_conditions=2)
    with pytest.raises(illume.errors.LeftOutError, match="saved with rows='none'"):
        loaded.rule_set()


def test_without_rules_attributions_are_the_same_and_rules_are_grown_from_the_rows(three_class, tmp_path):
    model, X = three_class
    options = illume.SurrogateOptions(n_latents=2, training=FAST)
    explainer = illume.Explainer(model, verbose=False, surrogate_options=options).fit(X)
    explainer.save(tmp_path / "a.illume")
    explainer.fit_rules().save(tmp_path / "b.illume", rules=False)
    assert (tmp_path / "b.illume").read_bytes() == (tmp_path / "a.illume").read_bytes()
    loaded = illume.load(tmp_path / "a.illume", model=model)
    assert same(explainer(X).values, loaded(X).values)
    assert loaded.quality_.surrogate is None
    assert not hasattr(loaded, "rule_quality_")
    loaded.save(tmp_path / "b.illume")
    assert (tmp_path / "b.illume").read_bytes() == (tmp_path / "a.illume").read_bytes()
    rules = loaded.rules(X)
    assert all(rule.covers(X.iloc[[i]]).all() for i, rule in enumerate(rules))
    assert loaded.counterfactuals(X[:5]).found.any()
    assert loaded.quality_.surrogate is not None


def test_without_rules_and_rows_nothing_is_trained_and_errors_say_what_to_save(three_class, tmp_path):
    model, X = three_class
    explainer = illume.Explainer(model, verbose=False).fit(X)
    explainer.save(tmp_path / "a.illume", rows="none")
    loaded = illume.load(tmp_path / "a.illume", model=model)
    found = loaded(X)
    assert same(explainer(X).values, found.values)
    asked = [lambda: loaded.rules(X), loaded.rule_set, loaded.fit_latents, lambda: loaded.latents(X)]
    for ask in (*asked, lambda: found.slopes, lambda: loaded.counterfactuals(X)):
        with pytest.raises(illume.errors.LeftOutError, match=r"rules=True|rows='none'"):
            ask()


def test_a_loaded_explainer_streams_pickles_and_fits_anew(loan_explainer, loan_model, loan_frame, tmp_path):
    import pickle

    loan_explainer.save(tmp_path / "a.illume")
    loaded = illume.load(tmp_path / "a.illume", model=loan_model)
    pieces = list(loaded.stream(loan_frame, chunk_rows=64))
    joined = np.concatenate([piece.values for piece in pieces])
    np.testing.assert_allclose(joined, loaded(loan_frame).values, **CLOSE)
    assert same(pickle.loads(pickle.dumps(loaded))(loan_frame), loaded(loan_frame))
    again = loaded.fit(loan_frame)
    # Other tests may have trained the shared explainer's latent surrogate under other numbers of threads.
    np.testing.assert_array_equal(again(loan_frame).values, loan_explainer(loan_frame).values)
    fresh = illume.Explainer(**loan_explainer.get_params(deep=False))
    assert same(again(loan_frame), fresh.fit(loan_frame)(loan_frame))


def test_rows_of_another_library_than_the_stored_ones_are_explained(loan_explainer, loan_frame, tmp_path):
    import polars as pl

    loan_explainer.save(tmp_path / "a.illume")
    loaded = illume.load(tmp_path / "a.illume")
    values = loaded(pl.from_pandas(loan_frame)).values
    assert np.array_equal(values, loaded(loan_frame).values)
    assert isinstance(loaded(loan_frame).to_frame(), pd.DataFrame)


def test_what_a_file_did_not_hold_must_be_set_again_before_fitting_anew(numpy_rows, tmp_path):
    tree = DecisionTreeClassifier(max_depth=2)
    settings = {"encoder": "identity", "contributions": "pullback", "tree": tree, "verbose": False}
    explainer = illume.Explainer(steep, **grouped(**settings)).fit(numpy_rows)
    explainer.save(tmp_path / "a.illume", rules=False)
    loaded = illume.load(tmp_path / "a.illume", model=steep)
    with pytest.raises(ValueError, match=r"tree was DecisionTreeClassifier.*set it again before fitting"):
        loaded.fit(numpy_rows)
    loaded.set_params(rule_options=illume.RuleOptions(tree=tree)).fit(numpy_rows)

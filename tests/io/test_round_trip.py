import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import illume
from illume import Explainer, IdentityEncoder, LinearEncoder, MetaEncoder, Objective
from illume.data.archive import format_json, parse_json
from illume.data.frames import as_frame
from illume.data.stored_arrays import ArrayReader
from illume.io.codec import Reader, Writer
from illume.io.stored import StoredEncoder
from tests.common import FAST, grouped, use_local
from tests.io.common import differences, same
from tests.io.conftest import QUICK, steep


def test_a_loaded_explainer_explains_with_the_same_bits(saved):
    explainer, rows, model, path = saved
    loaded = illume.load(path, model=model)
    assert same(explainer(rows), loaded(rows))
    assert same(explainer.rules(rows), loaded.rules(rows))
    assert same(explainer.rules(rows, polish=False), loaded.rules(rows, polish=False))
    assert same(explainer.rules(rows, max_conditions=2), loaded.rules(rows, max_conditions=2))
    assert same(explainer.rule_set(), loaded.rule_set())
    few = as_frame(rows).slice(0, 12).native
    assert same(explainer.counterfactuals(few), loaded.counterfactuals(few))
    one = as_frame(rows).slice(5, 6).native
    assert same(explainer(one), loaded(one))
    if explainer.contributions == "shapley":
        assert explainer(rows).kind == "shapley"
        if not explainer.quality_.exact:
            assert same(explainer.fitted_.twin.model, loaded.fitted_.twin.model)
            assert same(explainer(few, refine=20), loaded(few, refine=20))
        assert same(explainer.fitted_.background.P, loaded.fitted_.background.P)


def test_a_loaded_explainer_says_the_same_of_itself(saved):
    explainer, _, model, path = saved
    loaded = illume.load(path, model=model)
    for name in ("schema_", "class_names_", "history_", "quality_", "rule_quality_"):
        assert not list(differences(getattr(explainer, name), getattr(loaded, name))), name
        assert repr(getattr(explainer, name)) == repr(getattr(loaded, name))
    assert repr(loaded) == repr(explainer) or explainer.background is not None
    assert loaded.n_features_in_ == explainer.n_features_in_
    assert loaded.fitted_.columns == explainer.fitted_.columns


def test_what_was_loaded_saves_to_the_same_bytes(saved, tmp_path):
    _, _, model, path = saved
    again = tmp_path / "again.illume"
    illume.load(path, model=model).save(str(again))
    assert again.read_bytes() == path.read_bytes()


def test_the_kinds_are_what_they_claim(saved, request):
    explainer, rows, _, _ = saved
    encoder, name = type(explainer.fitted_.pair.encoder).__name__, request.node.name
    found = explainer(rows)
    if "exact" in name:
        assert explainer.quality_.exact
        assert found.scale == ("probability" if "trees" in name else "log-odds")
        return
    if "Shapley" in name:
        assert ("noise" in explainer.quality_.ignored) == ("ignored" in name)
        assert np.isfinite(found.standard_errors).all() or "measured" not in name
        assert found.imputed.any() == ("NumPy" not in name)
        return
    wanted = "Linear" if "linear" in name else "Identity" if "identity" in name else "Meta"
    assert encoder == ("Identity" if "fell back" in name else wanted) + "Encoder"
    assert explainer.quality_.surrogate.fell_back or "fell back" not in name
    assert found.refinement.refined.any() or "two classes" in name or "text" in name


def test_fewer_rows_change_only_explanations_that_were_refined(saved, tmp_path):
    explainer, rows, model, _ = saved
    explainer.save(tmp_path / "few.illume", rows=20)
    loaded = illume.load(tmp_path / "few.illume", model=model)
    assert len(loaded.fitted_.neighbours.X) < len(explainer.fitted_.neighbours.X)
    before, after = explainer(rows), loaded(rows)
    agreed = before.agreed
    assert np.array_equal(before.agreed, after.agreed)
    assert before.values[agreed].tobytes() == after.values[agreed].tobytes()
    known = after.refinement.neighbour[after.refinement.refined]
    assert np.isin(known, explainer.fitted_.split.training).all()
    few = as_frame(rows).slice(0, 5).native
    assert explainer.counterfactuals(few).examples.shape == loaded.counterfactuals(few).examples.shape


def test_an_index_of_neighbours_is_built_again(numpy_rows, tmp_path):
    rows = np.tile(numpy_rows, (3, 1)) + np.random.default_rng(0).normal(scale=0.1, size=(180, 3))
    explainer = use_local(Explainer(steep, **grouped(**{**QUICK, "search": "index"})).fit(rows))
    use_local(explainer, "index")
    explainer.save(tmp_path / "a.illume")
    loaded = illume.load(tmp_path / "a.illume", model=steep)
    assert explainer(rows).refinement.refined.any()
    assert same(explainer(rows), loaded(rows))


@pytest.mark.parametrize("most", [1, 2, 7, 30])
def test_no_more_rows_than_asked_for_are_in_the_file(small, tmp_path, most):
    small.save(tmp_path / "a.illume", rows=most)
    found = illume.load(tmp_path / "a.illume")
    assert 1 <= len(found.fitted_.neighbours.X) <= most
    decided = small.fitted_.rows.training.P.argmax(1)
    assert most < 2 or len(np.unique(found.fitted_.rows.training.P.argmax(1))) == len(np.unique(decided))


@pytest.mark.parametrize("rows", [0, -1, True, "some", 2.5])
def test_an_invalid_number_of_rows_is_refused(small, tmp_path, rows):
    with pytest.raises(ValueError, match="'all', 'none' or a positive integer"):
        small.save(tmp_path / "a.illume", rows=rows)
    assert not list(tmp_path.iterdir())


def test_an_explainer_that_was_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        Explainer(lambda rows: rows).save(tmp_path / "a.illume", rules=False)


class OwnSurrogate:
    """A linear surrogate of somebody else's."""

    def fit(self, Z, P):
        self.coef_, self.intercept_ = np.ones((1, Z.shape[1])), np.zeros(1)
        return self

    def answers(self, Z):
        p = 1 / (1 + np.exp(-Z.sum(1)))
        return np.column_stack([1 - p, p])


class OwnEncoder(IdentityEncoder):
    """An encoder of somebody else's."""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encoder": OwnEncoder()}, "OwnEncoder cannot be saved.*MetaEncoder"),
        (
            {"encoder": "identity", "surrogate": OwnSurrogate()},
            "OwnSurrogate cannot be saved.*linear classifiers of scikit-learn",
        ),
    ],
    ids=["encoder", "surrogate"],
)
def test_parts_of_ones_own_are_refused_by_name(numpy_rows, tmp_path, settings, said):
    explainer = Explainer(steep, **grouped(**{**QUICK, **settings})).fit(numpy_rows)
    with pytest.raises(illume.errors.SaveError, match=said):
        use_local(explainer).save(tmp_path / "a.illume")
    assert not list(tmp_path.iterdir())


def test_import_loads_nothing_heavy():
    program = (
        "import sys, illume; heavy = {'torch', 'sklearn', 'pandas', 'safetensors', 'narwhals', 'numpy'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)


@pytest.mark.parametrize("kind", [MetaEncoder, LinearEncoder])
def test_an_encoder_of_numbers_comes_back_with_its_head_to_the_last_bit(kind):
    X = np.random.default_rng(0).normal(size=(80, 3))
    objective = Objective.preset("joint")
    encoder = kind(2, task="regression", training=FAST, objective=objective).fit(X, 1e9 + X[:, :2])
    writer = Writer()
    head = format_json(writer.dump(StoredEncoder, StoredEncoder.of(encoder), "encoder"))
    arrays = ArrayReader.from_bytes(writer.arrays.to_bytes(), writer.arrays.transposed, "file")
    reader = Reader(arrays, lambda value, file: None, {})
    again = reader.read(StoredEncoder, parse_json(head, "head"), "encoder").fitted(3)
    arrays.finish()
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    for one, other in zip(again.head_, encoder.head_, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_array_equal(one, other)

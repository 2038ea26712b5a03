"""Shapley values come out of a file with every bit: categories, missing values, classes, ignored columns."""

import json

import numpy as np
import pytest
from safetensors.numpy import load

import illume
from tests.io.common import change_arrays, forged, members_of, same
from tests.io.conftest import KINDS

MODEL, ROWS, BACKGROUND = "model.safetensors", "rows.safetensors", "background.json"


@pytest.fixture(params=[name for name in KINDS if "Shapley" in name])
def valued(request, saved_kinds):
    """An explainer with Shapley values, its rows, its model, and the file that it was saved to."""
    return saved_kinds(request.param)


def test_without_the_model_values_add_up_to_the_log_odds_of_the_twin(valued):
    _, rows, _, path = valued
    loaded = illume.load(path)
    found = loaded(rows)
    wanted = loaded.fitted_.twin.model.scale(found.probabilities)
    np.testing.assert_allclose(found.scores.reshape(wanted.shape), wanted, atol=1e-9)
    with pytest.raises(illume.errors.BlackBoxError, match=r"use illume.load\(path, model=…\)"):
        loaded(rows, refine=4)


def test_without_rows_values_are_the_same_but_are_not_refined(valued, tmp_path):
    explainer, rows, model, _ = valued
    explainer.save(tmp_path / "none.illume", rows="none")
    members, _ = members_of(tmp_path / "none.illume")
    assert set(members) == {"manifest.json", MODEL}
    loaded = illume.load(tmp_path / "none.illume", model=model)
    assert loaded.fitted_.background is None
    assert same(explainer(rows).values, loaded(rows).values)
    with pytest.raises(illume.errors.LeftOutError, match="saved with rows='none'"):
        loaded(rows, refine=4)


@pytest.fixture
def of_own_background(saved_kinds):
    """An explainer with a background of its own, its rows, its model, and its file."""
    return saved_kinds("Shapley values, a background of one's own, polars")


def test_background_rows_are_no_setting(of_own_background, tmp_path):
    explainer, rows, model, path = of_own_background
    members, _ = members_of(path)
    settings = json.loads(members["manifest.json"])["settings"]
    assert settings["background"] == {"text": "a frame of 25 rows"}
    explainer.save(tmp_path / "none.illume", rows="none")
    income = np.float64(12345.5).tobytes()
    assert income in path.read_bytes()
    assert income not in (tmp_path / "none.illume").read_bytes()
    loaded = illume.load(path, model=model)
    with pytest.raises(ValueError, match=r"background was a frame of 25 rows.*set it again"):
        loaded.fit(rows)


def changed(names, change, member=MODEL):
    return {"change_member": change_arrays(member, names, change)}


def in_manifest(value):
    return {"change_manifest": lambda manifest: manifest["twin"].update(value)}


FIRST, THREE = "shapley.model.first", "shapley.values.first"
DAMAGES = [
    (changed("shapley.features", lambda a: a + 90), "shapley.features must lie from"),
    (changed("shapley.features", lambda a: a[::-1].copy()), "not in order"),
    (changed("shapley.features", lambda a: a[:-1]), "shapley"),
    (changed("shapley.widths", lambda a: a + 1), "not those of the features"),
    (changed("shapley.widths", lambda a: a * 0), "shapley.widths must lie from"),
    (changed("shapley.knots", lambda a: a[::-1].copy()), "do not rise"),
    (changed("shapley.knots", lambda a: a[:-1]), "shapley.knots has shape"),
    (changed("shapley.knots", lambda a: a * np.float32("nan")), "NaN or infinity"),
    (changed("shapley.model.nodes", lambda a: a[:-1]), "shapley.model.nodes has shape"),
    (changed("shapley.model.nodes", lambda a: a[:, :3].copy()), "has no embeddings"),
    (changed("shapley.model.first", lambda a: a[:, :-1].copy()), "shapley.model.first_bias has shape"),
    (changed(f"{FIRST} {FIRST}_bias", lambda a: a[..., :-1].copy()), "not have 2 equal parts"),
    (changed("shapley.model.last", lambda a: a.astype(np.float64)), "holds float64, expected float32"),
    (changed("shapley.values.constant", lambda a: a[:, :1].copy()), "shapley.values.constant has shape"),
    (changed(f"{THREE} {THREE}_bias", lambda a: a[..., :-1].copy()), "not have 3 equal parts"),
    (changed("shapley.values.last_bias", lambda a: a[1:]), "shapley.values.last_bias has shape"),
    (changed("shapley.base", lambda a: a * np.inf), "NaN or infinity"),
    (changed("shapley.errors.share", lambda a: a * 2), "does not add up to 1"),
    (changed("shapley.errors.variance", lambda a: np.full_like(a, -1.0)), "no variance"),
    (changed("shapley.errors.weights", lambda a: a - 1.0), "no variance"),
    (changed("shapley.errors.remainder", lambda a: a * 0), "must be positive"),
    (changed("background.answers", lambda a: a * 3, ROWS), "no answers of a model"),
    (changed("background.answers", lambda a: a[1:], ROWS), "background.answers has shape"),
    ({"change_member": (BACKGROUND, lambda content: b"{}")}, "background holds"),
    ({"change_member": (BACKGROUND, lambda content: content.replace(b"polars", b"numpy", 1))}, "background"),
    (
        {"change_member": (BACKGROUND, lambda content: content.replace(b'"age"', b'"other"', 1))},
        "the stored rows are 25 with the columns",
    ),
    (in_manifest({"least": 0.5}), "least probability is 0.5"),
    (in_manifest({"least": "much"}), "twin.least is 'much'"),
    (in_manifest({"kind": "latent"}), "unexpected arrays"),
    (in_manifest({"kind": "linear"}), "twin is 'linear', with categories of 0 features"),
]


@pytest.mark.parametrize(("change", "said"), DAMAGES)
def test_parts_that_do_not_fit_are_refused_though_their_hashes_do(of_own_background, change, said, refused):
    refused(forged(of_own_background[-1], **change), said)


TREES, LINEAR = "exact trees, three classes, pandas", "exact linear, two classes, NumPy"


@pytest.fixture(params=[TREES, LINEAR])
def exact(request, saved_kinds):
    """An explainer whose model was read, its rows, its model, and the file that it was saved to."""
    return saved_kinds(request.param)


def test_the_twin_of_a_model_that_was_read_answers_for_it(exact):
    explainer, rows, _, path = exact
    alone, before = illume.load(path)(rows), explainer(rows)
    assert alone.stand_in
    assert (alone.trust.level == "exact").all()
    np.testing.assert_allclose(alone.predictions, before.predictions, atol=1e-9)
    np.testing.assert_allclose(alone.values, before.values, atol=1e-9)


def test_exact_values_are_the_same_without_rows_and_hold_none(exact, tmp_path):
    explainer, rows, model, _ = exact
    explainer.save(tmp_path / "none.illume", rows="none")
    members, _ = members_of(tmp_path / "none.illume")
    assert set(members) == {"manifest.json", MODEL}
    assert "twin.background" not in load(members[MODEL])
    loaded = illume.load(tmp_path / "none.illume", model=model)
    assert same(explainer(rows).values, loaded(rows).values)
    loaded.save(tmp_path / "again.illume", rows="none")
    assert (tmp_path / "again.illume").read_bytes() == (tmp_path / "none.illume").read_bytes()


def one(value, at=0):
    """Return how to set one number of an array."""

    def change(array):
        array = np.array(array)
        array.flat[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("kind", "rows", "change", "said"),
    [
        (TREES, 99, changed("twin.left", one(0)), "no trees"),
        (TREES, 99, changed("twin.left", lambda a: a[:-1].copy()), "twin.right has shape"),
        (TREES, 99, changed("twin.right", one(-1)), "no trees"),
        (TREES, 99, changed("twin.right", one(10**6)), "twin.right must lie from"),
        (TREES, 99, changed("twin.roots", lambda a: a * 0), "no trees"),
        (TREES, 99, changed("twin.feature", one(4)), "twin.feature must lie from 0 to"),
        (TREES, 99, changed("twin.rank", one(-3)), "twin.rank must lie from"),
        (TREES, 99, changed("twin.choice", one(10**6)), "twin.choice must lie from"),
        (TREES, 99, changed("twin.choices", lambda a: a[:, 1:].copy()), "twin.choices has shape"),
        (TREES, 99, changed("twin.missing_left", lambda a: a[1:].copy()), "twin.missing_left has shape"),
        (TREES, 99, changed("twin.value", one(np.nan)), "NaN or infinity"),
        (TREES, 99, changed("twin.value", lambda a: a[:, :2].copy()), "twin.value has shape"),
        (TREES, 99, changed("twin.start", lambda a: a[:2].copy()), "twin.start has shape"),
        (TREES, 99, changed("twin.cuts", lambda a: a[::-1].copy()), "twin.cuts do not rise"),
        (TREES, 99, changed("twin.n_cuts", one(10**6)), "not those of the features"),
        (TREES, 99, changed("twin.background", one(10**6)), "twin.background must lie from"),
        (TREES, 99, changed("twin.background", lambda a: a[:, :0].copy()), "no background rows"),
        (TREES, 99, changed("twin.background", lambda a: a[1:].copy()), "twin.background has shape"),
        (TREES, 99, in_manifest({"kind": "linear"}), "twin.slopes is missing|missing"),
        (TREES, 99, in_manifest({"categories": []}), "with categories of 0 features"),
        (TREES, "none", changed("twin.tables", lambda a: a[1:].copy()), "twin.tables has shape"),
        (TREES, "none", changed("twin.tables", one(np.inf)), "NaN or infinity"),
        (TREES, "none", changed("twin.base", lambda a: a[1:].copy()), "twin.base has shape"),
        (TREES, "none", changed("twin.patterns", lambda a: np.zeros(1, np.int64)), "twin.patterns has shape"),
        (LINEAR, 99, changed("twin.slopes", one(np.inf)), "NaN or infinity"),
        (LINEAR, 99, changed("twin.slopes", lambda a: a[1:].copy()), "twin.slopes has shape"),
        (LINEAR, 99, changed("twin.levels", lambda a: a[:, :0].copy()), "twin.levels has shape"),
        (LINEAR, 99, changed("twin.missing", lambda a: a[1:].copy()), "twin.missing has shape"),
        (LINEAR, 99, changed("twin.mean", one(np.nan)), "NaN or infinity"),
        (LINEAR, 99, changed("twin.intercept", lambda a: np.zeros(2)), "twin.intercept has shape"),
        (LINEAR, 99, in_manifest({"centred": True}), "centred, and there is one score"),
        (LINEAR, 99, in_manifest({"kind": "trees"}), "missing"),
    ],
)
def test_parts_of_exact_twins_that_do_not_fit_are_refused(  # noqa: PLR0917
    saved_kinds, tmp_path, refused, kind, rows, change, said
):
    path = tmp_path / "own.illume"
    saved_kinds(kind)[0].save(path, rows=rows)
    refused(forged(path, **change), said)

"""Shapley values come out of a file with every bit: categories, missing values, classes, ignored columns."""

import json

import numpy as np
import pytest
from safetensors.numpy import load

import illume
from tests.io.common import ARRAYS, change_arrays, forged, members_of, same
from tests.io.conftest import KINDS


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
    assert not any(name.startswith("rows.") for name in load(members[ARRAYS]))
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


def changed(names, change):
    return {"change_member": change_arrays(names, change)}


def in_manifest(*path, **values):
    def change(manifest):
        for step in path:
            manifest = manifest[step]
        manifest.update(values)

    return {"change_manifest": change}


CODING, NETWORK, VALUES = "twin.model.coding", "twin.model.network", "twin.model.values"
MODEL = ("twin", "LearnedTwin", "model")
DAMAGES = [
    (changed(f"{CODING}.features", lambda a: a + 90), "features must lie from"),
    (changed(f"{CODING}.features", lambda a: a[::-1].copy()), "not in order"),
    (changed(f"{CODING}.features", lambda a: a[:-1]), "has shape"),
    (changed(f"{CODING}.widths", lambda a: a + 1), "widths or knots are not those"),
    (changed(f"{CODING}.widths", lambda a: a * 0), "widths must lie from"),
    (changed(f"{CODING}.knots", lambda a: a[::-1].copy()), "do not rise"),
    (changed(f"{CODING}.knots", lambda a: a[:-1]), "knots"),
    (changed(f"{CODING}.starts", lambda a: a + 1), "starts are not those of the widths"),
    (changed(f"{NETWORK}.table.nodes", lambda a: a[:-1]), "nodes has shape"),
    (changed(f"{NETWORK}.table.nodes", lambda a: a[:, :3].copy()), "nodes has shape"),
    (changed(f"{NETWORK}.first", lambda a: a[:, :-1].copy()), "first_bias has shape"),
    (changed(f"{NETWORK}.first {NETWORK}.first_bias", lambda a: a[..., :-1].copy()), "do not fit together"),
    (changed(f"{VALUES}.constant", lambda a: a[:, :1].copy()), "constant has shape"),
    (changed(f"{VALUES}.first {VALUES}.first_bias", lambda a: a[..., :-1].copy()), "do not fit together"),
    (changed(f"{VALUES}.last_bias", lambda a: a[1:]), "last_bias has shape"),
    (changed("twin.model.base", lambda a: a * np.inf), "NaN or infinity"),
    (changed("twin.model.errors.variance", lambda a: np.full_like(a, -1.0)), "variance must lie from 0"),
    (changed("twin.model.errors.weights", lambda a: a - 1.0), "weights must lie from 0"),
    (changed("twin.model.errors.remainder", lambda a: a * 0), "must be above 0"),
    (changed("twin.background.at", lambda a: a + 10**6), "codes that are none of the features"),
    (changed("rows.background.P", lambda a: a * 3), "no answers of a model"),
    (changed("rows.background.P", lambda a: a[1:]), "P is not that of the rows"),
    (in_manifest("rows", "background", frame={}), "rows.background.frame holds"),
    (in_manifest("rows", "background", "frame", library="numpy"), "background"),
    (in_manifest("rows", "background", "frame", "columns", 0, name="other"), "have the columns"),
    (in_manifest(*MODEL, "scale", "LogOdds", least=0.5), "least probability is 0.5"),
    (in_manifest(*MODEL, "scale", "LogOdds", least="much"), "least is 'much'"),
    (in_manifest(*MODEL, scale={"Shares": {}}), "least probability is 0.0"),
    (in_manifest(twin=None), "unexpected arrays"),
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
    assert not any(name.startswith("rows.") for name in load(members[ARRAYS]))
    assert "twin.background" not in load(members[ARRAYS])
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


FOREST = "twin.parts.forest"


@pytest.mark.parametrize(
    ("kind", "rows", "change", "said"),
    [
        (TREES, 99, changed(f"{FOREST}.left", one(0)), "no trees"),
        (TREES, 99, changed(f"{FOREST}.left", lambda a: a[:-1].copy()), "has shape"),
        (TREES, 99, changed(f"{FOREST}.right", one(-1)), "no trees"),
        (TREES, 99, changed(f"{FOREST}.right", one(10**6)), "right must lie from"),
        (TREES, 99, changed(f"{FOREST}.roots", lambda a: a * 0), "no trees"),
        (TREES, 99, changed(f"{FOREST}.feature", one(4)), "feature must lie from 0 to"),
        (TREES, 99, changed(f"{FOREST}.rank", one(-3)), "rank must lie from"),
        (TREES, 99, changed(f"{FOREST}.choice", one(10**6)), "choice must lie from"),
        (TREES, 99, changed(f"{FOREST}.choices", lambda a: a[:, 1:].copy()), "other codes"),
        (TREES, 99, changed(f"{FOREST}.value", one(np.nan)), "NaN or infinity"),
        (TREES, 99, changed(f"{FOREST}.value", lambda a: a[:, :2].copy()), "value has shape"),
        (TREES, 99, changed("twin.parts.start", lambda a: a[:2].copy()), "start has shape"),
        (TREES, 99, changed("twin.parts.codes.cuts.0", lambda a: a[::-1].copy()), "cuts do not rise"),
        (TREES, 99, changed("twin.background", one(9_999)), "codes that are none of the features"),
        (TREES, 99, changed("twin.background", lambda a: a[:, :0].copy()), "background holds no rows"),
        (TREES, 99, changed("twin.background", lambda a: a[1:].copy()), "background has shape"),
        (TREES, 99, in_manifest("twin", "StoredExact", "parts", "Trees", "codes", categories=[]), "codes of"),
        (TREES, "none", changed("twin.tables.flat", lambda a: a[1:].copy()), "tables are not those"),
        (TREES, "none", changed("twin.tables.flat", one(np.inf)), "NaN or infinity"),
        (TREES, "none", changed("twin.tables.base", lambda a: a[1:].copy()), "tables are not those"),
        (LINEAR, 99, changed("twin.parts.slopes", one(np.inf)), "NaN or infinity"),
        (LINEAR, 99, changed("twin.parts.slopes", lambda a: a[1:].copy()), "slopes has shape"),
        (LINEAR, 99, changed("twin.parts.levels", lambda a: a[:, :0].copy()), "levels are not those"),
        (LINEAR, 99, changed("twin.mean", one(np.nan)), "NaN or infinity"),
        (LINEAR, 99, changed("twin.parts.intercept", lambda a: np.zeros(2)), "intercept has shape"),
        (LINEAR, 99, in_manifest("twin", "StoredExact", centred=True), "centred, and there is one score"),
        (LINEAR, 99, in_manifest("twin", "StoredExact", parts={"Schema": {}}), "kind 'Schema', which is not"),
    ],
)
def test_parts_of_exact_twins_that_do_not_fit_are_refused(  # noqa: PLR0917
    saved_kinds, tmp_path, refused, kind, rows, change, said
):
    path = tmp_path / "own.illume"
    saved_kinds(kind)[0].save(path, rows=rows)
    refused(forged(path, **change), said)

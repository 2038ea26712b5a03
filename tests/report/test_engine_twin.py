"""The page's exact twin in JavaScript says what `illume.twin` says: trees of all kinds, and sums of terms."""

import json

import numpy as np
import pytest

from illume.data.black_box import BlackBox
from illume.data.frames import as_frame
from illume.data.schema import Schema
from illume.report.explorer_twin import thinned, twin_data
from illume.report.explorer_values import page_values
from illume.twin.read import answers_of, read_twin
from tests.report.engine import modules_in, needs_node, run_script
from tests.report.exact_models import KINDS, edited, fit_model
from tests.report.exact_models import rows as make_rows

pytestmark = needs_node


def read(model, X):
    """Return the twin that is read from a model."""
    frame, box = as_frame(X), BlackBox(model)
    P, schema = box(frame), Schema.infer(X)
    read = read_twin(model, schema, frame, P, box.require_outputs(), scale="auto", background=frame, ask=box)
    assert read.twin is not None, read.reason
    return read.twin, schema, box


def values_of(schema, X):
    """Return rows as the page knows them."""
    frame = as_frame(X)
    columns = [
        frame.numbers(each.name) if each.numeric else np.array(frame.labels(each.name), dtype=object)
        for each in schema.features
    ]
    table = np.empty((len(X), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return page_values(schema, table)


def ask_page(twin, values, folder):
    """Return base values, scores and contributions of rows as Node computes them, and what it took."""
    (folder / "question.json").write_text(
        json.dumps({"twin": twin_data(twin), "rows": values}, allow_nan=False)
    )
    run_script("run_twin.mjs", modules_in(folder / "modules"), folder / "question.json", folder / "said")
    found, s = np.fromfile(folder / "said"), len(np.atleast_1d(twin.base_values))
    each = found[s:].reshape(len(values), -1, s)
    return found[:s], each[:, 0], each[:, 1:], json.loads((folder / "said.json").read_text())


def off(found, wanted):
    """Return the largest difference, in parts of the largest number."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_contributions_are_those_of_python_and_answers_the_models(kind, tmp_path):
    model, X = fit_model(kind)
    twin, schema, box = read(model, X)
    made = edited(make_rows(kind, 400, seed=2), 400)
    base, scores, values, took = ask_page(twin, values_of(schema, made), tmp_path)
    rows = twin.parts.read(as_frame(made))
    assert off(base, twin.base_values) < 1e-9
    assert off(scores, twin.scores(rows)) < 1e-12
    assert off(values, twin.values(rows, None).values) < 1e-9
    assert took["shortcut"] < 1e-9
    P = box(as_frame(made))
    link = {"forest": "share", "three classes": "softmax", "regression": "identity"}.get(kind, "logistic")
    assert off(answers_of(scores, link), P) < 1e-6
    if box.require_outputs().decides:
        assert (answers_of(scores, link).argmax(1) == P.argmax(1)).all()


def test_a_page_carries_part_of_a_large_background_and_contributions_are_against_that(tmp_path, monkeypatch):
    model, X = fit_model("boosting")
    twin, schema, _ = read(model, X)
    monkeypatch.setattr("illume.report.explorer_twin.MOST_CODES", 8 * 150)
    small = thinned(twin)
    assert small.background.shape == (8, 150)
    base, scores, values, _ = ask_page(small, values_of(schema, X[:20]), tmp_path)
    assert off(base, small.base_values) < 1e-12
    np.testing.assert_allclose(base + values.sum(1), scores)
    assert thinned(small) is small


def test_unknown_categories_and_gaps_take_the_paths_that_the_model_takes(tmp_path):
    model, X = fit_model("categories and gaps")
    twin, schema, _ = read(model, X)
    values = values_of(schema, X[:3])
    values[0][4], values[1][1], values[2][6] = "never seen", None, None
    codes = twin.parts.read(as_frame(X[:3])).copy()
    codes[4, 0] = len(twin.parts.codes.categories[4])
    codes[1, 1] = -1
    codes[6, 2] = len(twin.parts.codes.categories[6])
    _, scores, _, _ = ask_page(twin, values, tmp_path)
    np.testing.assert_allclose(scores, twin.scores(codes))

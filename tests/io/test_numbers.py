"""Explainers of models that answer with numbers come back bit by bit, or their files are refused."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import illume
from illume import Explainer
from illume.errors import LeftOutError, ModelChangedWarning
from illume.explanations.fitted import TwinBlackBox
from tests.common import brief_shapley, grouped, loans
from tests.io.common import change_arrays, forged, same
from tests.io.conftest import QUICK, VALUED, polars_rows


def price(rows):
    """One positive number, far from 0."""
    frame = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    income = np.nan_to_num(frame["income"].to_numpy(dtype=float), nan=30.0)
    high = (frame["education"].astype(str) == "high").to_numpy(dtype=float)
    return 150_000 + 1_000 * frame["age"].to_numpy(dtype=float) + 800 * income * high


def two_numbers(rows):
    X = np.asarray(rows, dtype=float)
    return np.stack([1e6 * X[:, 0] * X[:, 1], X[:, 2] - X[:, 0] ** 2], axis=1)


# The model, the rows, the settings, and a question for rules and counterfactuals
KINDS = {
    "a number, pandas": (price, loans(120), VALUED | {"output_names": ["price"]}, {"threshold": 220_000}),
    "two numbers, NumPy": (
        two_numbers,
        np.random.default_rng(2).normal(size=(120, 3)),
        VALUED | {"output_names": ["money", "size"]},
        {"threshold": -0.5, "output": "size"},
    ),
    "a logarithm, polars": (price, polars_rows(), VALUED | {"link": "log"}, {"threshold": 220_000}),
    "a number, pulled back": (price, loans(120), QUICK, {"threshold": 220_000}),
}


@pytest.fixture(scope="module")
def saved_numbers(tmp_path_factory):
    """Return an explainer of a kind, made once, its rows, its model, a question, and its file."""

    @cache
    def make(kind):
        model, rows, settings, asked = KINDS[kind]
        with brief_shapley():
            explainer = Explainer(model, **grouped(**settings)).fit(rows).fit_rules()
        path = tmp_path_factory.mktemp("io") / "numbers.illume"
        explainer.save(path)
        return explainer, rows, model, asked, path

    return make


@pytest.fixture(params=KINDS)
def saved(request, saved_numbers):
    return saved_numbers(request.param)


def test_a_loaded_explainer_of_numbers_explains_with_the_same_bits(saved):
    explainer, rows, model, asked, path = saved
    loaded = illume.load(path, model=model)
    assert loaded.fitted_.outputs == explainer.fitted_.outputs
    output = {name: asked[name] for name in asked if name == "output"}
    found, rules = explainer(rows), explainer.rules(rows, **output)
    assert same(found, loaded(rows))
    np.testing.assert_allclose(found.scores, explainer.fitted_.outputs.scores(found.predictions).squeeze())
    assert rules.interval.shape == (len(rows), 2)
    assert same(rules, loaded.rules(rows, **output))
    wide = {"interval": 0.5, "polish": False, **output}
    assert same(explainer.rules(rows, **wide), loaded.rules(rows, **wide))
    assert same(explainer.rules(rows, **asked), loaded.rules(rows, **asked))
    assert explainer.rules(rows, **asked).interval is None
    assert same(explainer.rule_set(**output), loaded.rule_set(**output))
    few = rows[:10]
    spread = float(found.predictions[:, -1].std())
    wanted = {"desired_change": spread, **output}
    for question in (asked, wanted):
        examples = explainer.counterfactuals(few, n=2, **question)
        assert same(examples, loaded.counterfactuals(few, n=2, **question))
    if found.kind == "shapley":
        assert same(explainer(few, refine=16), loaded(few, refine=16))


def test_what_was_loaded_saves_to_the_same_bytes(saved, tmp_path):
    explainer, _, model, _, path = saved
    loaded, again = illume.load(path, model=model), tmp_path / "again.illume"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert repr(loaded.quality_) == repr(explainer.quality_)
    assert repr(loaded.rule_quality_) == repr(explainer.rule_quality_)


def test_fewer_rows_keep_attributions_and_none_leave_out_what_needs_them(saved, tmp_path):
    explainer, rows, model, asked, _ = saved
    wanted, output = explainer(rows), {name: asked[name] for name in asked if name == "output"}
    for number in (20, "none"):
        explainer.save(tmp_path / "a.illume", rows=number)
        loaded = illume.load(tmp_path / "a.illume", model=model)
        agreed = wanted.agreed
        assert loaded(rows).values[agreed].tobytes() == wanted.values[agreed].tobytes()
    with pytest.raises(LeftOutError, match="saved with rows='none'"):
        loaded.counterfactuals(rows, **asked)
    rules, y = loaded.rules(rows, polish=False, **output), wanted.predictions
    held = (rules.interval[:, :1] <= y) & (y <= rules.interval[:, 1:])
    assert held.any(1).all()
    assert np.isnan(rules.precision).all()


def test_without_rules_there_are_attributions_alone(saved, tmp_path):
    explainer, rows, model, asked, _ = saved
    wanted = explainer(rows)
    for held in (20_000, "none"):
        explainer.save(tmp_path / "a.illume", rows=held, rules=False)
        loaded = illume.load(tmp_path / "a.illume", model=model)
        found, some = loaded(rows), slice(None)
        if wanted.kind == "pullback":  # others are refined, which takes rows
            some = wanted.agreed
        for name in ("values", "standard_errors", "predictions", "base_values"):
            assert same(getattr(wanted, name)[some], getattr(found, name)[some])
        assert not loaded.fitted_.rules.ready
        assert loaded.fitted_.latents.ready == (wanted.kind == "pullback")
    with pytest.raises(LeftOutError, match="save it with rules=True"):
        loaded.rules(rows, **asked)


def test_without_the_model_the_twins_numbers_stand_in(saved):
    explainer, rows, _, _, path = saved
    found, fitted = illume.load(path)(rows), explainer.fitted_
    assert found.stand_in
    wanted = TwinBlackBox(fitted.encoding, fitted.outputs, fitted.twin)(fitted.as_frame(rows))
    # The network has single precision; numbers near zero are as exact as the column's largest ones.
    assert (np.abs(found.predictions - wanted) <= 1e-7 * np.abs(wanted).max(0)).all()


def test_another_model_is_told_and_one_of_other_numbers_is_refused(saved_numbers):
    *_, path = saved_numbers("a number, pandas")
    with pytest.warns(ModelChangedWarning, match=r"on \d+ of \d+ stored rows its answers differ, by up to 5"):
        illume.load(path, model=lambda rows: price(rows) + 500)
    with pytest.raises(illume.errors.BlackBoxError, match="answered 2 numbers, expected 1"):
        illume.load(path, model=lambda rows: np.stack([price(rows)] * 2, axis=1))
    *_, path = saved_numbers("a logarithm, polars")
    with pytest.raises(illume.errors.BlackBoxError, match="numbers above 0"):
        illume.load(path, model=lambda rows: -price(rows))


@pytest.mark.parametrize(
    ("names", "change", "said"),
    [
        ("rules.intervals.margins", lambda a: a - 100, "margins must lie from -1"),
        ("rules.intervals.margins", lambda a: a * np.nan, "NaN or infinity"),
        ("rules.intervals.margins", lambda a: a[:, 1:].copy(), "has shape"),
        ("rules.intervals.typical", lambda a: -1 - a, "typical must lie from 0"),
        ("twin.model.scale.unit", lambda a: a * 0, "scale is not that of the answers"),
        ("twin.model.scale.unit", lambda a: a[:1].copy(), "2 centers and 1 units of 2 numbers"),
        ("twin.model.scale.center", lambda a: a * np.inf, "NaN or infinity"),
        ("rules.tree.value_", lambda a: a[:, :1].copy(), "has shape"),
        ("latent.coef", lambda a: a[:1].copy(), "has shape"),
        ("rules.intervals.sample.P", lambda a: a * np.nan, "NaN or infinity"),
        ("rows.pool.P", lambda a: a[:, :1].copy(), "has shape"),
    ],
)
def test_arrays_of_numbers_that_do_not_fit_are_refused(saved_numbers, refused, names, change, said):
    *_, path = saved_numbers("two numbers, NumPy")
    refused(forged(path, change_member=change_arrays(names, change)), said)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("spread", [1.0, 0.0], "spreads or edges"),
        ("spread", [1.0, -2.0], "spreads or edges"),
        ("spread", [1.0, "nan"], "spreads or edges"),
        ("spread", [1.0], "does not describe the numbers"),
        ("edges", [[0.0, 1.0], [2.0, 1.0]], "spreads or edges"),
        ("edges", [[0.0, 1.0], ["nan", 1.0]], "spreads or edges"),
        ("edges", [[0.0, 1.0], [1.0]], "spreads or edges"),
        ("edges", [[0.0, 1.0]], "does not describe the numbers"),
        ("names", ["money"], "does not describe the numbers"),
        ("names", ["money", 3], "expected a list of texts"),
        ("names", ["money", "money"], "does not describe the numbers"),
        ("link", "square", "does not describe the numbers"),
        ("link", "log", "no answers of a model"),
        ("task", "classification", "labels_only"),
    ],
)
def test_descriptions_of_numbers_that_do_not_fit_are_refused(saved_numbers, refused, name, value, said):
    *_, path = saved_numbers("two numbers, NumPy")
    refused(forged(path, lambda manifest: manifest["outputs"].update({name: value})), said)

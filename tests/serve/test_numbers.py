"""The service gives the numbers of the library, and says what it cannot give."""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import illume
from illume import Explainer, SurrogateOptions
from tests.common import FAST, linear_black_box
from tests.serve.conftest import Client, records


def plain(value):
    """What JSON makes of a value: NaN is null, a tuple a list."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("explain", {}),
        ("explain", {"layout": "arrays"}),
        ("rules", {}),
        ("rules", {"precision": 0.8, "max_conditions": 2}),
        ("rules", {"polish": False}),
        ("counterfactuals", {"n": 2}),
        ("counterfactuals", {"features_to_vary": ["income", "age"], "max_changes": 2}),
        ("counterfactuals", {"permitted_range": {"income": [20, None], "education": ["high", "low"]}}),
        ("counterfactuals", {"desired_class": "grant", "min_probability": 0.6}),
        (
            "counterfactuals",
            {"immutable": ["owner"], "direction": {"age": "up", "education": ["low", "high"]}},
        ),
    ],
)
def test_answers_are_the_librarys_bit_for_bit(client, with_model, rows, kind, options):
    rows = rows[:18]
    if kind != "explain":
        expected = {kind: getattr(with_model, kind)(rows, **options).to_dict()}
    elif options:
        expected = {"arrays": with_model(rows).to_dict()}
    else:
        expected = {"explanations": [row.to_dict() for row in with_model(rows)]}
    answer = client.post(f"/{kind}", json={"rows": records(rows), **options}).json()
    assert answer == plain({"stand_in": False, "note": None, **expected})


def test_more_than_two_classes_and_numbers_alone(three_class_explainer, three_class):
    _, X = three_class
    client = Client(three_class_explainer)
    answer = client.post("/explain", json={"rows": records(X[:5])}).json()
    assert answer["explanations"] == plain([row.to_dict() for row in three_class_explainer(X[:5])])


@pytest.mark.parametrize("library", ["polars", "pyarrow", "numpy"])
def test_frames_of_other_libraries_get_the_same_numbers(library):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).round(3)
    model = linear_black_box([2.0, -1.0, 0.5])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    if library == "numpy":
        given = X
    else:
        import polars as pl

        given = pl.from_pandas(frame)
        given = given if library == "polars" else given.to_arrow()

    def black_box(asked):
        assert type(asked).__module__.startswith(library)
        return model(asked if library == "numpy" else asked.to_pandas().to_numpy())

    explainer = Explainer(
        black_box, queries=50, surrogate_options=SurrogateOptions(n_latents=2, training=FAST)
    ).fit(given)
    answer = Client(explainer).post("/explain", json={"rows": records(frame[:6]), "layout": "arrays"}).json()
    assert answer["arrays"] == plain(explainer(given[:6]).to_dict())


def test_without_a_model_its_twin_answers_and_answers_say_so(without_model, rows):
    client = Client(without_model)
    for path, name in (("/explain", "explanations"), ("/rules", "rules")):
        answer = client.post(path, json={"rows": records(rows[:3])}).json()
        assert answer["stand_in"] is True
        assert "--model" in answer["note"]
        assert all(one["stand_in"] for one in answer[name])
    assert client.get("/info").json()["model"] is False
    answer = client.post("/counterfactuals", json={"rows": records(rows[:3])})
    assert answer.status_code == 409
    assert "start it with: illume serve EXPLAINER --model FILE" in answer.json()["detail"]


def test_what_was_not_saved_is_409_with_advice(loan_model, loan_frame, tmp_path, row):
    explainer = Explainer(
        loan_model, queries=0, surrogate_options=SurrogateOptions(n_latents=2, training=FAST)
    ).fit(loan_frame)
    explainer.save(tmp_path / "bare.illume", rows="none", rules=False)
    client = Client(illume.load(tmp_path / "bare.illume", model=loan_model))
    assert client.post("/explain", json={"rows": [row]}).status_code == 200
    for path in ("/rules", "/counterfactuals"):
        answer = client.post(path, json={"rows": [row]})
        assert answer.status_code == 409
        assert "save it with" in answer.json()["detail"]
    assert client.get("/quality").json()["rule_quality"] is None


def test_rules_that_were_not_saved_need_torch_and_explanations_do_not(
    loan_explainer, loan_model, tmp_path, row, monkeypatch
):
    loan_explainer.save(tmp_path / "bare.illume", rules=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    client = Client(illume.load(tmp_path / "bare.illume", model=loan_model))
    assert client.post("/explain", json={"rows": [row]}).status_code == 200
    answer = client.post("/rules", json={"rows": [row]})
    assert answer.status_code == 409
    assert "illume[train]" in answer.json()["detail"]


def test_quality_and_health_are_the_explainers(client, with_model):
    answer = client.get("/quality").json()
    assert answer["quality"] == plain(with_model.quality_.to_dict())
    assert answer["rule_quality"] == plain(with_model.rule_quality_.to_dict())
    assert answer["class_names"] == ["grant", "refuse"]
    assert client.get("/health").json() == {"status": "ok", "version": illume.__version__}


def test_columns_may_come_in_any_order_and_with_others(client, row):
    other = {"comment": ["x"], **dict(reversed(row.items()))}
    one, two = (client.post("/explain", json={"rows": [given]}).json() for given in (row, other))
    assert one == two


def test_the_answer_in_the_guide_has_the_fields_of_an_answer(client, rows):
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "serving.md").read_text()
    shown = json.loads(re.search(r"```json\n(.*?)```", guide, flags=re.DOTALL)[1])
    answer = client.post("/explain", json={"rows": records(rows[:1])}).json()
    assert list(shown) == [name for name in answer if answer[name] is not None or name == "note"]
    (example,), (row,) = shown["explanations"], answer["explanations"]
    assert list(example) == list(row)
    assert list(example["features"][0]) == list(row["features"][0])
    assert list(example["trust"]) == list(row["trust"])

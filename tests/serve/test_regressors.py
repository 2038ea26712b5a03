"""The service answers for models with numbers as the library does."""

import pytest

import illume
from tests.serve.conftest import Client, records
from tests.serve.test_numbers import plain


@pytest.fixture(scope="module")
def client(limit_explainer):
    return Client(limit_explainer)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("explain", {}),
        ("explain", {"layout": "arrays"}),
        ("rules", {}),
        ("rules", {"interval": 0.8, "max_conditions": 2}),
        ("rules", {"threshold": 50_000, "precision": 0.8}),
        ("counterfactuals", {"n": 1, "desired_range": [60_000, None]}),
        ("counterfactuals", {"n": 2, "desired_change": -2_000, "features_to_vary": ["income", "age"]}),
        ("counterfactuals", {"n": 1, "threshold": 50_000, "output": "limit"}),
    ],
)
def test_answers_are_the_librarys_bit_for_bit(client, limit_explainer, rows, kind, options):
    rows = rows[:16]
    if kind != "explain":
        expected = {kind: getattr(limit_explainer, kind)(rows, **options).to_dict()}
    elif options:
        expected = {"arrays": limit_explainer(rows).to_dict()}
    else:
        expected = {"explanations": [row.to_dict() for row in limit_explainer(rows)]}
    answer = client.post(f"/{kind}", json={"rows": records(rows), **options}).json()
    assert answer == plain({"stand_in": False, "note": None, **expected})


def test_a_prediction_takes_the_place_of_decision_and_probability(client, limit_model, rows):
    answer = client.post("/explain", json={"rows": records(rows[:3])}).json()
    for explained, expected in zip(answer["explanations"], limit_model.predict(rows[:3]), strict=True):
        assert explained["prediction"] == expected
        parts = [explained["base_value"], explained["offset"]]
        parts += [feature["contribution"] for feature in explained["features"]]
        assert sum(parts) == pytest.approx(expected)
        assert not {"decision", "probability"} & set(explained)


def test_several_numbers_have_a_field_each(two_numbers):
    _, X, explainer = two_numbers
    client = Client(explainer)
    (answer,) = client.post("/explain", json={"rows": records(X[:1])}).json()["explanations"]
    assert answer == plain(explainer(X[:1])[0].to_dict())
    assert {"prediction: size", "prediction: weight"} <= set(answer)
    (rule,) = client.post("/rules", json={"rows": records(X[:1]), "output": "weight"}).json()["rules"]
    assert rule["interval"][0] <= rule["prediction: weight"] <= rule["interval"][1]
    assert client.get("/info").json()["names"] == ["size", "weight"]


def test_the_service_says_what_the_model_answers(client, limit_explainer, with_model):
    answer = client.get("/info").json()
    assert (answer["task"], answer["names"], answer["scale"]) == ("regression", ["limit"], "limit")
    assert answer["features"][0] == {"name": "age", "kind": "numeric"}
    quality = client.get("/quality").json()
    assert quality["output_names"] == ["limit"]
    assert quality["quality"] == plain(limit_explainer.quality_.to_dict())
    answer = Client(with_model).get("/info").json()
    assert (answer["task"], answer["names"]) == ("classification", ["grant", "refuse"])


def test_the_examples_of_openapi_work(client, two_numbers):
    for served in (client, Client(two_numbers[2])):
        described = served.get("/openapi.json").json()["components"]["schemas"]
        for path in ("/explain", "/rules", "/counterfactuals"):
            (example,) = described[f"{path[1:].capitalize()}Request"]["examples"]
            answer = served.post(path, json=example)
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("path", "options", "field"),
    [
        ("/rules", {"interval": 0.2}, "interval"),
        ("/rules", {"interval": 0.9, "threshold": 50_000}, "interval"),
        ("/rules", {"precision": 0.9}, "precision"),
        ("/rules", {"threshold": "high"}, "threshold"),
        ("/rules", {"output": "price"}, "output"),
        ("/counterfactuals", {}, None),
        ("/counterfactuals", {"desired_class": "grant"}, "desired_class"),
        ("/counterfactuals", {"desired_range": [5, 1]}, "desired_range"),
        ("/counterfactuals", {"desired_range": [5]}, "desired_range"),
        ("/counterfactuals", {"desired_change": 0}, "desired_change"),
        ("/counterfactuals", {"desired_change": 5, "threshold": 9}, "desired_change"),
    ],
)
def test_wrong_options_are_named(client, row, path, options, field):
    answer = client.post(path, json={"rows": [row], **options})
    assert answer.status_code == 422, answer.text
    assert {problem["field"] for problem in answer.json()["detail"]} == {field}


def test_options_of_numbers_are_refused_for_classes(with_model, row):
    client = Client(with_model)
    for path, options in (
        ("/rules", {"threshold": 5}),
        ("/rules", {"interval": 0.9}),
        ("/counterfactuals", {"desired_change": 5}),
    ):
        answer = client.post(path, json={"rows": [row], **options})
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["field"] == next(iter(options))


def test_without_the_model_its_twin_answers(limit_explainer, rows, tmp_path):
    limit_explainer.save(tmp_path / "limit.illume")
    explainer = illume.load(tmp_path / "limit.illume")
    answer = Client(explainer).post("/explain", json={"rows": records(rows[:2])}).json()
    assert answer["stand_in"]
    assert answer["explanations"] == plain([row.to_dict() for row in explainer(rows[:2])])

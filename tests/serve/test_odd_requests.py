"""Requests that are wrong get 4xx and words that help; none is a server error."""

import json

import pytest

from illume import Explainer, SurrogateOptions
from illume.cli.load import load_explainer
from illume.cli.messages import Messages
from tests.common import FAST
from tests.serve.conftest import Client

JSON = {"Content-Type": "application/json"}
PATHS = ("/explain", "/rules", "/counterfactuals")


def problems(answer, status=422):
    assert answer.status_code == status, answer.text
    return answer.json()["detail"]


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"age": "40"}, "age", "valid number"),
        ({"age": True}, "age", "valid number"),
        ({"age": [40]}, "age", "valid number"),
        ({"income": {}}, "income", "valid number"),
        ({"owner": 1}, "owner", "known: False, True"),
        ({"owner": "true"}, "owner", "known: False, True"),
        ({"owner": None}, "owner", "a missing value"),
        ({"education": "PhD"}, "education", "'PhD', not seen when the explainer was fitted (known: high"),
        ({"education": 3}, "education", "known: high, low, middle"),
    ],
)
def test_a_wrong_value_is_named_by_row_and_field(client, row, change, field, said):
    found = problems(client.post("/explain", json={"rows": [row, row, row | change]}))
    assert all((each["row"], each["field"]) == (2, field) for each in found)
    assert any(said in each["msg"] for each in found)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda row: row, 'the request has no field "rows"'),
        (lambda row: {}, 'the request has no field "rows"'),
        (lambda row: [row], "the request must be a JSON object"),
        (lambda row: {"rows": row}, '"rows" must be a list of rows'),
    ],
    ids=["a bare row", "nothing", "a list", "one row as rows"],
)
def test_a_body_of_another_form_gets_one_error_that_shows_the_form(client, row, path, body, said):
    (found,) = problems(client.post(path, json=body(row)))
    assert found["msg"].startswith(said)
    assert 'send {"rows": [{"age": 48, "income": ' in found["msg"]
    assert found["msg"].endswith("a list of rows with a field per column")


def test_a_missing_field_is_named_by_row(client, row):
    short = {name: value for name, value in row.items() if name != "income"}
    (found,) = problems(client.post("/explain", json={"rows": [row, short]}))
    assert (found["row"], found["field"], found["type"]) == (1, "income", "missing")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "1" * 5000])
def test_numbers_that_are_none_are_refused_and_null_is_missing(client, text):
    body = '{"rows": [{"age": 40, "income": %s, "owner": true, "education": "low"}]}'
    problems(client.post("/explain", content=body % text, headers=JSON))
    explained = client.post("/explain", content=body % "null", headers=JSON).json()["explanations"][0]
    income = explained["features"][1]
    assert income["value"] is None
    assert income["contribution"] != 0.0  # that of its being missing


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"rows"',
        b'{"rows": null}',
        b'{"rows": []}',
        b'{"rows": {}}',
        b'{"rows": [null]}',
        b'{"rows": [[]]}',
        b'{"rows": [{}]}',
        b"\xff\xfe{}",
        b'{"rows": "\\ud800"}',
        b"[" * 100_000,
        b'{"rows": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
@pytest.mark.parametrize("path", PATHS)
def test_bodies_that_are_no_requests_are_422(client, path, body):
    for problem in problems(client.post(path, content=body, headers=JSON)):
        assert set(problem) == {"row", "field", "loc", "msg", "type"}


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
def test_other_kinds_of_bodies_are_422(client, row, kind):
    body = json.dumps({"rows": [row]})
    (found,) = problems(client.post("/explain", content=body, headers={"Content-Type": kind}))
    assert "Content-Type: application/json" in found["msg"]


@pytest.mark.parametrize(
    ("path", "options", "field"),
    [
        ("/explain", {"layout": "columns"}, "layout"),
        ("/explain", {"top": 3}, "top"),
        ("/rules", {"precision": 0.2}, "precision"),
        ("/rules", {"precision": 1}, "precision"),
        ("/rules", {"precison": 0.9}, "precison"),
        ("/rules", {"max_conditions": 0}, "max_conditions"),
        ("/rules", {"polish": "yes"}, "polish"),
        ("/counterfactuals", {"n": 0}, "n"),
        ("/counterfactuals", {"n": 10**9}, "n"),
        ("/counterfactuals", {"n": 1.5}, "n"),
        ("/counterfactuals", {"max_changes": True}, "max_changes"),
        ("/counterfactuals", {"min_probability": 1}, "min_probability"),
        ("/counterfactuals", {"desired_class": "maybe"}, "desired_class"),
        ("/counterfactuals", {"features_to_vary": "age"}, "features_to_vary"),
        ("/counterfactuals", {"permitted_range": {"age": 5}}, "permitted_range"),
        ("/counterfactuals", {"permitted_range": {"education": [["high"]]}}, "permitted_range"),
        ("/counterfactuals", {"permitted_range": {"age": ["a", "b"]}}, None),
        ("/counterfactuals", {"permitted_range": {"age": [9, 1]}}, None),
        ("/counterfactuals", {"permitted_range": {"agee": [1, 9]}}, None),
        ("/counterfactuals", {"permitted_range": {"education": ["PhD"]}}, None),
        ("/counterfactuals", {"features_to_vary": ["agee"]}, None),
        ("/counterfactuals", {"features_to_vary": []}, None),
    ],
)
def test_wrong_options_are_named(client, row, path, options, field):
    found = problems(client.post(path, json={"rows": [row], **options}))
    assert {each["field"] for each in found} == {field}


def test_of_several_options_the_wrong_one_is_named(client, row):
    for options in ({"n": 2, "desired_class": "maybe"}, {"desired_class": "maybe", "n": 2, "max_changes": 1}):
        (found,) = problems(client.post("/counterfactuals", json={"rows": [row], **options}))
        assert found["field"] == "desired_class"
    (found,) = problems(client.post("/rules", json={"rows": [row], "max_conditions": 2, "output": "x"}))
    assert found["field"] == "output"


@pytest.mark.parametrize("number", [1e308, -1e308, 5e-324, 1e18, -0.0])
def test_extreme_numbers_are_answered_and_the_answer_is_json(client, row, number):
    given = [row | {"age": number, "income": number}]
    for path in PATHS:
        answer = client.post(path, json={"rows": given})
        assert answer.status_code == 200, answer.text
        json.loads(answer.text, parse_constant=lambda word: pytest.fail(word))


def test_unknown_categories_are_answered_where_the_explainer_ignores_them(loan_model, loan_frame, row):
    explainer = Explainer(
        loan_model,
        queries=50,
        unknown="ignore",
        surrogate_options=SurrogateOptions(n_latents=2, training=FAST),
    ).fit(loan_frame)
    client = Client(explainer)
    given = row | {"education": "PhD"}
    answer = client.post("/explain", json={"rows": [given]}).json()["explanations"][0]
    expected = explainer(loan_frame[:1].assign(**given))[0].to_dict()
    assert answer == expected
    for odd in (None, 3, False, "\u0000", ""):
        answer = client.post("/explain", json={"rows": [row | {"education": odd}]})
        assert answer.status_code in (200, 422), answer.text


def test_unknown_categories_are_answered_where_a_loaded_explainer_is_told_to_ignore_them(saved, row):
    given = {"rows": [row | {"education": "PhD"}]}
    path = saved / "loans.illume"
    (found,) = problems(Client(load_explainer(path, Messages())).post("/explain", json=given))
    assert "illume serve --unknown ignore" in found["msg"]
    client = Client(load_explainer(path, Messages(), unknown="ignore"))
    for kind in ("/explain", "/rules"):
        answer = client.post(kind, json=given)
        assert answer.status_code == 200, answer.text
    assert client.post("/explain", json=given).json()["explanations"][0]["outside"]
    fields = client.get("/openapi.json").json()["components"]["schemas"]["Row"]["properties"]
    assert "enum" not in fields["education"]


def test_wrong_paths_and_methods_are_json(client):
    assert client.get("/nothing").json() == {"detail": "Not Found"}
    assert client.get("/explain").status_code == 405
    assert client.post("/quality").json() == {"detail": "Method Not Allowed"}


def test_bugs_are_500_without_a_word_from_inside(with_model, row, monkeypatch, caplog):
    client = Client(with_model)
    monkeypatch.setattr(type(with_model), "__call__", lambda self, X, **options: {}["secret of row 7"])
    with caplog.at_level("INFO", logger="illume.serve"):
        answer = client.post("/explain", json={"rows": [row]})
    assert answer.status_code == 500
    assert answer.json()["detail"].startswith("an error inside the service")
    logged = [record.fields for record in caplog.records if record.name == "illume.serve"]
    assert logged[0]["error"] == "KeyError"
    assert {fields["request_id"] for fields in logged} == {answer.headers["x-request-id"]}
    assert "secret" not in str(logged)

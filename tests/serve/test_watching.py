"""What the service tells those who run it: logs, figures, a description of itself."""

import json
import logging

import pytest

from illume.serve.monitoring import JsonFormatter
from tests.serve.conftest import Client


@pytest.fixture
def lines(caplog):
    """Return what was logged so far, as it is written."""
    caplog.set_level("INFO", logger="illume.serve")
    form = JsonFormatter()
    return lambda: [json.loads(form.format(r)) for r in caplog.records if r.name == "illume.serve"]


def test_a_request_is_one_line_without_anything_of_its_rows(client, row, lines):
    given = row | {"age": 51.25, "education": "middle"}
    answer = client.post("/explain?education=middle", json={"rows": [given, given]})
    (line,) = lines()
    assert set(line) == {"time", "level", "event", "method", "path", "status", "rows", "ms", "request_id"}
    assert (line["path"], line["status"], line["rows"]) == ("/explain", 200, 2)
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["ms"] > 0
    assert not any(word in json.dumps(line) for word in ("51.25", "middle", "education"))


def test_a_refused_request_is_one_line_without_the_value(client, row, lines):
    client.post("/explain", json={"rows": [row | {"education": "secret"}]})
    (line,) = lines()
    assert (line["status"], line["rows"]) == (422, None)
    assert "secret" not in json.dumps(line)


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2_3", True), ("a b", False), ("x" * 65, False)])
def test_a_callers_request_id_is_kept_if_it_is_a_plain_word(client, given, kept, lines):
    answer = client.get("/health", headers={"X-Request-ID": given})
    assert (answer.headers["x-request-id"] == given) is kept
    assert lines()[0]["request_id"] == answer.headers["x-request-id"]


def test_an_error_of_the_server_is_one_line_without_its_words():
    try:
        raise ValueError("secret")
    except ValueError as error:
        known = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "it failed", None, known)
    line = JsonFormatter().format(record)
    assert json.loads(line)["error"] == "ValueError"
    assert "secret" not in line
    assert "\n" not in line


def test_prometheus_counts_requests_rows_and_seconds(with_model, row):
    client = Client(with_model)
    client.post("/explain", json={"rows": [row, row]})
    client.post("/explain", json={"rows": []})
    client.get("/some/made/up/path")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'illume_request_seconds_count{path="/explain",status="200"} 1.0' in lines
    assert 'illume_request_seconds_count{path="/explain",status="422"} 1.0' in lines
    assert 'illume_request_seconds_count{path="other",status="404"} 1.0' in lines
    assert 'illume_rows_total{path="/explain"} 2.0' in lines
    assert "illume_working 0.0" in lines
    assert any(line.startswith("process_cpu_seconds_total") for line in lines)


def test_openapi_describes_rows_by_the_schema(client):
    described = client.get("/openapi.json").json()
    assert set(described["paths"]) == {
        *("/explain", "/rules", "/counterfactuals", "/info", "/quality", "/health", "/ready", "/metrics")
    }
    row = described["components"]["schemas"]["Row"]
    assert set(row["required"]) == {"age", "income", "owner", "education"}
    assert row["properties"]["education"]["enum"] == ["high", "low", "middle"]
    assert row["properties"]["owner"]["enum"] == [False, True]


def test_examples_are_made_up_and_work(client, loan_frame):
    described = client.get("/openapi.json").json()
    for path in ("/explain", "/rules", "/counterfactuals"):
        name = f"{path[1:].capitalize()}Request"
        (example,) = described["components"]["schemas"][name]["examples"]
        assert client.post(path, json=example).status_code == 200
        (row,) = example["rows"]
        assert not (loan_frame[["age", "income"]] == [row["age"], row["income"]]).all(axis=1).any()

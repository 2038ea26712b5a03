"""What a caller learns of a model that fails, and what the log says."""

import json

import numpy as np
import pytest

from illume import DataOptions, Explainer, SurrogateOptions
from illume.serve.monitoring import JsonFormatter
from tests.common import FAST
from tests.serve.conftest import Client

SECRET = "cannot open /srv/models/secret.bin with password hunter2"


def fit(model, frame, **options):
    surrogate = SurrogateOptions(n_latents=2, training=FAST)
    data = DataOptions(**options)
    return Explainer(model, queries=0, surrogate_options=surrogate, data_options=data).fit(frame)


def fails_on_the_old(rows):
    if (rows["age"] > 1000).any():
        raise OSError(SECRET)
    answers = 1 / (1 + 2.0 ** -(np.asarray(rows["age"]) - 50))
    return np.where(rows["age"] < -1000, np.nan, answers)


@pytest.fixture(scope="module")
def failing(loan_frame):
    return fit(fails_on_the_old, loan_frame)


@pytest.fixture
def lines(caplog):
    """Return what was logged so far, as it is written."""
    caplog.set_level("INFO", logger="illume.serve")
    form = JsonFormatter()
    return lambda: [form.format(record) for record in caplog.records if record.name == "illume.serve"]


@pytest.mark.parametrize("path", ["/explain", "/counterfactuals"])
def test_the_words_of_a_models_error_stay_inside_and_the_log_has_the_request_id(failing, row, path, lines):
    answer = Client(failing).post(path, json={"rows": [row, row | {"age": 2000}]})
    assert answer.status_code == 502
    request_id = answer.headers["x-request-id"]
    assert answer.json() == {
        "detail": f"the model failed on rows 1 (from 0); the service's log has request id {request_id}"
    }
    failed, request = map(json.loads, lines())
    assert (failed["event"], failed["error"], request["status"]) == ("the model failed", "OSError", 502)
    assert failed["request_id"] == request["request_id"] == request_id
    assert "fails_on_the_old" in failed["where"][-1]
    assert not any(word in "".join(lines()) for word in SECRET.split())


def test_rows_on_which_the_model_fails_count_from_the_first_of_the_request(failing, row, monkeypatch):
    monkeypatch.setattr("illume.serve.service.PIECE_ROWS", {"explain": 4})
    rows = [row | {"age": 2000 if at in (5, 6) else 40} for at in range(8)]
    assert "failed on rows 5, 6 (from 0)" in Client(failing).post("/explain", json={"rows": rows}).text


def test_the_words_are_logged_if_wanted(failing, row, lines):
    answer = Client(failing, log_words=True).post("/explain", json={"rows": [row | {"age": 2000}]})
    assert "hunter2" not in answer.text
    assert json.loads(lines()[0])["words"] == SECRET


def test_answers_that_are_none_are_the_models_fault_too(failing, row):
    answer = Client(failing).post("/explain", json={"rows": [row | {"age": -2000}]})
    assert answer.status_code == 502
    assert "the model failed on rows 0" in answer.json()["detail"]


def test_halves_of_characters_are_refused_in_requests(failing, row):
    client = Client(failing)
    for path in ("/explain", "/rules", "/counterfactuals"):
        for odd in (row | {"education": "\ud800"}, row | {"\ud800": 1}, row | {"note": "\udfff"}):
            body = json.dumps({"rows": [odd]}).encode()
            answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 422, answer.text

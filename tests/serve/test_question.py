"""The positive class and the threshold of a service."""

import numpy as np
import pytest

import illume
from tests.serve.conftest import Client, records


@pytest.fixture(scope="module")
def deciding(saved, loan_model):
    explainer = illume.load(saved / "loans.illume", model=loan_model)
    explainer.threshold = 0.3
    return Client(explainer)


def test_a_request_names_the_class_that_contributions_are_to(client, with_model, rows):
    body = {"rows": records(rows[:5]), "positive_class": "grant"}
    found = client.post("/explain", json=body).json()["explanations"]
    wanted = with_model(rows[:5], positive_class="grant")
    assert {each["output"] for each in found} == {"grant"}
    values = [[feature["contribution"] for feature in each["features"]] for each in found]
    np.testing.assert_allclose(values, wanted.values, atol=1e-6)
    arrays = client.post("/explain", json=body | {"layout": "arrays"}).json()["arrays"]
    assert arrays["output_names"] == ["grant"]


def test_an_unknown_class_is_refused(client, row):
    found = client.post("/explain", json={"rows": [row], "positive_class": "maybe"})
    assert found.status_code == 422
    assert "choose one of ['grant', 'refuse']" in found.text


def test_a_service_decides_by_its_threshold(deciding, with_model, rows):
    refused = with_model(rows).probabilities[:, 1] >= 0.3
    wanted = np.where(refused, "refuse", "grant").tolist()
    for path, name in (("/explain", "explanations"), ("/rules", "rules")):
        found = deciding.post(path, json={"rows": records(rows)}).json()[name]
        assert [each["decision"] for each in found] == wanted
    assert deciding.get("/info").json()["threshold"] == 0.3


def test_another_threshold_is_refused_with_the_option_that_sets_it(deciding, row):
    found = deciding.post("/rules", json={"rows": [row], "threshold": 0.6})
    assert found.status_code == 422
    assert "start it with illume serve --threshold" in found.text
    assert deciding.post("/rules", json={"rows": [row], "threshold": 0.3}).status_code == 200

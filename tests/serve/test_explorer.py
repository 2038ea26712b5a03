"""The explorer of a service: its page, who may see it, and the model behind it."""

import base64
import re

import httpx
import pytest

from illume.serve.pages import make_page
from illume.serve.settings import Settings
from tests.report.common import data_in
from tests.serve.conftest import Client

KEY = "a key with ü"


def policy_of(page):
    return re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]


@pytest.fixture(scope="module")
def page(with_model, rows):
    return make_page(with_model, rows, Settings(max_rows=7))


@pytest.fixture(scope="module")
def served(with_model, page):
    return Client(with_model, page=page, api_key=KEY)


def basic(password):
    return {"Authorization": f"Basic {base64.b64encode(f'me:{password}'.encode()).decode()}"}


def test_the_page_may_connect_to_its_own_service_alone(client, with_model, page):
    answer = Client(with_model, page=page).get("/explorer")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert answer.headers["cache-control"] == "no-store"
    policy = policy_of(answer.text)
    assert policy.startswith("default-src 'none';")
    assert policy.endswith("; connect-src 'self'")
    assert "It loads and sends nothing" not in answer.text
    assert client.get("/explorer").status_code == 404


def test_folders_of_the_working_directory_are_no_hindrance(with_model, rows, tmp_path, monkeypatch):
    for name in ("explorer.html", "rows.html"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_page(with_model, rows[:3], Settings()).startswith(b"<!")


def test_the_page_knows_the_limits_of_its_service(page):
    found = data_in(page.decode())["page"]["service"]
    assert found == {"model": True, "max_rows": 7, "seconds": 61.0}


def test_a_service_without_the_model_says_so(without_model, rows):
    found = data_in(make_page(without_model, rows, Settings()).decode())
    assert found["page"]["service"]["model"] is False
    assert found["rows"]["has_model"] is False


def test_the_first_page_links_to_what_there_is_and_holds_no_rows(client, with_model, page):
    served = Client(with_model, page=page, api_key="secret")
    for each, with_explorer in ((client, False), (served, True)):
        answer = each.get("/")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        links = re.findall('href="([^"]+)"', answer.text)
        assert {"openapi.json", "health", "ready"} <= set(links)
        assert ("explorer" in links) is with_explorer
        assert {each.get(f"/{link}", headers={"X-API-Key": "secret"}).status_code for link in links} == {200}


def test_a_page_behind_a_key_is_opened_with_the_key_as_password(served, row):
    refused = served.get("/explorer")
    assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
    assert served.get("/explorer", headers=basic("wrong")).status_code == 401
    assert served.get("/explorer", headers={"Authorization": "Basic ???"}).status_code == 401
    assert served.get("/explorer", headers=basic(KEY)).status_code == 200
    asked = {"rows": [row], "layout": "arrays"}
    assert served.post("/explain", json=asked, headers=basic(KEY)).status_code == 200
    assert served.get("/quality").headers["www-authenticate"] == "Bearer"


def test_the_commands_rows_are_those_of_the_file(serve, saved, rows, tmp_path):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ("--model", saved / "loans.model.joblib", "--trust-model")
    _, url, _ = serve(*words, "--explorer", tmp_path / "rows.csv")
    answer = httpx.get(f"{url}/explorer")
    assert data_in(answer.text)["engine"]["rows"]["n"] == len(rows)
    assert httpx.get(f"{url}/ready").status_code == 200
    assert 'path="/explorer"' in httpx.get(f"{url}/metrics").text
    assert httpx.get(f"{url}/explorer", headers={"Host": "rebound.example"}).status_code == 400

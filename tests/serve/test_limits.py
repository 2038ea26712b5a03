"""How much, for how long, and who."""

import asyncio
import json
import threading

import pytest
import uvicorn
from uvicorn.server import ServerState

from illume.serve import server
from illume.serve.settings import Settings
from tests.serve.conftest import Client

JSON = {"Content-Type": "application/json"}


def test_too_many_rows_are_413(with_model, row):
    client = Client(with_model, max_rows=3)
    assert client.post("/explain", json={"rows": [row] * 3}).status_code == 200
    answer = client.post("/explain", json={"rows": [row] * 4})
    assert answer.status_code == 413
    assert answer.json() == {"detail": "a request may hold 3 rows; send them in parts"}


def send_to(app, receive, *headers):
    """Return the messages that answer a POST to /explain whose body comes from `receive`."""
    sent = []

    async def send(message):
        sent.append(message)

    given = [(b"content-type", b"application/json"), *headers]
    scope = {"type": "http", "method": "POST", "path": "/explain", "query_string": b"", "headers": given}
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("header", [(b"content-length", b"1000000000"), (b"transfer-encoding", b"chunked")])
def test_a_large_body_is_refused_before_it_is_read(with_model, header):
    asked = []

    async def receive():
        asked.append(1)
        return {"type": "http.request", "body": b" " * 400, "more_body": True}

    start, body = send_to(Client(with_model, max_bytes=1000).app, receive, header)
    assert start["status"] == 413
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"])["detail"].startswith("a request may hold 1,000 bytes")
    assert len(asked) == (0 if b"content-length" in header else 3)


def test_a_body_that_does_not_come_is_408(with_model):
    async def receive():
        await asyncio.sleep(10)

    assert send_to(Client(with_model, timeout=0.1).app, receive)[0]["status"] == 408


def test_too_many_at_a_time_are_503(with_model, row, monkeypatch):
    client = Client(with_model, workers=1, max_waiting=0)
    go_on = threading.Event()
    monkeypatch.setattr(type(with_model), "rules", lambda self, X, **options: go_on.wait(5) and [])

    async def two():
        first = asyncio.create_task(client.asked("POST", "/rules", json={"rows": [row]}))
        while not client.service.workers.n_pending:
            await asyncio.sleep(0.01)
        second = await client.asked("POST", "/rules", json={"rows": [row]})
        go_on.set()
        return await first, second

    first, second = asyncio.run(two())
    assert (first.status_code, second.status_code, second.headers["retry-after"]) == (200, 503, "1")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"X-API-Key": "wrong"}, 401),
        ({"X-API-Key": ""}, 401),
        ({"Authorization": "Basic secret"}, 401),
        ({"X-API-Key": "secret"}, 200),
        ({"Authorization": "Bearer secret"}, 200),
    ],
)
def test_a_key_is_asked_for_where_one_is_set(with_model, headers, status):
    client = Client(with_model, api_key="secret")
    assert client.get("/quality", headers=headers).status_code == status
    assert client.get("/openapi.json", headers=headers).status_code == status
    assert client.get("/health", headers=headers).status_code == 200
    if status == 401:  # before the body is read
        answer = client.post("/explain", content=b"{", headers={**JSON, **headers})
        assert answer.status_code == 401
        assert "X-API-Key" in answer.json()["detail"]


def test_no_origin_may_ask_by_default_and_named_ones_if_wanted(with_model, client, row):
    origin = {"Origin": "https://app.example"}
    assert "access-control-allow-origin" not in client.get("/health", headers=origin).headers
    opened = Client(with_model, cors=("https://app.example",), api_key="secret")
    asked = origin | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
    answer = opened.ask("OPTIONS", "/explain", headers=asked)
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.status_code == 200
    other = opened.get("/health", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"api_key": " "}, "the API key is empty"),
        ({"hosts": ("a*",)}, "host 'a\\*' is invalid"),
        ({"workers": 0}, "workers is 0; expected an integer, 1 or more"),
        ({"workers": True}, "workers is True; expected"),
        ({"max_rows": 0}, "max_rows is 0"),
        ({"max_bytes": 1.5}, "max_bytes is 1.5"),
        ({"max_waiting": -1}, "max_waiting is -1; expected an integer, 0 or more"),
        ({"max_connections": 0}, "max_connections is 0"),
        ({"max_abandoned": 0}, "max_abandoned is 0"),
        ({"timeout": 0}, "timeout is 0; expected seconds, 0.1 or more"),
        ({"timeout": float("nan")}, "timeout is nan"),
    ],
)
def test_settings_that_let_nothing_through_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


def test_the_description_says_how_to_send_a_key(with_model, client):
    described = (
        Client(with_model, api_key="secret").get("/openapi.json", headers={"X-API-Key": "secret"}).json()
    )
    assert described["paths"]["/explain"]["post"]["security"] == [{"APIKeyHeader": []}, {"HTTPBearer": []}]
    assert "security" not in described["paths"]["/health"]["get"]
    assert described["components"]["securitySchemes"]["APIKeyHeader"]["name"] == "X-API-Key"
    assert "security" not in client.get("/openapi.json").json()["paths"]["/explain"]["post"]


def test_a_head_that_does_not_come_in_time_ends_the_connection(monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def read(reader, seconds):
        try:
            return await asyncio.wait_for(reader.read(1000), seconds)
        except TimeoutError:
            return "still open"

    async def exchange(sent):
        config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_keep_alive=5)
        config.load()
        loop, state = asyncio.get_running_loop(), ServerState()
        listener = await loop.create_server(lambda: server.LimitedProtocol(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
        writer.write(sent)
        answer = await read(reader, 10)
        then = await read(reader, 0.6)
        writer.close()
        listener.close()
        return answer, then

    assert asyncio.run(exchange(b"GET / HTTP/1.1\r\nHost: a\r\n")) == (b"", b"")
    assert asyncio.run(exchange(b"")) == (b"", b"")
    answer, then = asyncio.run(exchange(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 204")
    assert then == "still open"

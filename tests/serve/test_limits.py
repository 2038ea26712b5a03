"""How much, for how long, and who."""

import asyncio
import json
import re
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from uvicorn.server import ServerState

from illume.serve import connections
from illume.serve.connections import Connections, LimitedProtocol
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
        ({"max_connections_per_address": 0}, "max_connections_per_address is 0"),
        ({"max_total_bytes": 5}, "max_total_bytes is 5, less than max_bytes"),
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


def test_requests_that_do_not_come_in_time_end_the_connection(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0.0)

    async def app(scope, receive, send):  # does not read the body
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def read(reader, seconds):
        try:
            return await asyncio.wait_for(reader.read(1000), seconds)
        except TimeoutError:
            return "still open"

    async def drip(writer, piece):
        while True:
            await asyncio.sleep(0.05)
            writer.write(piece)

    async def exchange(sent, then=b""):
        config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_keep_alive=5)
        config.load()
        loop, state, limits = asyncio.get_running_loop(), ServerState(), Connections(Settings(timeout=0.3))
        make = partial(LimitedProtocol, limits, config, state, {})
        listener = await loop.create_server(make, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
        writer.write(sent)
        dripping = asyncio.create_task(drip(writer, then))
        answer = await read(reader, 10)
        last = await read(reader, 1)
        dripping.cancel()
        writer.close()
        listener.close()
        return answer[:12], last

    assert asyncio.run(exchange(b"GET / HTTP/1.1\r\nHost: a\r\n")) == (b"", b"")
    assert asyncio.run(exchange(b"GET / HTTP/1.1\r\nHost: a\r\n", b"X: y\r\n")) == (b"", b"")
    assert asyncio.run(exchange(b"")) == (b"", b"")
    get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert asyncio.run(exchange(get)) == (b"HTTP/1.1 204", "still open")
    assert asyncio.run(exchange(get, b"\r\n")) == (b"HTTP/1.1 204", b"")  # nothing but empty lines
    post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
    assert asyncio.run(exchange(post, b"x")) == (b"HTTP/1.1 204", b"")  # a body that nobody reads


def test_one_deadline_covers_a_body_that_comes_byte_by_byte(with_model):
    async def receive():
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b" ", "more_body": True}

    start = time.monotonic()
    assert send_to(Client(with_model, timeout=0.3).app, receive)[0]["status"] == 408
    assert time.monotonic() - start < 2


def test_bytes_of_all_bodies_are_limited_and_small_requests_pass(with_model, row):
    client = Client(with_model, max_bytes=400_000, max_total_bytes=400_000)
    bodies = client.app.app.state.bodies
    small, large = {"rows": [row]}, {"rows": [row], "note": "x" * 300_000}

    def receive():
        parts = iter([b" " * 300_000])

        async def next_part():
            if (part := next(parts, None)) is None:
                await asyncio.sleep(60)
            return {"type": "http.request", "body": part, "more_body": True}

        return next_part

    async def ask():
        scope = {"type": "http", "method": "POST", "path": "/explain", "query_string": b""}
        headers = [(b"content-type", b"application/json")]
        stalled = asyncio.create_task(client.app(scope | {"headers": headers}, receive(), lambda _: None))
        await asyncio.sleep(0.1)
        assert bodies._n_held > 200_000
        refused = await client.asked("POST", "/explain", json=large)
        passed = await client.asked("POST", "/explain", json=small)
        stalled.cancel()
        await asyncio.gather(stalled, return_exceptions=True)
        return refused, passed

    refused, passed = asyncio.run(ask())
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert passed.status_code == 200
    assert bodies._n_held == 0


def test_bodies_of_too_many_values_are_refused_unparsed(with_model):
    body = b'{"rows":[' + b"{}," * 200_000 + b"{}]}"
    answer = Client(with_model).post("/explain", content=body, headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["detail"].startswith("a request may hold 100,000 values")


def test_a_short_body_with_many_errors_names_the_first(with_model, row):
    wrong = row | {"age": "old"}
    answer = Client(with_model).post("/explain", json={"rows": [row, wrong, row, wrong, *[{}] * 900]})
    found = [(each["row"], each["field"]) for each in answer.json()["detail"]]
    assert found[:2] == [(1, "age"), (3, "age")]
    assert found[2:5] == [(4, "age"), (4, "income"), (4, "owner")]
    assert len(found) == 100


class Connection:
    def __init__(self, address):
        self.client, self.transport, self.closed = (address, 1), self, False

    def abort(self):
        self.closed = True


def test_connections_beyond_the_limits_are_spare_and_the_oldest_makes_room(monkeypatch):
    monkeypatch.setattr(connections, "MOST_SPARE", 2)
    limits = Connections(Settings(max_connections=4, max_connections_per_address=2))
    one, two, other = ([Connection(name) for _ in range(4)] for name in "abc")
    assert [limits.admit(each) for each in one] == [True, True, False, False]
    assert [limits.admit(each) for each in two] == [True, True, False, False]
    assert [each.closed for each in one] == [False, False, True, True]
    assert not limits.admit(other[0])
    limits.remove(two[0])
    limits.remove(one[0])
    assert limits.admit(one[1])
    assert limits.admit(other[0])
    assert limits.admit(two[3])
    assert not limits.admit(one[2])


def test_the_limits_in_the_guide_are_the_defaults():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "serving.md").read_text()
    told = {}
    for options, numbers in re.findall(r"^\| (`--.*?) \| ([\d].*?) \|", guide, flags=re.MULTILINE):
        found = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", numbers)]
        told |= zip(re.findall(r"--([a-z-]+)", options), found, strict=True)
    assert len(told) == 8
    assert told == {name: getattr(Settings(), name.replace("-", "_")) for name in told}

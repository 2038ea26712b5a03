"""How much, for how long, and who."""

import asyncio
import json
import re
import threading
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from uvicorn.server import ServerState

import illume
from illume.serve.connections import GRACE_SECONDS, Connections, LimitedProtocol
from illume.serve.settings import Settings
from tests.serve.conftest import Client, Hanging

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


def test_too_many_at_a_time_are_503(saved, loan_model, row):
    go_on = threading.Event()
    explainer = illume.load(saved / "loans.illume", model=Hanging(loan_model, go_on))
    client = Client(explainer, workers=1, max_waiting=0)

    async def two():
        hung = {"rows": [row | {"age": 99}]}
        first = asyncio.create_task(client.asked("POST", "/rules", json=hung))
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


async def no_content(scope, receive, send):
    """Answer every request without reading its body."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def listening(**settings):
    """Serve on a free port with limits on connections; yields a function that connects."""
    config = uvicorn.Config(no_content, lifespan="off", log_config=None, timeout_keep_alive=60)
    config.load()
    make = partial(LimitedProtocol, Connections(Settings(**settings)), config, ServerState(), {})
    listener = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    yield partial(asyncio.open_connection, *listener.sockets[0].getsockname())
    listener.close()


GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"


def test_requests_that_do_not_come_in_time_end_the_connection():
    async def exchange(connect, sent, then):
        """Send, and go on sending; return the status of the answer, once the connection was closed."""
        reader, writer = await connect()
        writer.write(sent)

        async def drip():
            while True:
                await asyncio.sleep(0.05)
                writer.write(then)

        dripping = asyncio.create_task(drip())
        told = await reader.read()  # up to the end
        dripping.cancel()
        writer.close()
        return told[:12]

    async def exchange_all():
        async with listening(timeout=0.3) as connect:
            return await asyncio.gather(
                exchange(connect, b"", b""),
                exchange(connect, GET, b""),
                exchange(connect, GET, b"X: y\r\n"),
                exchange(connect, GET + b"\r\n", b"\r\n"),  # then nothing but empty lines
                exchange(connect, POST + b"\r\n", b"x"),  # a body that nobody reads
            )

    assert asyncio.run(exchange_all()) == [b"", b"", b"", b"HTTP/1.1 204", b"HTTP/1.1 204"]


def test_a_connection_is_kept_for_the_next_request():
    async def ask_twice():
        async with listening(timeout=0.1) as connect:
            reader, writer = await connect()
            told = []
            for _ in range(2):
                writer.write(GET + b"\r\n")
                told.append((await reader.readuntil(b"\r\n\r\n"))[:12])
                await asyncio.sleep(0.2 + GRACE_SECONDS)  # past the limit for a request
            writer.close()
            return told

    assert asyncio.run(ask_twice()) == [b"HTTP/1.1 204"] * 2


def test_of_too_many_connections_the_one_that_has_waited_longest_is_closed():
    async def connect_three():
        async with listening(max_connections=2) as connect:
            lines = [await connect() for _ in range(2)]
            for _, writer in lines:
                writer.write(GET + b"\r\n")
            for reader, _ in reversed(lines):  # the first has been answered last
                await reader.readuntil(b"\r\n\r\n")
            lines.append(await connect())
            lines[2][1].write(GET + b"\r\n")
            answer = await lines[2][0].readuntil(b"\r\n\r\n")
            closed = await lines[0][0].read()
            lines[1][1].write(GET + b"\r\n")
            kept = await lines[1][0].readuntil(b"\r\n\r\n")
            for _, writer in lines:
                writer.close()
            return answer[:12], closed, kept[:12]

    assert asyncio.run(connect_three()) == (b"HTTP/1.1 204", b"", b"HTTP/1.1 204")


def test_one_deadline_covers_a_body_that_comes_byte_by_byte(with_model):
    parts = []

    async def receive():
        await asyncio.sleep(0.05)
        parts.append(b" ")
        return {"type": "http.request", "body": b" ", "more_body": True}

    assert send_to(Client(with_model, timeout=0.3).app, receive)[0]["status"] == 408
    assert 1 <= len(parts) <= 6


def test_bytes_of_all_bodies_are_limited_and_small_requests_pass(with_model, row):
    client = Client(with_model, max_bytes=400_000, max_total_bytes=400_000)
    limits = client.app.app.state.limits
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
        while not limits.n_held:
            await asyncio.sleep(0)
        assert limits.n_held > 200_000
        refused = await client.asked("POST", "/explain", json=large)
        passed = await client.asked("POST", "/explain", json=small)
        stalled.cancel()
        await asyncio.gather(stalled, return_exceptions=True)
        return refused, passed

    refused, passed = asyncio.run(ask())
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert passed.status_code == 200
    assert limits.n_held == 0


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


def test_the_limits_in_the_guide_are_the_defaults():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "serving.md").read_text()
    told = {}
    for options, numbers in re.findall(r"^\| (`--.*?) \| ([\d].*?) \|", guide, flags=re.MULTILINE):
        found = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", numbers)]
        told |= zip(re.findall(r"--([a-z-]+)", options), found, strict=True)
    assert len(told) == 7
    assert told == {name: getattr(Settings(), name.replace("-", "_")) for name in told}

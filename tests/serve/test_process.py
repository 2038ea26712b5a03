"""The command: a real server, asked over loopback, stopped by a signal."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

GIGABYTE = 10**9
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def test_a_signal_lets_running_requests_finish_and_leaves_with_0(serve, saved, row):
    process, url, log = serve("--model", saved / "loans.model.joblib", "--trust-model")
    answers = []
    body = {"rows": [row | {"age": 20 + i} for i in range(60)], "n": 3}

    def ask():
        answers.append(httpx.post(f"{url}/counterfactuals", json=body, timeout=60))

    thread = threading.Thread(target=ask)
    thread.start()
    until = time.monotonic() + 20
    while "illume_working 1.0" not in httpx.get(f"{url}/metrics").text and time.monotonic() < until:
        pass
    process.send_signal(signal.SIGTERM)
    thread.join(60)
    assert process.wait(30) == 0
    assert answers[0].status_code == 200
    assert len(answers[0].json()["counterfactuals"]) == 60
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert (lines[0]["event"], lines[-1]["event"]) == ("started", "stopped")
    asked = next(line for line in lines if line.get("path") == "/counterfactuals")
    assert (asked["status"], asked["rows"]) == (200, 60)


def memory(process):
    """Return the largest memory that a process ever held, in bytes."""
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) * 1024


def flood(url, head, piece):
    """Send a gigabyte, or as much as the server takes; return how much that was."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(
            b"POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + f"{head}\r\n\r\n".encode()
        )
        sent = 0
        with contextlib.suppress(OSError):  # the server has closed the line
            while sent < GIGABYTE:
                line.sendall(piece)
                sent += len(piece)
    return sent


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_a_gigabyte_is_refused_without_being_read_and_key_and_log_come_from_outside(serve):
    process, url, log = serve("--max-bytes", "1000000", ILLUME_API_KEY="secret")
    assert httpx.get(f"{url}/quality").status_code == 401
    assert httpx.get(f"{url}/quality", headers={"X-API-Key": "secret"}).status_code == 200
    before, key = memory(process), "X-API-Key: secret\r\n"
    for head, piece in (
        (f"{key}Content-Length: {GIGABYTE}", b" " * 65536),
        (f"{key}Transfer-Encoding: chunked", b"10000\r\n" + b" " * 65536 + b"\r\n"),
    ):
        assert flood(url, head, piece) < 50_000_000
    assert memory(process) - before < 30_000_000
    assert httpx.get(f"{url}/health").status_code == 200
    statuses = [json.loads(line).get("status") for line in log.read_text().splitlines()]
    assert statuses.count(413) == 2


def test_a_port_that_is_taken_is_one_line_and_1(saved):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "illume", "serve", str(saved / "loans.illume"), "--port", port, "-q"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: Address already in use")
    assert answer.stderr.count("\n") == 1


def test_a_head_without_end_closes_the_connection(serve):
    _, url, _ = serve()
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        with contextlib.suppress(OSError):
            line.sendall(b"GET /health HTTP/1.1\r\nX: " + b"x" * 1_000_000)
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(1000) == b""


@pytest.mark.service
def test_a_body_of_millions_of_rows_does_not_keep_others_waiting(serve):
    _, url, _ = serve()
    body, waited, done = b'{"rows":[' + b"{}," * 3_300_000 + b"{}]}", [], threading.Event()

    def ask():
        with contextlib.suppress(httpx.HTTPError):  # closed while the body is still sent
            httpx.post(f"{url}/explain", content=body, headers={"Content-Type": "application/json"})
        done.set()

    with httpx.Client() as client:
        client.get(f"{url}/health")
        threading.Thread(target=ask, daemon=True).start()
        while not done.is_set():
            start = time.monotonic()
            client.get(f"{url}/health")
            waited.append(time.monotonic() - start)
    assert max(waited) < 0.5


def test_the_service_of_this_machine_is_asked_under_its_own_names_only(serve):
    _, url, _ = serve("--allowed-host", "Box.example")
    asked = {
        name: httpx.get(f"{url}/health", headers={"Host": name}).status_code
        for name in ("localhost", "127.0.0.1:80", "[::1]:8000", "box.example", "rebound.example", "")
    }
    assert list(asked.values()) == [200, 200, 200, 200, 400, 400]


@pytest.mark.service
@pytest.mark.parametrize("with_a_model", [True, False])
def test_made_up_requests_lead_to_no_server_error(serve, saved, with_a_model):
    """Requests made up from OpenAPI by schemathesis; answers are as described."""
    words = ("--model", saved / "loans.model.joblib", "--trust-model") if with_a_model else ()
    _, url, log = serve(*words, "--max-rows", "20")
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--max-examples", "300"]
    command += ["--seed", "1", "--workers", "1", "--continue-on-failure", "--suppress-health-check", "all"]
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout[-6000:]
    statuses = re.findall(r'"status":(\d+)', log.read_text())
    assert len(statuses) > 1000
    assert {"200", "422"} <= set(statuses) <= {"200", "401", "404", "405", "409", "413", "422"}

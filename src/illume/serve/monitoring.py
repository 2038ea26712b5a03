"""Prometheus metrics and JSON log lines, without any contents of rows."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
import uuid
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from starlette.types import Message, Receive, Scope, Send

from illume.serve.json_text import to_text
from illume.serve.workers import Workers

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
MAX_PATH = 100

log = logging.getLogger("illume.serve")


class Monitor:
    """Middleware that logs and counts every request and gives it an id.

    Endpoints put the number of rows into `scope["state"]["rows"]`; unknown paths count as `other`.
    """

    # prometheus-fastapi-instrumentator counts neither rows nor waiting requests, and uvicorn's access log
    # knows neither rows, nor duration, nor request id.
    def __init__(self, app: FastAPI, registry: CollectorRegistry) -> None:
        self.app, self._paths = app, {getattr(route, "path", "") for route in app.routes}
        self.seconds = Histogram(
            "illume_request_seconds",
            "Requests and their duration, by path and status.",
            ["path", "status"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.rows = Counter("illume_rows", "Rows in requests.", ["path"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        start, status, state = time.perf_counter(), 0, scope.setdefault("state", {})
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = given.decode() if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        state["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except Exception as error:  # after the answer 500
            log.error("failed", extra={"fields": {"request_id": request_id, **error_fields(error)}})
        seconds = time.perf_counter() - start
        path = scope["path"] if scope["path"] in self._paths else "other"
        self.seconds.labels(path, str(status)).observe(seconds)
        if rows := state.get("rows"):
            self.rows.labels(path).inc(rows)
        fields = {
            "method": scope["method"],
            "path": scope["path"][:MAX_PATH],
            "status": status,
            "rows": state.get("rows"),
            "ms": round(1e3 * seconds, 3),
            "request_id": request_id,
        }
        log.info("request", extra={"fields": fields})


def make_registry(workers: Workers) -> CollectorRegistry:
    """Return metrics of the process and of its work; `Monitor` adds those of requests."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    working = Gauge("illume_working", "Requests in work or waiting.", registry=registry)
    working.set_function(lambda: workers.n_pending)
    abandoned = Gauge("illume_abandoned", "Threads whose call has not returned in time.", registry=registry)
    abandoned.set_function(lambda: workers.n_abandoned)
    return registry


def error_fields(error: BaseException, words: bool = False) -> dict[str, Any]:
    """Return the type and location of an error; its message, which may hold values of rows, only if asked."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "where": where[-8:], **({"words": str(error)} if words else {})}


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    # python-json-logger would print the messages of exceptions, which may hold values of rows.
    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= error_fields(record.exc_info[1])
        return to_text(line).decode()


def log_to_stdout() -> None:
    """Log the service, and warnings of uvicorn, to stdout as lines of JSON."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    for name, level in {"illume.serve": logging.INFO, "uvicorn": logging.WARNING}.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)

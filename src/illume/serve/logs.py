"""One line of JSON per request, without anything of its rows, and a request id."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from illume.serve.answers import as_json, json_response
from illume.serve.errors import BUG

GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
LONGEST_PATH = 100
NOTES = "illume.notes"

log = logging.getLogger("illume.serve")


@dataclass
class Notes:
    """What is known of a request once it was read."""

    request_id: str
    rows: int | None = None


@dataclass(frozen=True, eq=False)
class RequestLog:
    """Logs every request when it is done; errors that nobody foresaw are logged and answered with 500."""

    app: ASGIApp
    count: Callable[[str, int, float, int | None], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and say how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        notes, start, status = Notes(request_id(scope)), time.perf_counter(), 0
        scope[NOTES] = notes

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", notes.request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as error:
            log.error("failed", extra={"fields": {"request_id": notes.request_id, **inner(error)}})
            if not status:
                await json_response({"detail": BUG}, 500)(scope, receive, noted)
        seconds = time.perf_counter() - start
        self.count(scope["path"], status, seconds, notes.rows)
        fields = {
            "method": scope["method"],
            "path": scope["path"][:LONGEST_PATH],
            "status": status,
            "rows": notes.rows,
            "ms": round(1e3 * seconds, 3),
            "request_id": notes.request_id,
        }
        log.info("request", extra={"fields": fields})


def request_id(scope: Scope) -> str:
    """Return the caller's own request id if it is a plain word, else a new one."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return given.decode() if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex


def inner(error: BaseException) -> dict[str, Any]:
    """Say where an error came from; its words, which may hold values of rows, are left out."""
    where = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    return {"error": type(error).__name__, "where": where[-8:]}


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= inner(record.exc_info[1])
        return as_json(line).decode()


def log_to_stdout() -> None:
    """Let this service and its server log to stdout, a line of JSON each."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    for name, level in {"illume.serve": logging.INFO, "uvicorn": logging.WARNING}.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)

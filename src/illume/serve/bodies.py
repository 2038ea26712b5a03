"""Bodies of requests: read within limits, and parsed by a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from illume.serve.schemas import RowSchema
from illume.serve.settings import Settings
from illume.serve.workers import BUSY, RETRY

CLOSE = {"Connection": "close"}  # the rest of the request is not read
FREE_BYTES = 65_536  # of each body, which do not count for the limit of all: small requests always pass
FEWEST_VALUES = 100_000
MAX_PROBLEMS = 100


class Bodies:
    """Reads bodies within limits of time, of bytes and values of each, and of bytes of all at a time."""

    # Starlette's RequestBodyLimitMiddleware answers in plain text and leaves the connection open.
    def __init__(self, settings: Settings, n_columns: int) -> None:
        self.settings, self._n_held = settings, 0
        self.max_values = max(FEWEST_VALUES, 4 * settings.max_rows * (n_columns + 1))

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Read a body, whose bytes are counted until it is no longer needed."""
        held = _Held()
        try:
            yield await self._read(request, held)
        finally:
            self._n_held -= held.n_counted

    async def _read(self, request: Request, held: _Held) -> bytes:
        parts: list[bytes] = []
        due = asyncio.get_running_loop().time() + self.settings.timeout
        try:
            async with asyncio.timeout_at(request.scope["state"].get("deadline", due)):
                self._require_small(int(request.headers.get("content-length", "0")), 0)
                async for part in request.stream():
                    self._hold(held, part)
                    parts.append(part)
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive; send it at once", CLOSE) from None
        except ClientDisconnect:
            raise HTTPException(400, "the connection was closed before the body was complete") from None
        return b"".join(parts)

    def _hold(self, held: _Held, part: bytes) -> None:
        """Count the bytes of a part, and the values in it."""
        held.n_bytes += len(part)
        held.n_values += sum(map(part.count, (b",", b"[", b"{")))  # or more: text holds these, too
        self._require_small(held.n_bytes, held.n_values)
        more = max(0, held.n_bytes - FREE_BYTES) - held.n_counted
        if self._n_held + more > self.settings.max_total_bytes:
            raise HTTPException(503, BUSY, RETRY | CLOSE)
        held.n_counted += more
        self._n_held += more

    def _require_small(self, n_bytes: int, n_values: int) -> None:
        for found, most, unit in (
            (n_bytes, self.settings.max_bytes, "bytes"),
            (n_values, self.max_values, "values"),
        ):
            if found > most:
                detail = f"a request may hold {most:,} {unit}; send fewer rows at a time"
                raise HTTPException(413, detail, CLOSE)


class _Held:
    """What was read of a body."""

    n_bytes = n_values = n_counted = 0


class BodyRoute(APIRoute):
    """A route whose endpoint gets the bytes of the body; the declared type only describes them."""

    # FastAPI would parse and check them in the event loop, which all requests share.
    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the function that handles a request."""
        if self.body_field is None:
            return super().get_route_handler()

        async def handle(request: Request) -> Response:
            async with request.app.state.bodies.read(request) as body:
                answer: Response = await self.endpoint(request, body)
                return answer

        return handle


def parse_body(rows: RowSchema, model: type[BaseModel], body: bytes, content_type: str) -> Any:
    """Return the request in a body, checked; it must be standard JSON, without NaN or infinity."""
    kind = content_type.partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    try:
        values = from_json(body, allow_inf_nan=False) if body and is_json else None
    except ValueError as error:
        problem = {"type": "json_invalid", "loc": ("body",), "msg": "", "ctx": {"error": str(error)}}
        raise RequestValidationError([problem]) from None
    try:
        return model.model_validate(values)
    except ValidationError as error:
        found = rows.problems(error, values, MAX_PROBLEMS)
        raise RequestValidationError([each | {"loc": ("body", *each["loc"])} for each in found]) from None

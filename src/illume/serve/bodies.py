"""Bodies of requests, read within limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from fastapi import HTTPException
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from illume.serve.settings import Settings
from illume.serve.workers import BUSY, RETRY

CLOSE = {"Connection": "close"}  # the rest of the request is not read
FREE_BYTES = 65_536  # of each body, which do not count for the limit of all: small requests always pass
FEWEST_VALUES = 100_000


class BodyLimits:
    """Limits of bytes and values of each body, and of bytes of all bodies at a time."""

    # Starlette's RequestBodyLimitMiddleware limits neither time, nor values, nor the bytes of all.
    def __init__(self, settings: Settings, n_columns: int) -> None:
        self.settings, self.n_held = settings, 0
        self.max_values = max(FEWEST_VALUES, 4 * settings.max_rows * (n_columns + 1))

    def require_small(self, n_bytes: int, n_values: int = 0) -> None:
        """Raise if a body holds too much."""
        found = ((n_bytes, self.settings.max_bytes, "bytes"), (n_values, self.max_values, "values"))
        for n, most, unit in found:
            if n > most:
                detail = f"a request may hold {most:,} {unit}; send fewer rows at a time"
                raise HTTPException(413, detail, CLOSE)

    def hold(self, n_bytes: int) -> None:
        """Count bytes; raise if all bodies together hold too many."""
        if self.n_held + n_bytes > self.settings.max_total_bytes:
            raise HTTPException(503, BUSY, RETRY | CLOSE)
        self.n_held += n_bytes


class LimitedRequest(Request):
    """A request whose body is read within limits; its JSON has no NaN, infinity or halves of characters."""

    n_held = 0

    async def body(self) -> bytes:
        """Return the body."""
        due = asyncio.get_running_loop().time() + self.app.state.limits.settings.timeout
        try:
            async with asyncio.timeout_at(self.scope["state"].get("deadline", due)):
                return await super().body()
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive; send it at once", CLOSE) from None
        except ClientDisconnect:
            raise HTTPException(400, "the connection was closed before the body was complete") from None

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the body; raise as soon as they are too many."""
        limits: BodyLimits = self.app.state.limits
        limits.require_small(int(self.headers.get("content-length", "0")))
        n_bytes = n_values = 0
        async for part in super().stream():
            n_bytes += len(part)
            n_values += sum(map(part.count, (b",", b"[", b"{")))  # or more: text holds these, too
            limits.require_small(n_bytes, n_values)
            more = max(0, n_bytes - FREE_BYTES) - self.n_held
            limits.hold(more)
            self.n_held += more
            yield part

    async def json(self) -> Any:
        """Return the values of the body."""
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class LimitedRoute(APIRoute):
    """A route whose requests are limited; their bytes count until they are answered."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the function that handles a request."""
        handle = super().get_route_handler()

        async def handle_limited(request: Request) -> Response:
            limited = LimitedRequest(request.scope, request.receive)
            try:
                return await handle(limited)
            finally:
                request.app.state.limits.n_held -= limited.n_held

        return handle_limited

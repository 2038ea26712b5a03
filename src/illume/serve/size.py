"""Bodies that are too large or come in too slowly are refused before they are in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from illume.serve.answers import json_response

CLOSE = {"Connection": "close"}  # what else the caller sends is not read


@dataclass(frozen=True, eq=False)
class SizeLimit:
    """Refuses a body by its Content-Length, or while it comes in; never holds more than `max_bytes` of it."""

    app: ASGIApp
    max_bytes: int
    timeout: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with a body that is counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit() or int(length[:20]) > self.max_bytes:
            await json_response({"detail": self._said()}, 413, CLOSE)(scope, receive, send)
            return
        await self.app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        n_bytes = 0

        async def counted() -> Message:
            nonlocal n_bytes
            message = await self._in_time(receive) if n_bytes >= 0 else await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self.max_bytes:
                raise HTTPException(413, self._said(), CLOSE)
            if not message.get("more_body", False):
                n_bytes = -(2**63)  # all is there; what comes now is the end of the connection
            return message

        return counted

    async def _in_time(self, receive: Receive) -> Message:
        try:
            async with asyncio.timeout(self.timeout):
                return await receive()
        except TimeoutError:
            detail = f"nothing came in for {self.timeout:g} s; send the body at once"
            raise HTTPException(408, detail, CLOSE) from None

    def _said(self) -> str:
        return f"a request may hold {self.max_bytes:,} bytes; send fewer rows at a time"

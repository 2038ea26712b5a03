"""Who may ask: those who know the key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from illume.serve.answers import json_response

OPEN = frozenset({"/health"})
SCHEMES = {
    "Header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


@dataclass(frozen=True, eq=False)
class ApiKey:
    """Refuses requests without the key, before anything of their body is read; `/health` needs none."""

    app: ASGIApp
    key: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        if scope["type"] != "http" or scope["path"] in OPEN or self._known(scope):
            await self.app(scope, receive, send)
            return
        said = {"detail": "this service wants a key; send it as X-API-Key or as Authorization: Bearer"}
        headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
        await json_response(said, 401, headers)(scope, receive, send)

    def _known(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        bearer = token.strip() if scheme.lower() == b"bearer" else b""
        return same(headers.get(b"x-api-key", bearer), self.key.encode())


def same(given: bytes, key: bytes) -> bool:
    """Compare in a time that depends neither on where they differ nor on their lengths.

    >>> same(b"abc", b"abc"), same(b"abd", b"abc"), same(b"", b"abc")
    (True, False, False)
    """
    return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(key).digest())


def described(openapi: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Return a description of the service that says where a key is asked for, and how to send it."""

    @cache
    def with_key() -> dict[str, Any]:
        description = openapi()
        description.setdefault("components", {})["securitySchemes"] = SCHEMES
        for path, methods in description["paths"].items():
            for endpoint in methods.values():
                endpoint["security"] = [] if path in OPEN else [{name: []} for name in SCHEMES]
        return description

    return with_key

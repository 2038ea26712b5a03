"""Connections within limits of number, size and time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from illume.serve.settings import Settings

HEAD_SECONDS = 20.0
HEAD_BYTES = 65_536
GRACE_SECONDS = 1.0  # after the time limit of a request, in which the application may answer
MOST_SPARE = 100


class Connections:
    """Open connections. Those beyond the limits are spare: only questions about the service are answered.

    If there are too many spare ones, the oldest makes room: `/health` and `/ready` can always be asked.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._admitted: dict[LimitedProtocol, str] = {}
        self._by_address: Counter[str] = Counter()
        self._spare: dict[LimitedProtocol, None] = {}

    def admit(self, connection: LimitedProtocol) -> bool:
        """Whether a connection is, or now becomes, one within the limits."""
        if connection in self._admitted:
            return True
        address, limits = connection.client[0] if connection.client else "", self.settings
        if (
            len(self._admitted) < limits.max_connections
            and self._by_address[address] < limits.max_connections_per_address
        ):
            self._spare.pop(connection, None)
            self._admitted[connection] = address
            self._by_address[address] += 1
            return True
        self._spare[connection] = None
        if len(self._spare) > MOST_SPARE:
            oldest = next(iter(self._spare))
            del self._spare[oldest]
            oldest.transport.abort()
        return False

    def remove(self, connection: LimitedProtocol) -> None:
        """Forget a connection that was closed."""
        self._spare.pop(connection, None)
        if (address := self._admitted.pop(connection, None)) is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections on which a request takes too long, from first to last byte, or has a large head.

    Requests learn from their state when they must have arrived (`deadline`) and whether the connection is
    beyond the limits (`spare`).
    """

    # uvicorn limits the size of a head only with h11, and times not at all; its limit of connections counts
    # idle ones and questions about the service, too.
    _timer: asyncio.TimerHandle | None = None
    _in_head, _n_bytes = True, 0

    def __init__(self, limits: Connections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits, self._timeout = limits, limits.settings.timeout

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self.limits.admit(self)
        self._close_in(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        self.limits.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the head."""
        self._n_bytes += len(data)
        if self._timer is None:  # empty lines before a request do not begin one
            self._close_in(HEAD_SECONDS)
        super().data_received(data)
        if self._in_head and self._n_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head."""
        super().on_message_begin()
        state: dict[str, Any] = self.scope["state"]
        state["deadline"] = self.loop.time() + self._timeout
        state["spare"] = not self.limits.admit(self)
        self._in_head, self._n_bytes = True, 0
        self._close_in(min(HEAD_SECONDS, self._timeout))

    def on_headers_complete(self) -> None:
        """Wait for the body."""
        self._in_head = False
        self._close_in(self.scope["state"]["deadline"] + GRACE_SECONDS - self.loop.time())
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop waiting: the request is complete."""
        self._stop_timer()
        self._in_head, self._n_bytes = True, 0
        super().on_message_complete()

    def _close_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

"""Connections within limits of time, size and number."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from illume.serve.settings import Settings

HEAD_BYTES = 65_536
GRACE_SECONDS = 1.0  # to answer a request that is late, and at the end, for a request on its way to arrive


@dataclass(eq=False)
class Connections:
    """The connections that wait for a request or the rest of it, the oldest first; whether all should end."""

    settings: Settings
    waiting: dict[LimitedProtocol, None] = field(default_factory=dict)
    ending: bool = False


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which closes connections whose request arrives too slowly or has a large head.

    If there are too many connections, the one that has waited for its request longest makes room, so that
    `/health` and `/ready` can always be asked. Requests learn from their state when they must have arrived.
    """

    # uvicorn limits the size of a head only with h11, and times not at all; its limit of connections refuses
    # questions about the service, too.
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0.0

    def __init__(self, all_of_them: Connections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._all, self._waiting, self._settings = all_of_them, all_of_them.waiting, all_of_them.settings

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request; the connection that has waited longest may have to go."""
        super().connection_made(transport)
        self._waiting[self] = None
        self._start_timer()
        if self._all.ending:
            self.shutdown()
        if len(self.connections) > self._settings.max_connections:
            next(iter(self._waiting)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the head."""
        self._head_bytes += len(data)
        if self._timer is None:  # empty lines before a request do not begin one
            self._start_timer()
        super().data_received(data)
        if self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the rest of the request."""
        super().on_message_begin()
        self._head_bytes = 0.0
        self._start_timer()
        self.scope["state"]["deadline"] = self.loop.time() + self._settings.timeout

    def on_headers_complete(self) -> None:
        """Stop counting."""
        self._head_bytes = -math.inf
        super().on_headers_complete()
        self.cycle.keep_alive &= not self._all.ending

    def on_message_complete(self) -> None:
        """Stop waiting: the request is complete."""
        super().on_message_complete()
        if not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._waiting[self] = None

    def shutdown(self) -> None:
        """End after the running request, or after a moment in which one on its way can arrive."""
        if self.cycle is None or self.cycle.response_started:
            self.loop.call_later(GRACE_SECONDS, super().shutdown)
        else:  # the answer will say that the connection ends
            super().shutdown()

    def _start_timer(self) -> None:
        self._stop_timer()
        seconds = self._settings.timeout + GRACE_SECONDS
        self._timer = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _stop_waiting(self) -> None:
        self._stop_timer()
        self._waiting.pop(self, None)

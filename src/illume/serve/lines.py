"""Connections whose request does not come, or never ends, are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 20.0
HEAD_BYTES = 65_536


class TimedLine(HttpToolsProtocol):
    """A connection on which a request's head must come within some seconds and bytes.

    Bodies have limits of their own, see `SizeLimit`, and a connection at rest has uvicorn's.
    """

    _timer: asyncio.TimerHandle | None = None
    _n_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes; too much of a head ends the connection."""
        if self._timer is not None:
            self._n_bytes += len(data)
        super().data_received(data)
        if self._timer is not None and self._n_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head."""
        super().on_message_begin()
        if self._timer is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Wait no more: the head is there."""
        self._rest()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._n_bytes = 0
        self._timer = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

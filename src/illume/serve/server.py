"""The server process: uvicorn with limits on connections, stopped by a signal."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from illume.serve.app import make_app
from illume.serve.monitoring import log, log_to_stdout
from illume.serve.settings import Settings

if TYPE_CHECKING:
    from illume import Explainer

SWITCH_SECONDS = 0.0005  # how long a working thread may keep the event loop waiting
BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75  # longer than proxies keep their connections
WATCH_SECONDS = 1
HEAD_SECONDS = 20.0
HEAD_BYTES = 65_536


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections on which the head of a request is too slow or too large."""

    # uvicorn limits the size of a head only with h11, and its time not at all.
    _timer: asyncio.TimerHandle
    _n_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the head."""
        self._n_bytes += len(data)
        super().data_received(data)
        if not self._timer.cancelled() and self._n_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head."""
        super().on_message_begin()
        if self._timer.cancelled():
            self._start_timer()

    def on_headers_complete(self) -> None:
        """Stop waiting: the head is complete."""
        self._timer.cancel()
        super().on_headers_complete()

    def _start_timer(self) -> None:
        self._n_bytes = 0
        self._timer = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def run(explainer: Explainer, settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; running requests are finished first, within their time limit."""
    threadpool_limits(1)  # requests are small and run in parallel
    sys.setswitchinterval(SWITCH_SECONDS)
    log_to_stdout()
    app, service = make_app(explainer, settings)
    service.warm_up()
    # What exists by now stays; scanning it for garbage again and again would cause pauses.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="off",
        http=LimitedProtocol,
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(2 * settings.timeout) + 1,
        callback_notify=service.watch,
        timeout_notify=WATCH_SECONDS,
    )
    # uvicorn handles these signals, and raises them again after it has stopped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    host, port = listener.getsockname()[:2]
    log.info("started", extra={"fields": {"host": host, "port": port}})
    ready()
    uvicorn.Server(config).run(sockets=[listener])
    log.info("stopped")
    if service.workers.n_pending or service.workers.n_abandoned:
        os._exit(0)  # Python would wait for threads whose work may never end

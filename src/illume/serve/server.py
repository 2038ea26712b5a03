"""The server process: uvicorn with limits on connections, stopped by a signal."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from threadpoolctl import threadpool_limits

from illume.serve.app import make_app
from illume.serve.connections import Connections, LimitedProtocol
from illume.serve.monitoring import log, log_to_stdout
from illume.serve.settings import Settings

if TYPE_CHECKING:
    from illume import Explainer

SWITCH_SECONDS = 0.0005  # how long a working thread may keep the event loop waiting
BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75  # longer than proxies keep their connections
OTHER_FILES = 200  # open beside the connections


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def _allow_open_files(n_files: int) -> None:
    """Raise the limit of open files as far as is needed and allowed; with none left, nobody can connect."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(n_files, hard)), hard))


class Server(uvicorn.Server):
    """uvicorn's server, which at the end takes the connections that were made, but not accepted yet."""

    # They would be reset, with the requests that were sent on them.
    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.connections = connections

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and end all connections."""
        self.connections.ending = True
        loop, taken = asyncio.get_running_loop(), []
        common = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        make = partial(LimitedProtocol, self.connections, **common)
        for listener in sockets or []:
            with suppress(BlockingIOError):
                while True:
                    accepted, _ = listener.accept()
                    taken.append(loop.create_task(loop.connect_accepted_socket(make, accepted)))
        await super().shutdown(sockets)


def run(
    explainer: Explainer,
    settings: Settings,
    listener: socket.socket,
    ready: Callable[[], None],
    page: bytes | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; running requests are finished first, within their time limit."""
    threadpool_limits(1)  # requests are small and run in parallel
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_open_files(settings.max_connections + OTHER_FILES)
    log_to_stdout()
    app, service = make_app(explainer, settings, page)
    service.warm_up()
    # What exists by now stays; scanning it for garbage again and again would cause pauses.
    gc.collect()
    gc.freeze()
    connections = Connections(settings)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="off",
        http=partial(LimitedProtocol, connections),  # type: ignore[arg-type]
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(2 * settings.timeout) + 1,
    )
    # uvicorn handles these signals, and raises them again after it has stopped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    host, port = listener.getsockname()[:2]
    log.info("started", extra={"fields": {"host": host, "port": port}})
    ready()
    Server(config, connections).run(sockets=[listener])
    log.info("stopped")
    if service.workers.n_pending or service.workers.n_abandoned:
        os._exit(0)  # Python would wait for threads whose work may never end

"""A server for one explainer, until it is told to stop."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from illume.errors import MissingExtraError
from illume.serve.settings import Settings

SWITCH_SECONDS = 0.0005  # how long the thread that works may keep those that answer waiting
BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75  # longer than proxies keep their own end of a connection


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def serve(explainer: Any, settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; running requests are finished first, within their time limit.

    One thread of linear algebra, for rows come in few at a time and several requests are worked on at once.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError.of("uvicorn", "serve") from error
    from threadpoolctl import threadpool_limits

    from illume.serve.app import make_app
    from illume.serve.lines import TimedLine
    from illume.serve.logs import log, log_to_stdout

    threadpool_limits(1)
    sys.setswitchinterval(SWITCH_SECONDS)
    log_to_stdout()
    served = make_app(explainer, settings)
    served.warm()
    # All that is there by now stays; to look through it for garbage again and again would cost pauses.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        served.app,
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="off",
        http=TimedLine,
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(2 * settings.timeout) + 1,
    )
    # uvicorn stops at these, and then raises them once more for whoever is there.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    host, port = listener.getsockname()[:2]
    log.info("started", extra={"fields": {"host": host, "port": port}})
    ready()
    uvicorn.Server(config).run(sockets=[listener])
    log.info("stopped")

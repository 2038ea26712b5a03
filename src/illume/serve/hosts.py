"""Under which names the service may be asked.

A web page of anybody can let its own name point to this machine and then ask as if it came from here. Such
requests carry the page's name as their Host.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from illume.serve.answers import json_response

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def hosts_for(address: str, named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names by which a service at an address may be asked; none means any.

    >>> hosts_for("127.0.0.1", ("box.example",))
    ('127.0.0.1', '::1', 'localhost', 'box.example')
    >>> hosts_for("0.0.0.0", ())
    ()
    """
    if address in LOOPBACK:
        return (*LOOPBACK, *named)
    return (*LOOPBACK, address, *named) if named else ()


def host_of(header: str) -> str:
    """Return the name in a Host header, without port and brackets, in lower case.

    >>> host_of("LocalHost:8000"), host_of("[::1]:8000"), host_of("::1"), host_of("")
    ('localhost', '::1', '::1', '')
    """
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0] if name.count(":") == 1 else name


@dataclass(frozen=True, eq=False)
class KnownHosts:
    """Refuses requests under other names than the service's own."""

    app: ASGIApp
    hosts: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421."""
        if scope["type"] != "http" or self._known(scope):
            await self.app(scope, receive, send)
            return
        said = {"detail": "the service is not asked under this name; see --allowed-host"}
        await json_response(said, 421, {"Connection": "close"})(scope, receive, send)

    def _known(self, scope: Scope) -> bool:
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        return len(given) == 1 and host_of(given[0]) in self.hosts

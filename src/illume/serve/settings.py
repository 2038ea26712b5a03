"""Limits and access rules of a service."""

from __future__ import annotations

from dataclasses import dataclass

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Settings:
    """Limits and access rules of a service.

    Parameters
    ----------
    api_key
        Key that callers must send as `X-API-Key` or `Authorization: Bearer`; None for no key.
    cors
        Origins of web pages that may call the service.
    hosts
        Accepted values of the Host header; empty for any.
    max_rows, max_bytes
        Limits of a request.
    timeout
        Seconds for a request's body to arrive, and again for its work.
    workers, max_waiting
        How many requests are worked on at a time, and how many more may wait.
    max_connections
        Connections at a time; more are answered with 503.
    """

    api_key: str | None = None
    cors: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    max_rows: int = 1_000
    max_bytes: int = 10_000_000
    timeout: float = 30.0
    workers: int = 2
    max_waiting: int = 128
    max_connections: int = 1_000

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_bytes", "timeout", "workers", "max_connections"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, found {getattr(self, name)!r}")
        if self.api_key is not None and not self.api_key.strip():
            raise ValueError("the API key is empty; give one, or leave the option out for none")
        for host in self.hosts:
            if "*" in host.removeprefix("*."):
                raise ValueError(
                    f"host {host!r} is invalid; expected a name such as api.example.com or *.example.com"
                )


def allowed_hosts(address: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the Host headers that a service at an address accepts; empty for any.

    A web page can point its own name to this machine and call a local service (DNS rebinding); its requests
    have the page's name as Host.

    >>> allowed_hosts("127.0.0.1", ("box.example",))
    ('127.0.0.1', '[::1]', 'localhost', 'box.example')
    >>> allowed_hosts("0.0.0.0", ())
    ()
    """
    if address not in LOOPBACK and not names:
        return ()
    hosts = dict.fromkeys((*LOOPBACK, address, *names))
    return tuple(f"[{host}]" if ":" in host else host for host in hosts)

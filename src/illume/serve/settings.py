"""Limits and access rules of a service."""

from __future__ import annotations

from dataclasses import dataclass, fields

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TIMEOUT = 0.1


@dataclass(frozen=True)
class Settings:
    """Limits and access rules of a service.

    >>> Settings(workers=0)
    Traceback (most recent call last):
    ValueError: workers is 0; expected an integer, 1 or more
    """

    api_key: str | None = None
    cors: tuple[str, ...] = ()  # origins of web pages that may call
    hosts: tuple[str, ...] = ()  # accepted Host headers; empty for any
    max_rows: int = 1_000  # of a request
    max_bytes: int = 10_000_000
    max_total_bytes: int = 256_000_000  # of all requests at a time
    timeout: float = 30.0  # seconds for a request to arrive, and again for the work
    workers: int = 2  # requests worked on at a time
    max_waiting: int = 128  # requests of a kind that may wait besides
    max_abandoned: int = 8  # threads whose call has not returned in time; then no work is accepted
    max_connections: int = 1_000  # of more, the one that has waited longest for its request is closed
    log_words: bool = False  # whether messages of the model's errors, which may hold values, are logged

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "max_waiting" else 1
            whole = isinstance(value, int) and not isinstance(value, bool)
            if field.type == "int" and not (whole and value >= least):
                raise ValueError(f"{field.name} is {value!r}; expected an integer, {least} or more")
        if self.max_total_bytes < self.max_bytes:
            raise ValueError(
                f"max_total_bytes is {self.max_total_bytes:,}, less than max_bytes, {self.max_bytes:,}"
            )
        number = isinstance(self.timeout, (int, float)) and not isinstance(self.timeout, bool)
        if not (number and SHORTEST_TIMEOUT <= self.timeout < float("inf")):
            raise ValueError(f"timeout is {self.timeout!r}; expected seconds, {SHORTEST_TIMEOUT:g} or more")
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

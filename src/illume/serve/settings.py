"""What a service allows, and how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Limits and access of a service.

    Parameters
    ----------
    api_key
        What callers must send as `X-API-Key` or `Authorization: Bearer`; without, everybody may ask.
    cors
        Origins whose web pages may ask; none by default.
    hosts
        Names under which the service may be asked, as in a request's Host; none means any.
    max_rows, max_bytes
        How many rows, and how many bytes, a request may hold.
    timeout
        Seconds for a request to come in, and again for its work to be done.
    workers, max_waiting
        How many requests are worked on at a time, and how many more may wait for that.
    max_connections
        How many callers may be connected at a time; more are answered 503.
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
        """Refuse limits that let nothing through."""
        for name in ("max_rows", "max_bytes", "timeout", "workers", "max_connections"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, found {getattr(self, name)!r}")
        if self.api_key is not None and not self.api_key.strip():
            raise ValueError("the API key is empty; give one, or leave the option out to have none")

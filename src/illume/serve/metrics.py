"""Figures for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OTHER = "other"


class Metrics:
    """Counts requests, their time and their rows, by path; unknown paths count together."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, paths: frozenset[str], taken: Callable[[], int]) -> None:
        self.paths = paths
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "illume_requests", "Requests, by path and status.", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "illume_request_seconds",
            "Seconds that requests took.",
            ["path"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.rows = Counter("illume_rows", "Rows in requests.", ["path"], registry=self.registry)
        working = Gauge(
            "illume_working", "Requests that are being worked on or wait for it.", registry=self.registry
        )
        working.set_function(taken)

    def count(self, path: str, status: int, seconds: float, rows: int | None) -> None:
        """Count a request."""
        path = path if path in self.paths else OTHER
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)
        if rows:
            self.rows.labels(path).inc(rows)

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self.registry)

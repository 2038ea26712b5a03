"""Ask an application without a network."""

import asyncio
from typing import Any

import httpx

from illume.serve.app import make_app
from illume.serve.settings import Settings


class Client:
    """Puts requests to a service in this process."""

    def __init__(self, explainer: Any, **settings: Any) -> None:
        self.served = make_app(explainer, Settings(**settings))

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self.asked(method, path, **options))

    async def asked(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **options)


def records(frame: Any) -> list[dict[str, Any]]:
    """Return rows as a caller writes them in JSON; a missing value is None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()} for row in rows
    ]

"""Bodies of requests, read by a strict parser of JSON: no NaN, no infinity, no half characters."""

from __future__ import annotations

from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.requests import Request


class StrictRequest(Request):
    """A request whose body must be JSON as other programs write it."""

    async def json(self) -> Any:
        """Return the values of the body."""
        body = await self.body()
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None  # what FastAPI makes a 422 of


class StrictRoute(APIRoute):
    """Reads bodies strictly."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return what handles a request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Any:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict

"""The explorer of a service: a page that asks the service's own model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import Response

from illume.report.explorer import ExplorerRequest, explorer_data, fill_explorer
from illume.report.page import date_text
from illume.serve.settings import Settings

if TYPE_CHECKING:
    from illume import Explainer

EXPLORER = "/explorer"
MAX_ROWS = 1_000
HEADERS = {
    "Cache-Control": "no-store",  # it holds values of rows
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself says the rest
    "X-Content-Type-Options": "nosniff",
}


def make_page(explainer: Explainer, frame: Any, settings: Settings, **options: Any) -> bytes:
    """Return the page that shows the rows of a frame: 1,000 at most, evenly spaced.

    Options are those of counterfactuals.
    """
    fitted = explainer._fit_for_pages()
    request = ExplorerRequest(max_rows=MAX_ROWS, options=options)
    data = explorer_data(fitted, explainer.get_params(deep=False), frame, request)
    seconds = 2 * settings.timeout + 1  # for a request to arrive, and for its work
    service = {"model": fitted.has_model, "max_rows": settings.max_rows, "seconds": seconds}
    data["page"]["service"] = service
    return fill_explorer(data, date_text(None), live=True)


def add_explorer(api: FastAPI, page: bytes) -> None:
    """Serve the page at `/explorer`."""

    async def explorer(_: Any) -> Response:
        return Response(page, headers=HEADERS, media_type="text/html; charset=utf-8")

    api.add_route(EXPLORER, explorer, include_in_schema=False)

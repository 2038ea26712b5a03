"""The endpoints put together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from illume import __version__
from illume.errors import IllumeError
from illume.serve import answers
from illume.serve.access import ApiKey, described
from illume.serve.answers import Problem, as_json, json_response
from illume.serve.bodies import StrictRoute
from illume.serve.errors import ErrorAnswers, form_of
from illume.serve.hosts import KnownHosts
from illume.serve.logs import NOTES, RequestLog
from illume.serve.metrics import Metrics
from illume.serve.requests import Requests
from illume.serve.service import Service
from illume.serve.settings import Settings
from illume.serve.work import Deadline, Workers

ABOUT = (
    "Attributions, rules and counterfactuals of rows, the numbers that the library gives. "
    "Rows come as JSON objects with a field per column; a missing value is null."
)
WRONG: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "The key is missing or wrong (only where one is set)."},
    408: {"model": Problem, "description": "The body did not come in within the time limit."},
    409: {"model": Problem, "description": "It needs what is not here: the model, or what was not saved."},
    413: {"model": Problem, "description": "Too many bytes or rows."},
    421: {"model": Problem, "description": "The service is not asked under this name."},
    422: {"model": answers.FieldProblems, "description": "Values that cannot be used, by row and field."},
    500: {"model": Problem, "description": "An error inside the service."},
    503: {"model": Problem, "description": "Too many requests at a time."},
    504: {"model": Problem, "description": "The work took too long and was given up."},
}


@dataclass(frozen=True, eq=False)
class Served:
    """The application of a server, and the parts that outlive a request."""

    app: ASGIApp
    api: FastAPI
    workers: Workers
    service: Service

    def warm(self) -> None:
        """Explain a made-up row, so that the first caller does not wait for what is loaded on first need."""
        with suppress(IllumeError):  # whatever the model has against it
            self.service.explainer(self.service.rows.frame([self.service.rows.example]))


def make_app(explainer: Any, settings: Settings | None = None) -> Served:
    """Return the application that serves a fitted explainer."""
    settings = settings or Settings()
    service = Service.of(explainer)
    workers = Workers(settings.workers, settings.max_waiting, settings.timeout)
    api = FastAPI(title="illume", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    api.router.route_class = StrictRoute
    ErrorAnswers(settings.max_rows, settings.timeout, form_of(service.rows.example)).add_to(api)
    requests = Requests.of(service.rows, settings)
    for posted in (
        Posted("/explain", requests.explain, service.explain, answers.ExplainAnswer),
        Posted("/rules", requests.rules, service.rules, answers.RulesAnswer),
        Posted(
            "/counterfactuals",
            requests.counterfactuals,
            service.counterfactuals,
            answers.CounterfactualsAnswer,
            service.check_counterfactuals,
        ),
    ):
        posted.add_to(api, workers)
    paths = frozenset({"/explain", "/rules", "/counterfactuals", "/quality", "/health", "/metrics"})
    metrics = Metrics(paths, lambda: workers.n_taken)
    _get(api, "/quality", service.quality, answers.QualityAnswer)
    _get(api, "/health", service.health, answers.HealthAnswer)
    _get_metrics(api, metrics)
    if settings.api_key is not None:
        api.openapi = described(api.openapi)  # type: ignore[method-assign]
    return Served(RequestLog(_guarded(api, settings), metrics.count), api, workers, service)


def _guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Put limits and access around the endpoints; the key is asked for before a body is read."""
    from illume.serve.size import SizeLimit

    app = SizeLimit(app, settings.max_bytes, settings.timeout)
    if settings.api_key is not None:
        app = ApiKey(app, settings.api_key)
    if settings.cors:
        app = CORSMiddleware(
            app,
            allow_origins=list(settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", "X-API-Key", "Authorization", "X-Request-ID"],
            expose_headers=["X-Request-ID"],
        )
    return KnownHosts(app, settings.hosts) if settings.hosts else app


@dataclass(frozen=True, eq=False)
class Posted:
    """An endpoint whose work is done by a thread, up to the JSON of the answer."""

    path: str
    model: Any
    work: Callable[[Any, Deadline], Any]
    answer: Any
    check: Callable[[Any], None] = lambda _: None

    def add_to(self, api: FastAPI, workers: Workers) -> None:
        """Let an application have this endpoint."""

        async def endpoint(request: Request, body: Any) -> Response:
            request.scope[NOTES].rows = len(body.rows)
            self.check(body)
            found = await workers.run(lambda deadline: as_json(self.work(body, deadline)))
            return Response(found, media_type="application/json")

        endpoint.__annotations__ |= {"request": Request, "body": self.model}
        endpoint.__doc__ = self.answer.__doc__
        responses = {200: {"model": self.answer}, **WRONG}
        api.post(self.path, name=self.path[1:], response_class=Response, responses=responses)(endpoint)


def _get(api: FastAPI, path: str, read: Callable[[], Any], answer: Any) -> None:
    async def endpoint() -> Response:
        return json_response(read())

    endpoint.__doc__ = answer.__doc__
    responses: dict[int | str, dict[str, Any]] = {
        200: {"model": answer},
        401: WRONG[401],
        421: WRONG[421],
    }
    api.get(path, name=path[1:], response_class=Response, responses=responses)(endpoint)


def _get_metrics(api: FastAPI, metrics: Metrics) -> None:
    async def endpoint() -> Response:
        return Response(metrics.text(), headers={"Content-Type": metrics.content_type})

    endpoint.__doc__ = "Figures for Prometheus."
    responses: dict[int | str, dict[str, Any]] = {
        200: {"content": {"text/plain": {}}, "description": "Figures as Prometheus reads them."},
        401: WRONG[401],
        421: WRONG[421],
    }
    api.get("/metrics", name="metrics", response_class=Response, responses=responses)(endpoint)

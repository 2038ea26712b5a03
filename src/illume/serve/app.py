"""The FastAPI application: endpoints, access and limits."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from illume import __version__
from illume.serve import schemas
from illume.serve.bodies import CLOSE, Bodies, BodyRoute, parse_body
from illume.serve.explorer import EXPLORER, add_explorer
from illume.serve.handlers import JsonAnswer, add_error_handlers
from illume.serve.monitoring import Monitor, make_registry
from illume.serve.schemas import Problem
from illume.serve.service import Service
from illume.serve.settings import Settings
from illume.serve.workers import RETRY

if TYPE_CHECKING:
    from illume import Explainer

ABOUT = (
    "Attributions, rules and counterfactuals of rows, with the numbers of the library. "
    "Rows are JSON objects with a field per column; a missing value is null."
)
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The Host header is not one of this service's names."},
    401: {"model": Problem, "description": "The key is missing or wrong (only if one is set)."},
    408: {"model": Problem, "description": "The request did not arrive within the time limit."},
    409: {"model": Problem, "description": "The model, or data that was not saved, is missing."},
    413: {"model": Problem, "description": "Too many bytes, values or rows."},
    422: {"model": schemas.FieldProblems, "description": "Invalid values, by row and field."},
    500: {"model": Problem, "description": "An error inside the service."},
    502: {"model": Problem, "description": "The model failed; the service's log has the reason."},
    503: {"model": Problem, "description": "Too many requests, bytes or connections at a time."},
    504: {"model": Problem, "description": "The work took too long and was stopped."},
}
HEADER, BEARER = APIKeyHeader(name="X-API-Key", auto_error=False), HTTPBearer(auto_error=False)
OPEN = ("/health", "/ready")


class ApiKey:
    """Middleware that refuses requests without the key before their body is read; open paths need none."""

    # As dependencies of endpoints, FastAPI's security classes would run after the body is read.
    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.key = app, key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        request = Request(scope)
        bearer = await BEARER(request)
        given = await HEADER(request) or (bearer.credentials if bearer else _password(request))
        if scope["path"] in OPEN or secrets.compare_digest(given.encode("latin-1"), self.key):
            await self.app(scope, receive, send)
            return
        detail = {"detail": "this service requires a key; send it as X-API-Key or as Authorization: Bearer"}
        scheme = 'Basic realm="illume: any name, and the key"' if scope["path"] == EXPLORER else "Bearer"
        await JsonAnswer(detail, 401, {"WWW-Authenticate": scheme, **CLOSE})(scope, receive, send)


def _password(request: Request) -> str:
    """Return the password that a browser asked for, which it sends with every request of a page, too."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    try:
        named = base64.b64decode(given, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        return ""
    return named.partition(b":")[2].decode("latin-1")


class Spare:
    """Middleware that refuses requests of connections beyond the limits, except those to open paths."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["state"].get("spare") and scope["path"] not in OPEN:
            answer = JsonAnswer({"detail": "too many connections; try again"}, 503, RETRY | CLOSE)
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def make_app(explainer: Explainer, settings: Settings, page: bytes | None = None) -> tuple[ASGIApp, Service]:
    """Return the application that serves a fitted explainer, and the service; `page` is its explorer."""
    service = Service(explainer, settings)
    api = FastAPI(
        title="illume",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=_middleware(settings),
    )
    api.router.route_class = BodyRoute
    api.state.settings, api.state.bodies = settings, Bodies(settings, len(service.rows.example))
    add_error_handlers(api, settings, service.rows.example)
    security = [] if settings.api_key is None else [Security(HEADER), Security(BEARER)]
    wish = service.outputs.example_wish()
    for name, options, example, answer in (
        ("explain", schemas.ExplainOptions, {}, schemas.explain_answer(service.outputs)),
        ("rules", schemas.RulesOptions, {"precision": 0.9, **wish}, schemas.RulesAnswer),
        ("counterfactuals", schemas.CounterfactualsOptions, {"n": 2, **wish}, schemas.CounterfactualsAnswer),
    ):
        model = service.rows.request(f"{name.capitalize()}Request", options, settings.max_rows, **example)
        api.post(
            f"/{name}",
            name=name,
            description=answer.__doc__,
            response_class=Response,
            responses={200: {"model": answer}, **PROBLEMS},
            dependencies=security,
        )(_work_endpoint(model, name, service))
    registry = make_registry(service.workers)
    _add_reads(api, service, registry, security)
    if page is not None:
        add_explorer(api, page)
    return Monitor(api, registry), service


def _middleware(settings: Settings) -> list[Middleware]:
    """Return the middleware, outermost first."""
    cors: dict[str, Any] = {
        "allow_origins": settings.cors,
        "allow_methods": ["GET", "POST"],
        "allow_headers": ["Content-Type", "X-API-Key", "Authorization", "X-Request-ID"],
        "expose_headers": ["X-Request-ID"],
    }
    middleware = [
        Middleware(Spare),
        settings.hosts and Middleware(TrustedHostMiddleware, settings.hosts, www_redirect=False),
        settings.cors and Middleware(CORSMiddleware, **cors),
        settings.api_key and Middleware(ApiKey, settings.api_key),
    ]
    return [each for each in middleware if isinstance(each, Middleware)]


def _work_endpoint(model: Any, kind: str, service: Service) -> Any:
    """Return an endpoint whose work, from the JSON of the body to that of the answer, is done by threads."""

    def work(request: Request, body: bytes) -> Iterator[bytes | None]:
        asked = parse_body(service.rows, model, body, request.headers.get("content-type", ""))
        request.state.rows = len(asked.rows)
        service.check(kind, asked)
        yield from service.explain(kind, asked)

    async def endpoint(request: Request, body: bytes) -> Response:
        answer = await service.workers.run(kind, work(request, body))
        return Response(answer, media_type="application/json")

    endpoint.__annotations__ |= {"request": Request, "body": model}
    return endpoint


def _add_reads(api: FastAPI, service: Service, registry: CollectorRegistry, security: list[Any]) -> None:
    problems: dict[int | str, Any] = {status: PROBLEMS[status] for status in (400, 401)}
    text = {"content": {"text/plain": {}}, "description": "Prometheus text format."}

    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def openapi(_: Request) -> Response:
        return JsonAnswer(api.openapi())

    api.add_route("/openapi.json", openapi, include_in_schema=False)
    for endpoint, answer, needs in (
        (service.info, {"model": schemas.InfoAnswer}, security),
        (service.quality, {"model": schemas.QualityAnswer}, security),
        (service.health, {"model": schemas.HealthAnswer}, []),
        (service.ready, {"model": schemas.ReadyAnswer}, []),
        (metrics, text, security),
    ):
        api.get(
            f"/{endpoint.__name__}",
            responses={200: answer, **({503: answer} if endpoint == service.ready else {}), **problems},
            dependencies=needs,
            response_class=JsonAnswer,
            response_model=None,
        )(endpoint)

"""The FastAPI application: endpoints, access and limits."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from illume import __version__
from illume.serve import schemas
from illume.serve.bodies import CLOSE, BodyLimits, LimitedRoute
from illume.serve.handlers import JsonAnswer, add_error_handlers
from illume.serve.monitoring import Monitor, make_registry
from illume.serve.pages import EXPLORER, make_index
from illume.serve.schemas import Problem
from illume.serve.service import Service
from illume.serve.settings import Settings

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
OPEN = ("/", "/health", "/ready")


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
    api.router.route_class = LimitedRoute
    api.state.limits = BodyLimits(settings, len(service.rows.example))
    add_error_handlers(api, settings, service.rows)
    security = [] if settings.api_key is None else [Security(HEADER), Security(BEARER)]
    wish = schemas.example_options(service.outputs)
    for name, example, options, answer in (
        ("explain", {}, schemas.ExplainOptions, schemas.ExplainAnswer),
        ("rules", {"precision": 0.9}, schemas.RulesOptions, schemas.RulesAnswer),
        ("counterfactuals", {"n": 2}, schemas.CounterfactualsOptions, schemas.CounterfactualsAnswer),
    ):
        example |= {} if name == "explain" else wish
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
    _add_pages(api, page)
    return Monitor(api, registry), service


def _middleware(settings: Settings) -> list[Middleware]:
    """Return the middleware, outermost first."""
    cors: dict[str, Any] = {
        "allow_origins": settings.cors,
        "allow_methods": ["GET", "POST"],
        "allow_headers": ["Content-Type", "X-API-Key", "Authorization", "X-Request-ID"],
        "expose_headers": ["X-Request-ID"],
    }
    hosts = [Middleware(TrustedHostMiddleware, settings.hosts, www_redirect=False)] if settings.hosts else []
    keys = [Middleware(ApiKey, settings.api_key)] if settings.api_key else []
    return [*hosts, *([Middleware(CORSMiddleware, **cors)] if settings.cors else []), *keys]


def _work_endpoint(model: Any, kind: str, service: Service) -> Any:
    """Return an endpoint whose work is done by threads."""

    async def endpoint(request: Request, asked: Any) -> Response:
        request.state.rows = len(asked.rows)
        service.check(kind, asked)
        answer = await service.workers.run(kind, service.explain(kind, asked))
        return Response(answer, media_type="application/json")

    endpoint.__annotations__ |= {"request": Request, "asked": model}
    return endpoint


def _add_reads(api: FastAPI, service: Service, registry: CollectorRegistry, security: list[Any]) -> None:
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def openapi(_: Request) -> Response:
        return JsonAnswer(api.openapi())

    api.add_route("/openapi.json", openapi, include_in_schema=False)
    text = {"content": {"text/plain": {}}, "description": "Prometheus text format."}
    ready = {"model": schemas.ReadyAnswer}
    endpoints: tuple[tuple[Any, dict[int | str, Any], list[Any]], ...] = (
        (service.info, {200: {"model": schemas.InfoAnswer}}, security),
        (service.quality, {200: {"model": schemas.QualityAnswer}}, security),
        (service.health, {200: {"model": schemas.HealthAnswer}}, []),
        (service.ready, {200: ready, 503: ready}, []),
        (metrics, {200: text}, security),
    )
    for endpoint, answers, needs in endpoints:
        api.get(
            f"/{endpoint.__name__}",
            responses={**answers, 400: PROBLEMS[400], 401: PROBLEMS[401]},
            dependencies=needs,
            response_class=JsonAnswer,
            response_model=None,
        )(endpoint)


def _add_pages(api: FastAPI, page: bytes | None) -> None:
    """Serve the page of links at `/`, and the explorer, if there is one."""

    def add(path: str, content: str | bytes, headers: dict[str, str]) -> None:
        async def answer(_: Request) -> Response:
            return HTMLResponse(content, headers=headers)

        api.add_route(path, answer, include_in_schema=False)

    plain = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "frame-ancestors 'none'"}
    if page is not None:  # which holds values of rows, and says the rest of its policy itself
        add(EXPLORER, page, {"Cache-Control": "no-store", **plain})
    add("/", make_index([route.path for route in api.routes if isinstance(route, Route)]), plain)

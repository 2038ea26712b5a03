"""`illume serve`: an explainer as a service over HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from illume.cli.errors import CommandError, UsageError
from illume.cli.loading import how_to_give_model, load_explainer
from illume.cli.options import Debug, ExplainerFile, Model, Quiet, TrustModel, UnknownCategories, voice_of
from illume.cli.voice import Voice
from illume.errors import MissingExtraError

PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


@dataclass(frozen=True)
class Request:
    """What to serve, and where."""

    explainer: Path
    model: Path | None
    trusted: bool
    host: str
    port: int
    unknown: str | None = None


def serve(request: Request, settings: dict[str, Any], voice: Voice) -> None:
    """Serve an explainer until told to stop.

    Several requests are worked on at once, each in a thread; libraries that would have more threads for every
    one of them are kept to one, unless the environment says otherwise. They read this when they are loaded.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _require_packages()
    from illume.serve.hosts import LOOPBACK, hosts_for
    from illume.serve.running import serve as run
    from illume.serve.settings import Settings

    try:
        checked = Settings(**settings | {"hosts": hosts_for(request.host, settings["hosts"])})
    except ValueError as error:
        raise UsageError(str(error)) from error
    listener = _listener(request)  # first, for loading takes longer than to see that this fails
    port = listener.getsockname()[1]
    host = f"[{request.host}]" if ":" in request.host else request.host
    with listener:
        explainer = load_explainer(request.explainer, request.model, voice, request.trusted, request.unknown)
        if request.model is None:
            how = how_to_give_model(request.explainer)
            voice.note(f"without the model, its decisions are guessed by the surrogate; give it with {how}")
        if request.host not in LOOPBACK and checked.api_key is None:
            voice.warning(f"{request.host} can be reached by others, and no key is asked for; see --api-key")
        said = f"Serving on http://{host}:{port} (Ctrl-C stops)"
        run(explainer, checked, listener, lambda: voice.say(said))


def _listener(request: Request) -> Any:
    from illume.serve.running import listening

    try:
        return listening(request.host, request.port)
    except OSError as error:
        where = f"{request.host}:{request.port}"
        said = error.strerror or str(error)
        raise CommandError(f"cannot listen on {where}: {said}; try another --port or --host") from error


def _require_packages() -> None:
    from importlib.util import find_spec

    for package in PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError.of(package, "serve")


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    *,
    model: Model = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(
            envvar="ILLUME_API_KEY",
            metavar="KEY",
            help="Key that callers must send; better set by ILLUME_API_KEY.",
        ),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Origin whose web pages may ask; may be repeated."),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Name, beside this machine's own, to be asked under; may be repeated."
        ),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Callers that may be connected at a time.")
    ] = 1_000,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows in a request at most.")] = 1_000,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes in a request at most.")] = 10_000_000,
    timeout: Annotated[float, typer.Option(help="Seconds for the work of a request.")] = 30.0,
    workers: Annotated[
        int, typer.Option(min=1, help="Requests worked on at a time; 1 if the model bears no threads.")
    ] = 2,
    unknown: UnknownCategories = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Serve explanations over HTTP: /explain, /rules, /counterfactuals, /quality, /health, /metrics.

    Logs go to stdout, a line of JSON per request; /openapi.json describes all.

    [b]illume serve loans.illume --model loans.model.joblib[/]
    """
    request = Request(explainer, model, trust_model, host, port, unknown)
    settings = {
        "api_key": api_key,
        "cors": tuple(cors or ()),
        "hosts": tuple(name.lower() for name in allowed_host or ()),
        "max_connections": max_connections,
        "max_rows": max_rows,
        "max_bytes": max_bytes,
        "timeout": timeout,
        "workers": workers,
    }
    serve(request, settings, voice_of(context, quiet, debug))

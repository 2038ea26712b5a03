"""`illume serve`: an explainer as an HTTP service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from illume.cli import options
from illume.cli.load import ask, load_explainer, note_stand_in, read_rows_for
from illume.cli.messages import CommandError, Messages, UsageError
from illume.cli.options import Names
from illume.cli.read_rows import file_name
from illume.errors import import_extra, rows_after

if TYPE_CHECKING:
    from illume import Explainer
    from illume.serve.settings import Settings

PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


def serve(
    context: Context,
    explainer: options.ExplainerFile,
    *,
    model: options.Model = None,
    explorer: Annotated[
        Path | None,
        Option(metavar="ROWS", help="CSV or Parquet file of rows to change at /explorer."),
    ] = None,
    desired: options.Desired = None,
    desired_range: options.DesiredRange = None,
    vary: options.Vary = None,
    immutable: options.Immutable = None,
    direction: options.Direction = None,
    host: Annotated[str, Option(help="Address to listen on; by default this machine only.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8000,
    api_key: Annotated[
        str | None, Option(envvar="ILLUME_API_KEY", metavar="KEY", help="Key that callers must send.")
    ] = None,
    cors: Annotated[Names, Option(metavar="ORIGIN", help="Web origin that may call; repeatable.")] = None,
    allowed_host: Annotated[
        Names,
        Option(metavar="NAME", help="Host name to accept besides this machine's own; repeatable."),
    ] = None,
    max_connections: Annotated[int, Option(min=1, help="Most connections at a time.")] = 1_000,
    max_rows: Annotated[int, Option(min=1, help="Most rows per request.")] = 1_000,
    max_bytes: Annotated[int, Option(min=1, help="Most bytes per request.")] = 10_000_000,
    max_total_bytes: Annotated[
        int, Option(min=1, help="Most bytes of all requests at a time.")
    ] = 256_000_000,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds for a request to arrive, and again for its work.")
    ] = 30.0,
    workers: Annotated[
        int, Option(min=1, help="Requests worked on at a time; 1 if the model is not thread-safe.")
    ] = 2,
    max_abandoned: Annotated[
        int, Option(min=1, help="Most threads whose call does not return; then no work is accepted.")
    ] = 8,
    positive_class: options.PositiveClass = None,
    threshold: options.Threshold = None,
    unknown: options.UnknownCategories = None,
    trust_model: options.TrustModel = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Serve explanations over HTTP: /explain, /rules, /counterfactuals, /info, /quality, /health, /ready.

    With --explorer, /explorer is a page to change the rows of a file in, with the model's own answers; what
    counterfactuals may change is what its search starts with.

    Logs go to stdout, a line of JSON per request; /openapi.json describes the service.

    [b]illume serve loans.illume --model loans.model.joblib --trust-model[/]
    """
    messages = options.start(context, quiet, debug)
    given = options.search_options(desired, desired_range, vary, immutable, direction)
    if given and explorer is None:
        raise UsageError("what counterfactuals may change is for the explorer; give its rows with --explorer")
    # Requests run in parallel threads already, so libraries get one thread each. They read this on import.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for package in PACKAGES:
        import_extra(package, "serve")
    from illume.serve.server import listen, run
    from illume.serve.settings import LOOPBACK, Settings, allowed_hosts

    try:
        settings = Settings(
            api_key=api_key,
            cors=tuple(cors or ()),
            hosts=allowed_hosts(host, tuple(allowed_host or ())),
            max_connections=max_connections,
            max_rows=max_rows,
            max_bytes=max_bytes,
            max_total_bytes=max_total_bytes,
            timeout=timeout,
            workers=workers,
            max_abandoned=max_abandoned,
            log_words=debug,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    try:
        listener = listen(host, port)  # before loading, which takes longer
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            f"cannot listen on {host}:{port}: {reason}; try another --port or --host"
        ) from error
    with listener:
        loaded = load_explainer(explainer, model, messages, trust_model, unknown)
        ask(loaded, positive_class, threshold)
        note_stand_in(explainer, model, messages)
        if host not in LOOPBACK and api_key is None:
            messages.warning(f"{host} can be reached by others, and no key is required; see --api-key")
        page = None if explorer is None else _make_page(loaded, explorer, settings, messages, given)
        address = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        started = f"Serving on http://{address} (Ctrl-C stops)"
        if page is not None:
            started += f"; the explorer is at http://{address}/explorer"
        run(loaded, settings, listener, lambda: messages.info(started), page)


def _make_page(
    explainer: Explainer, rows: Path, settings: Settings, messages: Messages, given: dict[str, Any]
) -> bytes:
    from illume.serve.pages import make_page

    frame = read_rows_for(explainer, rows)
    messages.info(f"Explaining rows of {file_name(rows)} for the explorer …")
    with rows_after(0, file_name(rows)):
        wanted = options.split_columns(given, list(frame.columns))
        return make_page(explainer, frame, settings, **wanted)

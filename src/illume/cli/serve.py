"""`illume serve`: an explainer as an HTTP service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from illume.cli import options
from illume.cli.load import load_explainer, note_stand_in, read_rows_for
from illume.cli.messages import CommandError, Messages, UsageError
from illume.cli.options import Names
from illume.cli.read_rows import file_name, require_csv
from illume.errors import import_extra, rows_after

if TYPE_CHECKING:
    from illume import Explainer
    from illume.serve.settings import Settings

PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


def serve(
    messages: Messages,
    explainer: options.ExplainerFile,
    *,
    model: options.Model,
    explorer: Annotated[
        Path | None,
        Option(metavar="ROWS", help="CSV or Parquet file of rows to change at /explorer."),
    ] = None,
    wishes: options.Wishes,
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
    question: options.Question,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
) -> None:
    """Serve explanations over HTTP: /explain, /rules, /counterfactuals, /info, /quality, /health, /ready.

    With --explorer, /explorer is a page to change the rows of a file in, with the model's own answers; what
    counterfactuals may change is what its search starts with.

    Logs go to stdout, a line of JSON per request; /openapi.json describes the service.

    [b]illume serve loans.illume --model loans.joblib --trust-model[/]
    """
    given = wishes.given()
    _require_explorer(explorer, given, missing)
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
            log_words=messages.debug,
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
        loaded = load_explainer(explainer, messages, model, question, unknown)
        note_stand_in(model, messages)
        if host not in LOOPBACK and api_key is None:
            messages.warning(f"{host} can be reached by others, and no key is required; see --api-key")
        about: dict[str, Any] = {"missing": missing, "settings": settings, "messages": messages}
        page = None if explorer is None else _make_page(loaded, explorer, given, **about)
        address = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        started = f"Serving on http://{address} (Ctrl-C stops)"
        if page is not None:
            started += f"; the explorer is at http://{address}/explorer"
        run(loaded, settings, listener, lambda: messages.info(started), page)


def _require_explorer(rows: Path | None, given: dict[str, Any], missing: Names) -> None:
    """Raise if options of the explorer are given without its rows, or options of CSV for Parquet."""
    if rows is None and (given or missing is not None):
        raise UsageError("options of counterfactuals and of CSV are for the explorer; give --explorer ROWS")
    if rows is not None:
        require_csv(rows, missing)


def _make_page(
    explainer: Explainer,
    rows: Path,
    given: dict[str, Any],
    *,
    missing: Names,
    settings: Settings,
    messages: Messages,
) -> bytes:
    from illume.serve.pages import make_page

    frame = read_rows_for(explainer, rows, missing)
    messages.info(f"Explaining rows of {file_name(rows)} for the explorer …")
    with rows_after(0, file_name(rows)):
        wanted = options.split_columns(given, list(frame.columns))
        return make_page(explainer, frame, settings, **wanted)

"""Errors as answers: a status and JSON with `detail`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from illume.errors import BlackBoxError, IllumeError, LeftOutError, MissingExtraError, SchemaError
from illume.serve.json_text import to_text
from illume.serve.monitoring import error_fields, log
from illume.serve.schemas import RowSchema
from illume.serve.settings import Settings
from illume.serve.workers import RETRY

EXAMPLE_FIELDS = 4
NO_MEMORY = "not enough memory; send fewer rows at a time"
MAX_PROBLEMS = 100
FORM_ERRORS: dict[Any, str] = {
    ("body",): "the request must be a JSON object, sent with Content-Type: application/json",
    "missing": 'the request has no field "rows"',
    "list_type": '"rows" must be a list of rows',
}


class JsonAnswer(JSONResponse):
    """An answer in JSON."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return to_text(content)


def add_error_handlers(api: FastAPI, settings: Settings, rows: RowSchema) -> None:
    """Answer every error of an application with JSON."""
    form = request_form(rows.example)
    bug = "an error inside the service; its log has the request id of this answer"

    def invalid_request(_: Request, error: RequestValidationError) -> Response:
        problems = [{**each, "loc": tuple(each["loc"])} for each in error.errors()]
        for problem in problems:
            in_rows = problem["loc"] == ("body", "rows")
            if in_rows and problem["type"] == "too_long":
                return _detail(f"a request may hold {settings.max_rows:,} rows; send them in parts", 413)
            kind = problem["type"] if in_rows else problem["loc"]
            if kind in FORM_ERRORS:  # other errors only follow
                return _detail([_describe({**problem, "msg": f"{FORM_ERRORS[kind]}; send {form}"})], 422)
        others = [problem for problem in problems if problem["loc"][:2] != ("body", "rows")]
        if len(others) < len(problems) and error.body["rows"]:  # checks stop at the first wrong row
            of_rows = rows.problems(error.body["rows"][: settings.max_rows])
            problems = [*islice(of_rows, MAX_PROBLEMS - len(others)), *others]
        return _detail([_describe(problem) for problem in problems], 422)

    handlers: dict[type[Exception], Callable[[Request, Any], Response]] = {
        RequestValidationError: invalid_request,
        HTTPException: lambda _, error: _detail(error.detail, error.status_code, error.headers),
        IllumeError: _library_error,
        MemoryError: lambda *_: _detail(NO_MEMORY, 503, RETRY),
        Exception: lambda *_: _detail(bug, 500),
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _library_error(request: Request, error: IllumeError) -> Response:
    """Answer with the words of an error about the request; those of the model may hold anything."""
    if isinstance(error, SchemaError):
        return _detail([_describe({"loc": ["body"], "msg": str(error), "type": "schema_error"})], 422)
    if isinstance(error, (LeftOutError, MissingExtraError)):
        return _detail(str(error), 409)
    if isinstance(error, MemoryError):
        return _detail(NO_MEMORY, 503, RETRY)
    if not isinstance(error, BlackBoxError):
        raise error  # a bug
    request_id, cause = request.state.request_id, error.__cause__ or error
    fields = {"request_id": request_id, **error_fields(cause, request.app.state.limits.settings.log_words)}
    log.error("the model failed", extra={"fields": fields})
    more = " and more" if error.more else ""
    named = f" on rows {', '.join(map(str, error.rows))}{more} (from 0)" if error.rows else ""
    return _detail(f"the model failed{named}; the service's log has request id {request_id}", 502)


def _detail(detail: Any, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return JsonAnswer({"detail": detail}, status, headers)


def request_form(example: Mapping[str, Any]) -> str:
    """Show the form of a request by an example row.

    >>> request_form({"age": 40, "owner": True})
    '{"rows": [{"age": 40, "owner": true}]}, a list of rows with a field per column'
    """
    shown = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in example.items()]
    fields = ", ".join([*shown[:EXAMPLE_FIELDS], *(["…"] if len(shown) > EXAMPLE_FIELDS else [])])
    return f'{{"rows": [{{{fields}}}]}}, a list of rows with a field per column'


def _describe(error: dict[str, Any]) -> dict[str, Any]:
    """Return where and what is wrong, without the value."""
    loc, message = list(error["loc"]), str(error["msg"])
    if error["type"] == "json_invalid":
        loc, message = ["body"], f"the body is not JSON: {error['ctx']['error']}; a missing value is null"
    in_row = len(loc) > 2 and loc[:2] == ["body", "rows"] and isinstance(loc[2], int)
    field = loc[3:4] if in_row else loc[1:2]
    return {
        "row": loc[2] if in_row else None,
        "field": str(field[0]) if field else None,
        "loc": loc,
        "msg": message.removeprefix("Value error, "),
        "type": error["type"],
    }

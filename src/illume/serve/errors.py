"""From what went wrong to a status and JSON with `detail`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from illume.errors import BlackBoxError, IllumeError, LeftOutError, SchemaError
from illume.serve.answers import json_response
from illume.serve.work import BusyError, TooSlowError

SHOWN = 100
RETRY = {"Retry-After": "1"}
SHAPE = (("body",), ("body", "rows"))
WORDS = {
    "missing": 'the request has no field "rows"',
    "list_type": '"rows" must be a list of rows',
    "model_attributes_type": "the request must be a JSON object, sent with Content-Type: application/json",
    "dict_type": "the request must be a JSON object, sent with Content-Type: application/json",
}
FIELDS = 4  # of a row that are shown
BUG = "an error inside the service; its log has the request id of this answer"


@dataclass(frozen=True)
class ErrorAnswers:
    """Turns every error into JSON with `detail`; nothing inner is told.

    `form` shows what a request looks like, with a made-up row.
    """

    max_rows: int
    timeout: float
    form: str = '{"rows": […]}'

    def add_to(self, app: FastAPI) -> None:
        """Let an application answer errors like this."""
        handlers: dict[type[Exception], Callable[[Request, Any], Response]] = {
            RequestValidationError: self.invalid,
            HTTPException: self.http,
            IllumeError: self.refused,
            BusyError: self.busy,
            TooSlowError: self.slow,
            MemoryError: self.no_memory,
            Exception: self.bug,
        }
        for kind, handler in handlers.items():
            app.add_exception_handler(kind, handler)

    def invalid(self, request: Request, error: RequestValidationError) -> Response:
        """Name field and row of what is wrong."""
        found = error.errors()
        if any(each["type"] == "too_long" and tuple(each["loc"]) == ("body", "rows") for each in found):
            return _said(f"a request may hold {self.max_rows:,} rows; send them in parts", 413)
        shapeless = next(
            (each for each in found if tuple(each["loc"]) in SHAPE and each["type"] in WORDS), None
        )
        if shapeless is not None:  # then fields, too, are in the wrong place: one word for all
            return problems([_problem(shapeless | {"msg": f"{WORDS[shapeless['type']]}; send {self.form}"})])
        return problems([_problem(each) for each in found[:SHOWN]])

    def http(self, request: Request, error: HTTPException) -> Response:
        """Say what HTTP itself has to say."""
        return json_response({"detail": error.detail}, error.status_code, dict(error.headers or {}))

    def refused(self, request: Request, error: IllumeError) -> Response:
        """Say what the library, or the model, does not take."""
        if isinstance(error, (SchemaError, BlackBoxError)):
            kind = "model_error" if isinstance(error, BlackBoxError) else "schema_error"
            return problems([{"row": None, "field": None, "loc": ["body"], "msg": str(error), "type": kind}])
        return _said(str(error), 409 if isinstance(error, LeftOutError) else 500)

    def busy(self, request: Request, error: BusyError) -> Response:
        """Ask to come again."""
        return _said("too many requests are being worked on; try again", 503, RETRY)

    def slow(self, request: Request, error: TooSlowError) -> Response:
        """Say that the work was given up."""
        text = f"the work was not done within {self.timeout:g} s and is given up; send fewer rows at a time"
        return _said(text, 504)

    def no_memory(self, request: Request, error: MemoryError) -> Response:
        """Say that it was too much."""
        return _said("not enough memory; send fewer rows at a time", 503, RETRY)

    def bug(self, request: Request, error: Exception) -> Response:
        """Say that it is not the caller's fault."""
        return _said(BUG, 500)


def form_of(example: Mapping[str, Any]) -> str:
    """Show the form of a request by an example of a row.

    >>> form_of({"age": 40, "owner": True})
    '{"rows": [{"age": 40, "owner": true}]}, a list of rows with a field per column'
    """
    fields = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in list(example.items())[:FIELDS]]
    more = ["…"] if len(example) > FIELDS else []
    return f'{{"rows": [{{{", ".join([*fields, *more])}}}]}}, a list of rows with a field per column'


def _said(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return json_response({"detail": text}, status, headers)


def problems(found: Sequence[dict[str, Any]]) -> Response:
    """Return 422 with what is wrong."""
    return json_response({"detail": list(found)}, 422)


def _problem(error: dict[str, Any]) -> dict[str, Any]:
    """Say where and what; the value itself is not repeated."""
    if error["type"] == "json_invalid":
        said = f"the body is no JSON: {error['ctx']['error']}; a missing value is null"
        error = {"loc": ["body"], "msg": said, "type": error["type"]}
    loc = list(error["loc"])
    in_row = len(loc) > 2 and loc[:2] == ["body", "rows"] and isinstance(loc[2], int)
    name = loc[3] if in_row and len(loc) > 3 else (loc[1] if not in_row and len(loc) > 1 else None)
    return {
        "row": loc[2] if in_row else None,
        "field": None if name is None else str(name),
        "loc": loc,
        "msg": str(error["msg"]).removeprefix("Value error, "),
        "type": error["type"],
    }

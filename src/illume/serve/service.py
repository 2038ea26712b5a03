"""The work behind the endpoints: limits, worker threads, and explanations of the rows of a request."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError

from illume import __version__
from illume.data.frames import as_frame, chunks
from illume.errors import IllumeError, LeftOutError, SchemaError, rows_after
from illume.explanations.check_options import check_options
from illume.serve.schemas import RowSchema
from illume.serve.settings import Settings

if TYPE_CHECKING:
    from illume import Explainer

BUSY, RETRY = "too many requests at a time; try again", {"Retry-After": "1"}
PIECE_ROWS = {"explain": 1024, "rules": 128, "counterfactuals": 16}  # the deadline is checked between pieces
STAND_IN = (
    "served without the model: its answers are those of the surrogate; "
    "start the service with --model for the model's"
)
NO_MODEL = (
    "counterfactuals are verified on the model, and the service runs without it; "
    "start it with: illume serve EXPLAINER --model FILE"
)


class Deadline:
    """When an answer is due; work checks it between pieces."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds
        slow = f"the work did not finish within {seconds:g} s and was stopped; send fewer rows at a time"
        self.error = HTTPException(504, slow)

    def check(self) -> None:
        """Stop work that is overdue."""
        if time.monotonic() > self.at:
            raise self.error


class Workers:
    """Runs work in `n_threads` threads while at most `max_waiting` more requests wait.

    A thread cannot be killed. Overdue work is answered at once, ends at its next `Deadline.check` and counts
    as pending until then, so at most `n_threads` requests run at a time.
    """

    # AnyIO's thread limiter frees its slot when overdue work is answered, not when it ends.
    def __init__(self, n_threads: int, max_waiting: int, timeout: float) -> None:
        self.timeout, self.max_pending, self.n_pending = timeout, n_threads + max_waiting, 0
        ignore = partial(np.seterr, over="ignore", invalid="ignore")  # for extreme numbers
        self._pool = ThreadPoolExecutor(n_threads, initializer=ignore)
        self._lock = threading.Lock()

    async def run(self, work: Callable[[Deadline], Any]) -> Any:
        """Return the result; raise 503 if the work does not start in time, 504 if it does not finish."""
        with self._lock:
            if self.n_pending >= self.max_pending:
                raise HTTPException(503, BUSY, RETRY)
            self.n_pending += 1
        deadline = Deadline(self.timeout)
        future = self._pool.submit(work, deadline)
        future.add_done_callback(self._finish)
        done, _ = await asyncio.wait({asyncio.wrap_future(future)}, timeout=self.timeout)
        if done:
            return done.pop().result()
        raise HTTPException(503, BUSY, RETRY) if future.cancel() else deadline.error

    def _finish(self, _: Future[Any]) -> None:
        with self._lock:
            self.n_pending -= 1


class Service:
    """Explains rows with the library's own numbers."""

    def __init__(self, explainer: Explainer, settings: Settings) -> None:
        _require_text(explainer)
        with suppress(LeftOutError):
            explainer.fit_rules()  # now, not on the first request
        self.explainer, self.rows = explainer, RowSchema(explainer)
        self.outputs = explainer.fitted_.outputs
        self.workers = Workers(settings.workers, settings.max_waiting, settings.timeout)
        self.stand_in = not explainer.fitted_.has_model

    def warm_up(self) -> None:
        """Explain a made-up row, so that the first request does not wait for lazy imports."""
        with suppress(IllumeError):  # the model may not accept it
            self.explainer(self.rows.frame([self.rows.example]))

    def explain(self, kind: str, request: Any, deadline: Deadline) -> dict[str, Any]:
        """Return explanations of the rows of a request, of the kind that its endpoint is named after."""
        frame, options = self.rows.frame(request.rows), request.model_dump(exclude={"rows"})
        if options.pop("layout", "rows") == "arrays":
            deadline.check()
            return self._answer("arrays", self.explainer(frame).to_dict())
        if kind != "explain":
            frame = as_frame(frame.native)
        method = self.explainer if kind == "explain" else getattr(self.explainer, kind)
        records: list[dict[str, Any]] = []
        for rows, piece in chunks(frame, PIECE_ROWS[kind]):
            deadline.check()
            with rows_after(rows.start):
                results = method(piece if kind == "explain" else piece.native, **options)
            records += [result.to_dict() for result in results]
        return self._answer("explanations" if kind == "explain" else kind, records)

    def check(self, kind: str, request: Any) -> None:
        """Raise if an answer needs the model, which is missing, or if options do not go with its answers."""
        if kind == "counterfactuals" and self.stand_in:
            raise HTTPException(409, NO_MODEL)
        options = request.model_dump(exclude={"rows"}, exclude_unset=True)
        try:
            check_options(self.outputs, kind, options)
        except ValueError as error:
            field = [name for name in options if name in str(error)]
            problem = {"loc": ("body", *field[:1]), "msg": str(error), "type": "value_error"}
            raise RequestValidationError([problem]) from None

    async def info(self) -> dict[str, Any]:
        """Tell what the model answers, and the features of rows."""
        features = self.explainer.schema_.features
        return {
            "task": self.outputs.task,
            "names": list(self.outputs.names),
            "scale": self.outputs.describe_scales(),
            "model": not self.stand_in,
            "features": [{"name": feature.name, "kind": feature.kind.value} for feature in features],
        }

    async def quality(self) -> dict[str, Any]:
        """Quality of the explainer, measured on held-out rows."""
        rules = getattr(self.explainer, "rule_quality_", None)
        return {
            "quality": self.explainer.quality_.to_dict(),
            "rule_quality": None if rules is None else rules.to_dict(),
            f"{self.outputs.member}_names": list(self.outputs.names),
        }

    async def health(self) -> dict[str, Any]:
        """Whether the service is up, and what it serves."""
        return {
            "status": "ok",
            "version": __version__,
            "model": not self.stand_in,
            "features": len(self.explainer.schema_),
            self.outputs.members: len(self.outputs),
        }

    def _answer(self, name: str, value: Any) -> dict[str, Any]:
        return {"stand_in": self.stand_in, "note": STAND_IN if self.stand_in else None, name: value}


def _require_text(explainer: Explainer) -> None:
    """Raise for names that JSON cannot carry."""
    for name in (*explainer.fitted_.columns, *explainer.fitted_.outputs.names):
        if name.encode("utf-8", "replace").decode() != name:
            raise SchemaError(
                f"the name {name!a} holds half of a character, which JSON cannot carry; rename it"
            )

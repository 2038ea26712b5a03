"""The work behind the endpoints: explanations of the rows of a request, and the state of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from illume import __version__
from illume.data.frames import as_frame, chunks
from illume.errors import (
    BlackBoxError,
    IllumeError,
    LeftOutError,
    MissingExtraError,
    OptionError,
    Setting,
    rows_after,
)
from illume.explanations.check_options import check_options
from illume.serve.json_text import to_text
from illume.serve.schemas import RowSchema
from illume.serve.settings import Settings
from illume.serve.workers import Workers

if TYPE_CHECKING:
    from illume import Explainer

PIECE_ROWS = {"explain": 1024, "rules": 128, "counterfactuals": 16}  # of a step of the work
STAND_IN = (
    "served without the model: its answers are those of its twin; "
    "start the service with --model for the model's"
)
NO_MODEL = (
    "counterfactuals are verified on the model, and the service runs without it; "
    "start it with: illume serve EXPLAINER --model FILE"
)


class Service:
    """Explains rows with the library's own numbers."""

    def __init__(self, explainer: Explainer, settings: Settings) -> None:
        with suppress(LeftOutError, MissingExtraError, BlackBoxError):  # answered when rules are asked for
            explainer.fit_rules()  # now, not on the first request
        self.explainer, self.rows = explainer, RowSchema(explainer)
        self.outputs = explainer.fitted_.outputs
        self.workers, self.settings = Workers(settings), settings
        self.stand_in = not explainer.fitted_.has_model

    def warm_up(self) -> None:
        """Explain a made-up row, so that the first request does not wait for lazy imports."""
        with suppress(IllumeError):  # the model may not accept it
            self.explainer(self.rows.frame([self.rows.example]))

    def explain(self, kind: str, request: Any) -> Iterator[bytes | None]:
        """Explain the rows of a request, step by step, by the method that its endpoint is named after.

        Yields None after each step, and at last the answer in JSON.
        """
        frame, options = self.rows.frame(request.rows), request.model_dump(exclude={"rows"})
        if options.pop("layout", "rows") == "arrays":
            yield self._answer("arrays", self.explainer(frame, **options).to_dict())
            return
        if kind != "explain":
            frame = as_frame(frame.native)
        method = self.explainer if kind == "explain" else getattr(self.explainer, kind)
        records: list[dict[str, Any]] = []
        for rows, piece in chunks(frame, PIECE_ROWS[kind]):
            if records:
                yield None
            with rows_after(rows.start):
                results = method(piece if kind == "explain" else piece.native, **options)
            records += [result.to_dict() for result in results]
        yield self._answer("explanations" if kind == "explain" else kind, records)

    def check(self, kind: str, request: Any) -> None:
        """Raise if an answer needs the model, which is missing, or if options do not go with its answers."""
        if kind == "counterfactuals" and self.stand_in:
            raise HTTPException(409, NO_MODEL)
        options = request.model_dump(exclude={"rows"}, exclude_unset=True)
        try:
            check_options(self.outputs, kind, options)
            self.outputs.towards(options.get("positive_class"))
            self._require_threshold(options.get("threshold"))
        except OptionError as error:
            wrong = [name for name in error.options if name in options]  # others are advised instead
            problem = {"loc": ("body", *wrong[:1]), "msg": str(error), "type": "value_error"}
            raise RequestValidationError([problem]) from None

    def _require_threshold(self, threshold: float | None) -> None:
        """Raise if classes should be decided by another threshold: its rules would take long to grow."""
        if self.outputs.decides and threshold not in (None, self.explainer.threshold):
            raise OptionError(
                Setting("threshold"),
                f" is {threshold!r}, and this service decides by {self.explainer.threshold!r}; "
                "start it with illume serve --threshold for another",
            )

    async def info(self) -> dict[str, Any]:
        """Tell what the model answers, and the features of rows."""
        features = self.explainer.schema_.features
        return {
            "task": self.outputs.task,
            "names": list(self.outputs.names),
            "scale": self.outputs.describe_scales(),
            "threshold": self.explainer.threshold,
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

    async def ready(self) -> Response:
        """Whether requests are answered; if not, the reason."""
        reason = self.workers.trouble()
        answer = to_text({"ready": reason is None, "reason": reason})
        return Response(answer, 200 if reason is None else 503, media_type="application/json")

    async def health(self) -> dict[str, Any]:
        """Say that the process is up."""
        return {"status": "ok", "version": __version__}

    def _answer(self, name: str, value: Any) -> bytes:
        note = STAND_IN if self.stand_in else None
        return to_text({"stand_in": self.stand_in, "note": note, name: value})

"""The work behind the endpoints."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError

from illume import __version__
from illume.data.frames import as_frame, chunks
from illume.errors import IllumeError, LeftOutError
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.serve.schemas import RowSchema
from illume.serve.workers import Deadline

if TYPE_CHECKING:
    from illume import Explainer

PIECE_ROWS = {"explain": 1024, "rules": 128, "counterfactuals": 16}  # the deadline is checked between pieces
STAND_IN = (
    "served without the model: decisions and probabilities are those of the surrogate; "
    "start the service with --model for the model's"
)
NO_MODEL = (
    "counterfactuals are verified on the model, and the service runs without it; "
    "start it with: illume serve EXPLAINER --model FILE"
)


class Service:
    """Explains rows with the library's own numbers."""

    def __init__(self, explainer: Explainer) -> None:
        with suppress(LeftOutError):
            explainer.fit_rules()  # now, not on the first request
        self.explainer, self.rows = explainer, RowSchema.from_explainer(explainer)
        self.stand_in = not explainer.fitted_.has_model

    def warm_up(self) -> None:
        """Explain a made-up row, so that the first request does not wait for lazy imports."""
        with suppress(IllumeError):  # the model may not accept it
            self.explainer(self.rows.frame([self.rows.example]))

    def explain(self, kind: str, request: Any, deadline: Deadline) -> dict[str, Any]:
        """Return explanations of the rows of a request, of the kind that its endpoint is named after."""
        frame, options = self.rows.frame(request.rows), request.options()
        if options.pop("layout", "rows") == "arrays":
            deadline.check()
            return self._answer("arrays", self.explainer(frame).to_dict())
        if kind != "explain":
            frame = as_frame(frame.native)
        method = self.explainer if kind == "explain" else getattr(self.explainer, kind)
        records: list[dict[str, Any]] = []
        for _, piece in chunks(frame, PIECE_ROWS[kind]):
            deadline.check()
            results = method(piece if kind == "explain" else piece.native, **options)
            records += [result.to_dict() for result in results]
        return self._answer("explanations" if kind == "explain" else kind, records)

    def check_counterfactuals(self, request: Any) -> None:
        """Raise if there is no model or the desired class is unknown."""
        if self.stand_in:
            raise HTTPException(409, NO_MODEL)
        try:
            CounterfactualRequest(desired_class=request.desired_class).desired(self.explainer.class_names_)
        except ValueError as error:
            problem = {"loc": ("body", "desired_class"), "msg": str(error), "type": "value_error"}
            raise RequestValidationError([problem]) from None

    def quality(self) -> dict[str, Any]:
        """Return the quality of the explainer."""
        rules = getattr(self.explainer, "rule_quality_", None)
        return {
            "quality": self.explainer.quality_.to_dict(),
            "rule_quality": None if rules is None else rules.to_dict(),
            "class_names": list(self.explainer.class_names_),
        }

    def health(self) -> dict[str, Any]:
        """Return what is served."""
        return {
            "status": "ok",
            "version": __version__,
            "model": not self.stand_in,
            "features": len(self.explainer.schema_),
            "classes": len(self.explainer.class_names_),
        }

    def _answer(self, name: str, value: Any) -> dict[str, Any]:
        return {"stand_in": self.stand_in, "note": STAND_IN if self.stand_in else None, name: value}

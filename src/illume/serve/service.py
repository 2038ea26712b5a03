"""The work behind the endpoints: from checked requests to answers, a piece of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError

from illume.data.frames import Frame, as_frame, chunks
from illume.errors import LeftOutError
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.serve.answers import STAND_IN
from illume.serve.rows import Rows
from illume.serve.work import Deadline

# Between pieces, work whose time is over ends.
PIECE_ROWS = {"explain": 1024, "rules": 128, "counterfactuals": 16}
NO_MODEL = (
    "counterfactuals are checked on the model, and the service runs without it; "
    "start it with: illume serve EXPLAINER --model FILE"
)


@dataclass(frozen=True, eq=False)
class Service:
    """Answers about rows, with the library's own numbers."""

    explainer: Any
    rows: Rows

    @classmethod
    def of(cls, explainer: Any) -> Service:
        """Make ready; the tree of rules is grown now, if it can be, and not by the first who asks."""
        with suppress(LeftOutError):
            explainer.fit_rules()
        return cls(explainer, Rows.of(explainer))

    @property
    def stand_in(self) -> bool:
        """Whether there is no model."""
        return not self.explainer.fitted_.has_model

    def explain(self, request: Any, deadline: Deadline) -> dict[str, Any]:
        """Return attributions."""
        frame = self.rows.frame(request.rows)
        deadline.check()
        if request.layout == "arrays":
            return self._answer("arrays", self.explainer(frame).to_dict())
        return self._answer("explanations", self._records("explain", frame, self.explainer, deadline))

    def rules(self, request: Any, deadline: Deadline) -> dict[str, Any]:
        """Return rules."""
        frame, options = self.rows.frame(request.rows), request.options()

        def rules(piece: Any) -> Any:
            return self.explainer.rules(piece, **options)

        return self._answer("rules", self._records("rules", frame, rules, deadline))

    def counterfactuals(self, request: Any, deadline: Deadline) -> dict[str, Any]:
        """Return counterfactuals."""
        frame, options = as_frame(self.rows.frame(request.rows).native), request.options()

        def counterfactuals(piece: Any) -> Any:
            return self.explainer.counterfactuals(piece, **options)

        found = self._records("counterfactuals", frame, counterfactuals, deadline)
        return self._answer("counterfactuals", found)

    def check_counterfactuals(self, request: Any) -> None:
        """Refuse, before any work is done, what cannot be had."""
        if self.stand_in:
            raise HTTPException(409, NO_MODEL)
        try:
            CounterfactualRequest(desired_class=request.desired_class).desired(self.explainer.class_names_)
        except ValueError as error:
            wrong = {"loc": ("body", "desired_class"), "msg": str(error), "type": "value_error"}
            raise RequestValidationError([wrong]) from None

    def quality(self) -> dict[str, Any]:
        """Return how far to trust the explainer."""
        rules = getattr(self.explainer, "rule_quality_", None)
        return {
            "quality": self.explainer.quality_.to_dict(),
            "rule_quality": None if rules is None else rules.to_dict(),
            "class_names": list(self.explainer.class_names_),
        }

    def health(self) -> dict[str, Any]:
        """Return that the service is there, and what it serves."""
        from illume import __version__

        return {
            "status": "ok",
            "version": __version__,
            "model": not self.stand_in,
            "features": len(self.explainer.schema_),
            "classes": len(self.explainer.class_names_),
        }

    def _records(
        self, kind: str, frame: Frame, explain: Callable[[Any], Any], deadline: Deadline
    ) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        for _, piece in chunks(frame, PIECE_ROWS[kind]):
            deadline.check()
            given = piece if kind == "explain" else piece.native
            records += [one.to_dict() for one in explain(given)]
        return records

    def _answer(self, name: str, value: Any) -> dict[str, Any]:
        return {"stand_in": self.stand_in, "note": STAND_IN if self.stand_in else None, name: value}

"""What the service answers: models for OpenAPI, and the JSON itself."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import Response

STAND_IN = (
    "served without the model: decisions and probabilities are the surrogate's own; "
    "start the service with --model to have the model's"
)


class Answer(BaseModel):
    """What every answer about rows says: whether there was a model, and if not, what that means."""

    stand_in: bool = Field(description="Whether the surrogate stood in for the model, which is not there.")
    note: str | None = None


class FeatureContribution(BaseModel):
    """One feature of one row, and what it contributed, in log-odds."""

    name: str
    value: Any
    contribution: float | None
    standard_error: float | None = Field(None, description="Of the contribution; null where it is not known.")
    imputed: bool


class TrustFigures(BaseModel):
    """How the surrogate did on the held-out rows around a row, and the typical error of its contributions."""

    agreement: float | None
    error: float | None
    contribution_error: float | None = None
    n_rows: int


class ExplainedRow(BaseModel):
    """Contributions to the log-odds of `output`; with base value and offset they add up to the score."""

    model_config = ConfigDict(extra="allow")

    decision: str
    probability: float
    surrogate_probability: float | None
    agreed: bool
    stand_in: bool
    status: str
    scale: str
    kind: str
    output: str
    base_value: float
    offset: float
    score: float | None
    features: list[FeatureContribution]
    trust: TrustFigures


class ExplainAnswer(Answer):
    """An explanation per row, or the arrays of the batch."""

    explanations: list[ExplainedRow] | None = None
    arrays: dict[str, Any] | None = None


class RulesAnswer(Answer):
    """A rule per row."""

    rules: list[dict[str, Any]]


class CounterfactualsAnswer(Answer):
    """Counterfactuals per row; a row that has none says why."""

    counterfactuals: list[dict[str, Any]]


class QualityAnswer(BaseModel):
    """How far to trust the explainer, measured on held-out rows."""

    quality: dict[str, Any]
    rule_quality: dict[str, Any] | None
    class_names: list[str]


class HealthAnswer(BaseModel):
    """The service is there, and what it serves."""

    status: str
    version: str
    model: bool = Field(description="Whether the model is there; if not, the surrogate stands in for it.")
    features: int
    classes: int


class Problem(BaseModel):
    """What went wrong."""

    detail: str


class FieldProblem(BaseModel):
    """What is wrong with one value: in which row (from 0) and field, where it has them."""

    row: int | None
    field: str | None
    loc: list[str | int]
    msg: str
    type: str


class FieldProblems(BaseModel):
    """What is wrong with the values of a request; the first of them, if there are many."""

    detail: list[FieldProblem]


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return JSON as every program reads it; what is no finite number is null."""
    return Response(as_json(value), status, headers, media_type="application/json")


def as_json(value: Any) -> bytes:
    """Return JSON in which NaN and infinity are null.

    >>> as_json({"a": [1.5, float("nan"), None], "b": "größer"}).decode()
    '{"a":[1.5,null,null],"b":"größer"}'
    """
    return to_json(value, inf_nan_mode="null", fallback=_plain)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)

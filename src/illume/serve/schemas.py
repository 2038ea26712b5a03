"""Requests and answers as pydantic models; the rows follow the explainer's schema."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from typing_extensions import TypedDict

from illume.data.frames import Frame
from illume.data.match_dtypes import FrameBuilder
from illume.data.outputs import Outputs
from illume.data.questions import Bands
from illume.data.schema import Feature, Kind, Other, describe_unseen
from illume.serve.json_text import escape

if TYPE_CHECKING:
    from illume import Explainer

MAX_COUNTERFACTUALS = 50  # per row

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Boolean = Annotated[bool, Field(strict=True)]
Scalar = Boolean | Number | Annotated[str, Field(strict=True)] | None
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
NUMBERS = "For models that answer with numbers:"
OutputName = Annotated[str | None, Field(strict=True, description=f"{NUMBERS} which of several.")]


class Answer(BaseModel):
    """Fields of every answer about rows."""

    stand_in: bool = Field(description="Whether the model's twin answered, as the model is missing.")
    note: str | None = None


class ExplainAnswer(Answer):
    """An explanation per row, or the arrays of the batch: see `to_dict` of the library's results."""

    explanations: list[dict[str, Any]] | None = None
    arrays: dict[str, Any] | None = None


class RulesAnswer(Answer):
    """A rule per row."""

    rules: list[dict[str, Any]]


class CounterfactualsAnswer(Answer):
    """Counterfactuals per row, or the reason why there are none."""

    counterfactuals: list[dict[str, Any]]


class QualityAnswer(BaseModel):
    """Quality of the explainer, measured on held-out rows."""

    quality: dict[str, Any]
    rule_quality: dict[str, Any] | None
    class_names: list[str] | None = None
    output_names: list[str] | None = Field(None, description="Of a model that answers with numbers.")


class HealthAnswer(BaseModel):
    """The process is up."""

    status: str
    version: str


class ReadyAnswer(BaseModel):
    """Whether requests are answered."""

    ready: bool
    reason: str | None = Field(description="Why they are not.")


class InfoAnswer(BaseModel):
    """What the model answers, and the features of rows."""

    task: str = Field(description="classification, or regression if the model answers with numbers.")
    names: list[str] = Field(description="The classes, or the names of the numbers.")
    scale: str = Field(description="What contributions add up to.")
    threshold: float | None = Field(None, description="Probability from which on two classes are decided.")
    model: bool = Field(description="Whether the model is there; if not, its twin answers.")
    features: list[dict[str, str]]


class Problem(BaseModel):
    """What went wrong."""

    detail: str


class FieldProblem(BaseModel):
    """What is wrong with a value, with its row (from 0) and field if it has them."""

    row: int | None
    field: str | None
    loc: list[str | int]
    msg: str
    type: str


class FieldProblems(BaseModel):
    """The first problems with the values of a request."""

    detail: list[FieldProblem]


class Options(BaseModel):
    """Options of a request: those of the library's method."""

    model_config = ConfigDict(extra="forbid")


class ExplainOptions(Options):
    """`rows` answers with a record per row, for the decided class; `arrays` with all numbers of the batch."""

    layout: Literal["rows", "arrays"] = "rows"
    positive_class: Annotated[
        Scalar, Field(description="The class that contributions are to; null for the service's own.")
    ] = None


class RulesOptions(Options):
    """See `Explainer.rules`."""

    polish: Boolean = True
    precision: Annotated[float, Field(strict=True, ge=0.5, lt=1)] = 0.95
    max_conditions: Count | None = None
    interval: Annotated[float, Field(strict=True, ge=0.5, lt=1, description=f"{NUMBERS} share in it.")] = 0.9
    threshold: Annotated[Number | None, Field(description=f"{NUMBERS} end in a side of it.")] = None
    output: OutputName = None


class CounterfactualsOptions(Options):
    """See `Explainer.counterfactuals`."""

    n: Annotated[int, Field(strict=True, ge=1, le=MAX_COUNTERFACTUALS)] = 3
    desired_class: str | Annotated[int, Field(strict=True)] = "opposite"
    features_to_vary: Literal["all"] | list[str] = "all"
    permitted_range: dict[str, list[Scalar]] | None = None
    max_changes: Count | None = None
    min_probability: Annotated[float, Field(strict=True, ge=0, lt=1)] = 0.0
    desired_range: Annotated[
        list[Number | None] | None, Field(description=f"{NUMBERS} [low, high], null for an open end.")
    ] = None
    desired_change: Annotated[Number | None, Field(description=f"{NUMBERS} rise or fall, at least.")] = None
    threshold: Annotated[Number | None, Field(description=f"{NUMBERS} to be crossed.")] = None
    output: OutputName = None
    immutable: Annotated[list[str] | None, Field(description="Features that may not change.")] = None
    direction: Annotated[
        dict[str, str | list[Scalar]] | None,
        Field(description="By feature: up, down, or the categories in the order in which they may follow."),
    ] = None


class RowSchema:
    """The rows that an explainer takes: their type for pydantic, and a made-up example."""

    def __init__(self, explainer: Explainer) -> None:
        strict, columns = explainer.unknown == "error", explainer.fitted_.columns
        features = {feature.name: feature for feature in explainer.schema_.features}
        make: Any = TypedDict
        fields = {
            name: _field_type(features[name], strict) if name in features else Scalar for name in columns
        }
        self.row_type = make("Row", fields)
        self.row_type.__pydantic_config__ = ConfigDict(extra="ignore")  # allows additional columns
        self._row: TypeAdapter[Any] = TypeAdapter(self.row_type)
        self.example = {name: typical_value(features.get(name)) for name in columns}
        self.builder: FrameBuilder = explainer.fitted_.dtypes

    def request(self, name: str, base: type[Options], max_rows: int, **example: Any) -> type[Options]:
        """Return the model of a request: rows and options."""
        rows = Annotated[
            list[self.row_type],  # type: ignore[name-defined]
            Field(min_length=1, max_length=max_rows, fail_fast=True, description="Rows, a field per column."),
        ]
        extra: Any = {"json_schema_extra": {"examples": [{"rows": [self.example], **example}]}}
        return create_model(name, __base__=base, __doc__=base.__doc__, __cls_kwargs__=extra, rows=(rows, ...))

    def problems(self, rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the problems of rows one by one, as a short body can have millions."""
        for at, row in enumerate(rows):
            try:
                self._row.validate_python(row)
            except ValidationError as error:
                for each in error.errors(include_url=False, include_input=False):
                    yield {**each, "loc": ("body", "rows", at, *each["loc"])}

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> Frame:
        """Return validated rows as a frame of the library that the explainer was fitted with."""
        return self.builder.frame({name: [row[name] for row in rows] for name in self.builder.names})


def typical_value(feature: Feature | None) -> Any:
    """Return a made-up value that reveals nothing about any row.

    >>> typical_value(Feature("age", Kind.NUMERIC, low=18.0, high=81.0, whole=True))
    50
    >>> typical_value(Feature("town", Kind.CATEGORICAL, ("Bonn", "Ulm", None)))
    'Bonn'
    """
    if feature is None:
        return None
    if not feature.numeric:
        return next((_plain(value) for value in feature.categories if value not in (None, Other.OTHER)), None)
    middle = feature.low / 2 + feature.high / 2
    if not math.isfinite(middle):
        return None if math.isnan(middle) else 0.0
    return round(middle) if feature.whole else float(f"{middle:.4g}")


def example_options(outputs: Outputs) -> dict[str, Any]:
    """Return options of rules and counterfactuals that suit a model's answers: of numbers, a threshold.

    >>> from illume.data.number_outputs import Numbers
    >>> example_options(Numbers(("price",), edges=((0.0, 512.25, 1000.0),), spread=(1.0,)))
    {'threshold': 512.0}
    """
    bands = outputs.strata
    if not isinstance(bands, Bands):
        return {}
    middle = float(f"{bands.edges[len(bands.edges) // 2]:.3g}")
    return {"threshold": middle} | ({"output": outputs.names[0]} if len(outputs) > 1 else {})


def _field_type(feature: Feature, strict: bool) -> Any:
    if feature.numeric:
        return Annotated[Number | None, Field(description="a number; null if it is missing")]
    strict = strict and not feature.open
    categories = [value for value in feature.categories if value is not Other.OTHER]
    known = {(isinstance(value, bool), _plain(value)): value for value in categories}  # true is not 1

    def find_category(value: Any) -> Any:
        key = (isinstance(value, bool), value)
        if strict and key not in known:
            shown = "a missing value" if value is None else repr(value)
            raise ValueError(
                f"column {feature.name!r} holds {shown}{escape(describe_unseen(feature))}; map it to one of "
                f"these, or treat it as none of them (illume serve --unknown ignore)"
            )
        return known.get(key, value)

    values = [value for _, value in known]
    schema: dict[str, Any] = {"enum": values}
    if not strict:
        types = ["boolean"] if feature.kind is Kind.BOOLEAN else ["string", "number", "boolean"]
        schema = {"type": [*types, "null"], "examples": [value for value in values if value is not None][:3]}
    schema["description"] = feature.kind.value
    return Annotated[Scalar, AfterValidator(find_category), WithJsonSchema(schema)]


def _plain(value: Any) -> Any:
    """Return a category as JSON shows it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

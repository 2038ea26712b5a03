"""What callers may ask: models of requests, made for one explainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from illume.serve.rows import Rows, Scalar
from illume.serve.settings import Settings

MOST_EXAMPLES = 50  # counterfactuals of one row

Whole = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Yes = Annotated[bool, Field(strict=True)]


class Options(BaseModel):
    """Options of a request, those of the library's method; rows come with them."""

    model_config = ConfigDict(extra="forbid")

    def options(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: value for name, value in self if name != "rows"}


class ExplainOptions(Options):
    """`rows` answers with a record per row, for the decided class; `arrays` with all numbers of the batch."""

    layout: Literal["rows", "arrays"] = "rows"


class RulesOptions(Options):
    """See `Explainer.rules`."""

    polish: Yes = True
    precision: Annotated[float, Field(strict=True, ge=0.5, lt=1)] = 0.95
    max_conditions: Whole | None = None


class CounterfactualsOptions(Options):
    """See `Explainer.counterfactuals`."""

    n: Annotated[int, Field(strict=True, ge=1, le=MOST_EXAMPLES)] = 3
    desired_class: str | Annotated[int, Field(strict=True)] = "opposite"
    features_to_vary: Literal["all"] | list[str] = "all"
    permitted_range: dict[str, list[Scalar]] | None = None
    max_changes: Whole | None = None
    min_probability: Annotated[float, Field(strict=True, ge=0, lt=1)] = 0.0


@dataclass(frozen=True)
class Requests:
    """The models of requests of one explainer."""

    explain: Any
    rules: Any
    counterfactuals: Any

    @classmethod
    def of(cls, rows: Rows, settings: Settings) -> Requests:
        """Make the models; examples hold the schema's typical row, never a row of the data."""
        batch = Annotated[
            list[rows.kind],  # type: ignore[name-defined]
            Field(min_length=1, max_length=settings.max_rows, description="Rows, a field per column."),
        ]

        def model(name: str, base: type[Options], **options: Any) -> Any:
            example = {"rows": [rows.example], **options}
            extra: Any = {"json_schema_extra": {"examples": [example]}}
            return create_model(
                name, __base__=base, __doc__=base.__doc__, __cls_kwargs__=extra, rows=(batch, ...)
            )

        return cls(
            explain=model("ExplainRequest", ExplainOptions),
            rules=model("RulesRequest", RulesOptions, precision=0.9),
            counterfactuals=model("CounterfactualsRequest", CounterfactualsOptions, n=2),
        )

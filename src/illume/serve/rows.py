"""What a row looks like, read off an explainer's schema: its fields, their types, and an example."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from illume.data.frames import Frame
from illume.data.match_dtypes import FrameBuilder
from illume.data.schema import Feature, Kind, Other, describe_unseen

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Text = Annotated[str, Field(strict=True)]
Yes = Annotated[bool, Field(strict=True)]
Scalar = Yes | Number | Text | None


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that an explainer takes.

    Parameters
    ----------
    kind
        The type of a row, for pydantic: a dictionary with a field per column.
    example
        A made-up row: the middle of every number's range, a known category.
    """

    kind: Any
    example: dict[str, Any]
    like: FrameBuilder

    @classmethod
    def of(cls, explainer: Any) -> Rows:
        """Read the schema off an explainer."""
        schema, strict = explainer.schema_, explainer.unknown == "error"  # which may be set after the fit
        by_name = {feature.name: feature for feature in schema.features}
        fields = {
            name: _field(by_name[name], strict) if name in by_name else Scalar
            for name in explainer.fitted_.columns
        }
        make: Any = TypedDict  # its fields are known only now
        kind = make("Row", fields)
        kind.__pydantic_config__ = ConfigDict(extra="ignore")  # other columns do not matter
        return cls(
            kind=kind,
            example={name: typical(by_name.get(name)) for name in explainer.fitted_.columns},
            like=explainer.fitted_.dtypes,
        )

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> Frame:
        """Return checked rows as a frame of the kind that the explainer was fitted with."""
        return self.like.frame({name: [row[name] for row in rows] for name in self.like.names})


def typical(feature: Feature | None) -> Any:
    """Return a made-up value that says nothing about any row.

    >>> typical(Feature("age", Kind.NUMERIC, low=18.0, high=81.0, whole=True))
    50
    >>> typical(Feature("town", Kind.CATEGORICAL, ("Bonn", "Ulm", None)))
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


def _field(feature: Feature, strict: bool) -> Any:
    if feature.numeric:
        return Annotated[Number | None, Field(description="a number; null where it is missing")]
    reader = CategoryReader.of(feature, strict and not feature.open)
    return Annotated[Scalar, AfterValidator(reader), WithJsonSchema(reader.schema())]


@dataclass(frozen=True, eq=False)
class CategoryReader:
    """Finds the category that a value of JSON stands for; true is not 1.

    `known` has the categories by (whether it is a boolean, its value).
    """

    feature: Feature
    strict: bool
    known: Mapping[tuple[bool, Any], Hashable | None]

    @classmethod
    def of(cls, feature: Feature, strict: bool) -> CategoryReader:
        """Make a reader that refuses unknown categories if it is strict."""
        categories = [value for value in feature.categories if value is not Other.OTHER]
        known = {(isinstance(value, bool), _plain(value)): value for value in categories}
        return cls(feature, strict, known)

    def __call__(self, value: Any) -> Hashable | None:
        """Return the category; what is not known is an error, or itself."""
        key = (isinstance(value, bool), value)
        if key in self.known:
            return self.known[key]
        if self.strict:
            shown = "a missing value" if value is None else repr(value)
            raise ValueError(
                f"column {self.feature.name!r} holds {shown}{describe_unseen(self.feature)}; map it to one "
                f"of these, or let the service take it as none of them (illume serve --unknown ignore)"
            )
        found: Hashable | None = value
        return found

    def schema(self) -> dict[str, Any]:
        """Return what OpenAPI says of the field."""
        values = [value for _, value in self.known]
        if self.strict:
            return {"enum": values, "description": self.feature.kind.value}
        example = [value for value in values if value is not None][:3]
        kinds = ["boolean"] if self.feature.kind is Kind.BOOLEAN else ["string", "number", "boolean"]
        return {"type": [*kinds, "null"], "examples": example, "description": self.feature.kind.value}


def _plain(value: Any) -> Any:
    """Return a category as JSON knows it; what it does not know is text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

"""Categories that were not seen while fitting: what to do with them, and what to say of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Literal

from illume.data.frames import Frame
from illume.data.schema import MISSING, Feature
from illume.errors import SchemaError, UnknownCategoryError

ADVICE = (
    "map it to one of these, take it as none of them (explainer.unknown = 'ignore'), or fit again with "
    "such rows"
)

Unknown = Literal["error", "ignore"]


def require_unknown(unknown: object) -> None:
    """Refuse what is no way to treat a category that was not seen."""
    if unknown not in ("error", "ignore"):
        raise ValueError(f"unknown must be 'error' or 'ignore', found {unknown!r}")


def labels(frame: Frame, feature: Feature) -> list[Hashable | None]:
    """Return the values of a categorical feature; what can be no category is refused."""
    values = frame.labels(feature.name)
    try:
        hash(tuple(values))
    except TypeError as error:
        raise SchemaError(
            f"column {feature.name!r} holds values that are no categories ({error}); convert them to text"
        ) from error
    return values


def unseen_error(
    feature: Feature, values: Sequence[Hashable | None], unseen: Collection[Hashable | None]
) -> UnknownCategoryError:
    """Say which category was not seen while fitting, in which row first, and what to do."""
    row = next(i for i, value in enumerate(values) if value in unseen)
    return UnknownCategoryError(feature.name, _shown(values[row]), row, not_seen(feature), ADVICE)


def not_seen(feature: Feature) -> str:
    """Say that a category was not seen while fitting, and which were."""
    known = ", ".join(label for label in feature.labels[:8] if label != MISSING)
    more = ", …" if len(feature.labels) > 8 else ""
    return f", not seen when the explainer was fitted (known: {known}{more})"


def _shown(value: Hashable | None) -> str:
    return "a missing value" if value is None else repr(value)

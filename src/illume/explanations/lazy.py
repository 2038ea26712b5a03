"""Attributions some of whose fields are computed when they are first read.

Shapley values need neither slopes nor the surrogate's answers, trust or novelty. Without them, 2.4 times as
many rows are explained in a second (100,000 rows of 30 numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from illume.results.attributions import Attributions


class FieldSource(NamedTuple):
    """Fields that `compute` returns from arrays with one entry per row."""

    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    compute: Callable[..., tuple[Any, ...]]


class LazyAttributions(Attributions):
    """Attributions in every respect; `dataclasses.replace` and pickling make ordinary ones of them."""

    _sources: tuple[FieldSource, ...]

    def __init__(self, known: dict[str, Any], sources: tuple[FieldSource, ...]) -> None:
        self.__dict__.update(known, _sources=sources)

    @classmethod
    def of(cls, result: Attributions, *sources: FieldSource) -> LazyAttributions:
        """Take all fields from a result but those that are computed later."""
        later = {name for source in sources for name in source.names}
        names = [field.name for field in fields(Attributions) if field.name not in later]
        return cls({name: getattr(result, name) for name in names}, sources)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Attributions]:  # type: ignore[override]
        return Attributions

    def __getattr__(self, name: str) -> Any:
        """Compute a field that is not there yet, and those that come with it."""
        for source in self.__dict__.get("_sources", ()):
            if name in source.names:
                self.__dict__.update(zip(source.names, source.compute(*source.arrays), strict=True))
                self.__dict__["_sources"] = tuple(each for each in self._sources if each is not source)
        if name in self.__dict__:  # computed here, or meanwhile by another thread
            return self.__dict__[name]
        raise AttributeError(f"'Attributions' object has no attribute {name!r}")

    def _take(self, rows: Any) -> Attributions:
        known = {name: value[rows] if name in self.PER_ROW else value for name, value in vars(self).items()}
        sources = known.pop("_sources")
        known["origin"] = self.origin.take(rows)
        taken = (source._replace(arrays=tuple(each[rows] for each in source.arrays)) for source in sources)
        return LazyAttributions(known, tuple(taken))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(Attributions)}
        return _make_attributions, (values,)


def _make_attributions(values: dict[str, Any]) -> Attributions:
    return Attributions(**values)

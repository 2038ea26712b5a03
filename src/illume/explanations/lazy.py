"""Attributions whose slopes and surrogate's answers are computed when they are first asked for.

Shapley values need neither; leaving them out doubles the rows explained in a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from illume._typing import FloatArray
from illume.results.attributions import Attributions
from illume.results.trust import Refinement

LATER = ("slopes", "surrogate_probabilities", "refinement")


class Local(NamedTuple):
    """What is computed later: see the fields of `Attributions` of the same names."""

    slopes: FloatArray
    surrogate_probabilities: FloatArray
    refinement: Refinement

    def take(self, rows: Any) -> Local:
        """Take some rows."""
        return Local(self.slopes[rows], self.surrogate_probabilities[rows], self.refinement[rows])


@dataclass(frozen=True, eq=False)
class LocalSource:
    """Encoded rows X (n, m) in single precision, the model's answers P (n, c), and what explains them."""

    X: FloatArray
    P: FloatArray
    pull_back: Callable[[FloatArray, FloatArray], Attributions]

    def __getitem__(self, rows: Any) -> LocalSource:
        return LocalSource(self.X[rows], self.P[rows], self.pull_back)

    def __call__(self) -> Local:
        """Return slopes, surrogate's answers and refinement of the rows."""
        found = self.pull_back(self.X, self.P)
        return Local(found.slopes, found.surrogate_probabilities, found.refinement)


class LazyAttributions(Attributions):
    """Attributions in every respect; `dataclasses.replace` and pickling make ordinary ones of them."""

    _source: LocalSource
    _found: Local | None

    def __init__(self, known: dict[str, Any], source: LocalSource, found: Local | None = None) -> None:
        self.__dict__.update(known, _source=source, _found=found)

    @classmethod
    def of(cls, result: Attributions, source: LocalSource) -> LazyAttributions:
        """Take all but what is computed later from a result."""
        names = [field.name for field in fields(Attributions) if field.name not in LATER]
        return cls({name: getattr(result, name) for name in names}, source)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Attributions]:  # type: ignore[override]
        return Attributions

    @property
    def _local(self) -> Local:
        if self._found is None:
            self.__dict__["_found"] = self._source()
        return self._found  # type: ignore[return-value]

    @property
    def slopes(self) -> FloatArray:
        """See `Attributions`."""
        return self._local.slopes

    @property
    def surrogate_probabilities(self) -> FloatArray:  # type: ignore[override]
        """See `Attributions`."""
        return self._local.surrogate_probabilities

    @property
    def refinement(self) -> Refinement:
        """See `Attributions`."""
        return self._local.refinement

    def _take(self, rows: Any) -> Attributions:
        known = {name: value for name, value in self.__dict__.items() if name not in ("_source", "_found")}
        for name in self.PER_ROW:
            if name not in LATER:
                known[name] = known[name][rows]
        known["origin"] = self.origin.take(rows)
        found = None if self._found is None else self._found.take(rows)
        return LazyAttributions(known, self._source[rows], found)

    def __reduce__(self) -> tuple[Any, ...]:
        return _whole, ({field.name: getattr(self, field.name) for field in fields(Attributions)},)


def _whole(values: dict[str, Any]) -> Attributions:
    return Attributions(**values)

"""What few read of a result, looked up when it is asked for: trust figures, and which rows are far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.trust import TrustMap
from illume.results.trust import Novelty, Trust, typical_errors

FEW = 2048  # rows that are looked up all at once when some of them are taken


class DeferredTrust(Trust):
    """Trust figures of encoded rows (n, m), which are kept in single precision until they are looked up.

    Standard errors of the rows' contributions, (n, n_features, …), are kept along with them.
    """

    def __init__(self, trust_map: TrustMap, X: FloatArray, standard_errors: FloatArray) -> None:
        self._source: tuple[TrustMap, FloatArray, FloatArray] | None = (trust_map, X, standard_errors)
        self._found: Trust | None = None

    @property
    def figures(self) -> Trust:
        """The figures; the first who asks waits for them."""
        source = self._source  # read first: it goes only when the figures are there
        if self._found is None and source is not None:
            trust_map, X, errors = source
            self._found = replace(trust_map(X), contribution_error=typical_errors(errors))
        self._source = None
        return self._found  # type: ignore[return-value]

    @property
    def agreement(self) -> FloatArray:
        """See `Trust`."""
        return self.figures.agreement

    @property
    def error(self) -> FloatArray:
        """See `Trust`."""
        return self.figures.error

    @property
    def n_rows(self) -> IntArray:
        """See `Trust`."""
        return self.figures.n_rows

    @property
    def distance(self) -> FloatArray:
        """See `Trust`."""
        return self.figures.distance

    @property
    def contribution_error(self) -> FloatArray:
        """See `Trust`."""
        return self.figures.contribution_error

    def __getitem__(self, rows: Any) -> Trust:
        source = self._source
        if source is None or len(source[1]) <= FEW or isinstance(rows, (int, np.integer)):
            return self.figures[rows]
        return DeferredTrust(source[0], source[1][rows], source[2][rows])


class DeferredNovelty(Novelty):
    """What is odd of rows is known; which are far is read off their trust figures, when it is asked for."""

    _trust: Trust
    _limit: float

    def __init__(self, features: BoolArray, trust: Trust, limit: float, names: tuple[str, ...]) -> None:
        values = {"features": features, "names": names, "known": True}
        self.__dict__.update(values, _trust=trust, _limit=limit)

    @property
    def far(self) -> BoolArray:
        """See `Novelty`."""
        with np.errstate(invalid="ignore"):
            return self._trust.distance > self._limit

    def __getitem__(self, rows: Any) -> Novelty:
        return DeferredNovelty(self.features[rows], self._trust[rows], self._limit, self.names)

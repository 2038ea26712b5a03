"""Pairwise interactions of features, by row and over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Origin
from illume.data.number_text import count
from illume.results.by_label import HasRows
from illume.results.display import Shown, Table
from illume.results.predictions import Labels, PerRow, row_positions

SHOWN = 8


class PairStrength(NamedTuple):
    """Two features and the mean absolute interaction value of the pair, summed over outputs."""

    first: str
    second: str
    strength: float


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Shown, HasRows, PerRow):
    """Pairwise Shapley interaction values of a batch, consistent with its contributions.

    A pair's interaction value is split equally between its two entries, and the diagonal holds the remainder
    of each feature's contribution: rows of the matrix add up to contributions. Interactions with features
    that were left out are part of the diagonal.

    Parameters
    ----------
    values
        (n, k, k), or (n, k, k, n_outputs), on the scale of contributions; symmetric.
    feature_names
        The k features; of some of them, the strongest first.
    standard_errors
        Shaped like `values`; 0 where values are exact.
    """

    values: FloatArray
    feature_names: tuple[str, ...]
    labels: Labels
    origin: Origin
    standard_errors: FloatArray

    PER_ROW: ClassVar[tuple[str, ...]] = ("values", "standard_errors")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Interactions:
        """Take rows by position, slice or mask; a single one stays a batch of one."""
        taken, _ = row_positions(rows, len(self))
        return self.take_rows(taken, origin=self.origin.take(taken))

    @property
    def contributions(self) -> FloatArray:
        """Contributions of the features, (n, k) or (n, k, n_classes): the sums of the matrix's rows."""
        return np.asarray(self.values.sum(2))

    @property
    def strength(self) -> FloatArray:
        """Mean absolute value of every entry, summed over outputs as `Attributions.strength` is, (k, k)."""
        k = len(self.feature_names)
        if not len(self):
            return np.zeros((k, k))
        sizes = np.abs(self.values).mean(0).reshape(k, k, -1) / self.labels.outputs.common_unit
        return np.asarray(sizes.sum(2))

    def pairs(self, n: int | None = None) -> tuple[PairStrength, ...]:
        """Return pairs of features, strongest first; the whole interaction of a pair is twice an entry."""
        strength = 2 * self.strength
        first, second = np.triu_indices(len(self.feature_names), k=1)
        order = np.argsort(-strength[first, second], kind="stable")[:n]
        return tuple(
            PairStrength(self.feature_names[i], self.feature_names[j], float(strength[i, j]))
            for i, j in zip(first[order], second[order], strict=True)
        )

    def partner(self, feature: str) -> str | None:
        """Return the feature that interacts most with another; None where there is no other."""
        i = self.feature_names.index(feature)
        others = [name for name in self.feature_names if name != feature]
        return others[int(np.delete(self.strength[i], i).argmax())] if others else None

    def to_frame(self) -> Any:
        """Return a frame of the rows' library with a line per pair, strongest first."""
        pairs = self.pairs()
        columns = {name: [getattr(pair, name) for pair in pairs] for name in PairStrength._fields}
        return Origin(self.origin.backend).frame(columns)

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines: the strongest pairs."""
        rows, features = count(len(self), "row"), count(len(self.feature_names), "feature")
        outputs = self.labels.outputs
        yield f"Interactions of {features} over {rows}, mean absolute {outputs.scale_name}"
        label, show = self.labels.dictionary.label, outputs.format_error
        cells = [[f"{label(one)} × {label(other)}", show(size)] for one, other, size in self.pairs(SHOWN)]
        yield Table(cells, "<<")

"""Which pairs of features act together, row by row and over all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Origin
from illume.results.predictions import Labels


class PairStrength(NamedTuple):
    """Two features and the mean absolute interaction value of the pair, summed over outputs."""

    first: str
    second: str
    strength: float


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Pairwise Shapley interaction values of a batch, consistent with its contributions.

    A pair's interaction value is split equally between its two entries, and the diagonal holds what is left
    of each feature's contribution: rows of the matrix add up to contributions. Interactions with features
    that were left out are part of the diagonal.

    Parameters
    ----------
    values
        (n, k, k), or (n, k, k, n_classes), in log-odds; symmetric.
    features
        The k features, strongest first.
    labels, origin
        Names of outputs, and where the rows came from.
    """

    values: FloatArray
    features: tuple[str, ...]
    labels: Labels
    origin: Origin

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Interactions:
        """Take some rows; a single one stays a batch of one."""
        if isinstance(rows, (int, np.integer)):
            rows = slice(rows, rows + 1) if rows != -1 else slice(-1, None)
        return replace(self, values=self.values[rows], origin=self.origin.take(rows))

    @property
    def contributions(self) -> FloatArray:
        """Contributions of the features, (n, k) or (n, k, n_classes): the sums of the matrix's rows."""
        return np.asarray(self.values.sum(2))

    @property
    def strength(self) -> FloatArray:
        """Mean absolute value of every entry, summed over outputs, (k, k)."""
        if not len(self):
            return np.zeros((len(self.features), len(self.features)))
        mean = np.abs(self.values).mean(0)
        return np.asarray(mean if mean.ndim == 2 else mean.sum(2))

    def pairs(self, n: int | None = None) -> tuple[PairStrength, ...]:
        """Return pairs of features, strongest first; the whole interaction of a pair is twice an entry."""
        strength = 2 * self.strength
        first, second = np.triu_indices(len(self.features), k=1)
        order = np.argsort(-strength[first, second], kind="stable")[:n]
        return tuple(
            PairStrength(self.features[i], self.features[j], float(strength[i, j]))
            for i, j in zip(first[order], second[order], strict=True)
        )

    def partner(self, feature: str) -> str | None:
        """Return the feature that acts most together with another; None where there is no other."""
        i = self.features.index(feature)
        row = np.delete(self.strength[i], i)
        others = [name for name in self.features if name != feature]
        return others[int(row.argmax())] if others else None

    def to_frame(self) -> Any:
        """Return a frame of the rows' library with a line per pair, strongest first."""
        pairs = self.pairs()
        return Origin(self.origin.backend).frame(
            {
                "first": [pair.first for pair in pairs],
                "second": [pair.second for pair in pairs],
                "strength": [pair.strength for pair in pairs],
            }
        )

    def __repr__(self) -> str:
        pairs = self.pairs(8)
        width = max((len(f"{pair.first} × {pair.second}") for pair in pairs), default=0)
        rows = f"{len(self)} row" if len(self) == 1 else f"{len(self)} rows"
        lines = [f"Interactions of {len(self.features)} features over {rows}, mean absolute log-odds"]
        lines += [f"  {f'{pair.first} × {pair.second}':<{width}}  {pair.strength:.3f}" for pair in pairs]
        return "\n".join(lines)

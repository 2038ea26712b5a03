"""Features as positions in tables: a bin and how far into it, a category, or missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.encoders.soft_bins import N_BINS, SoftBins


@dataclass(frozen=True, eq=False)
class Codes:
    """Rows as positions `at` (n, m) in a table of all features, and shares `part` (n, m) of the way on.

    A feature's value in the table is `table[at] + part * (table[at + 1] - table[at])`.
    """

    at: IntArray
    part: FloatArray

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, rows: Any) -> Codes:
        return Codes(self.at[rows], self.part[rows])

    def mixed(self, first: IntArray, second: IntArray, from_first: BoolArray) -> Codes:
        """Take features of row `first` where `from_first` (n, m), and of row `second` elsewhere."""
        at = np.where(from_first, self.at[first], self.at[second])
        return Codes(at, np.where(from_first, self.part[first], self.part[second]))


@dataclass(frozen=True, eq=False)
class Coding:
    """How encoded rows become codes: knots of numbers, categories, a place for what is missing or unknown.

    Only features that vary and that the model uses have codes: `features` (m,) are their positions in the
    schema. The table has `size` entries; those of feature j begin at `starts[j]`: its knots or categories,
    then one for missing numbers or unknown categories.
    """

    features: IntArray
    starts: IntArray
    size: int
    numeric: BoolArray
    inputs: IntArray
    widths: IntArray
    knots: FloatArray
    mean: FloatArray

    @classmethod
    def fit(cls, encoding: Encoding, X: FloatArray, used: BoolArray, n_bins: int = N_BINS) -> Coding:
        """Take knots from encoded rows X (n, n_inputs); `used` (n_features,) says which features matter."""
        live = np.array([j for j in np.unique(encoding.owner) if used[j]], dtype=np.intp)
        bins = SoftBins.fit(X, ~encoding.onehot, n_bins)
        inputs, widths, numeric, knots = [], [], [], []
        for j in live:
            mine = np.flatnonzero(encoding.owner == j)
            is_number = encoding.schema.features[j].numeric
            own = np.empty(0, dtype=np.float32)
            if is_number:
                of_input = bins.column == mine[0]
                low = bins.low[of_input]
                own = np.append(low, low[-1] + 1.0 / bins.steepness[of_input][-1])
            inputs.append(mine[0])
            widths.append(len(own) if is_number else len(mine))
            numeric.append(is_number)
            knots.append(own)
        sizes = np.array(widths, dtype=np.intp) + 1
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        return cls(
            features=live,
            starts=starts[:-1],
            size=int(starts[-1]),
            numeric=np.array(numeric, dtype=bool),
            inputs=np.array(inputs, dtype=np.intp),
            widths=np.array(widths, dtype=np.intp),
            knots=np.concatenate([np.empty(0, dtype=np.float32), *knots]).astype(np.float32),
            mean=encoding.mean.copy(),
        )

    @property
    def n_features(self) -> int:
        """How many features have codes, m."""
        return len(self.features)

    def codes(self, X: FloatArray, imputed: BoolArray) -> Codes:
        """Return the codes of encoded rows X (n, n_inputs); `imputed` (n, n_features) were missing."""
        n, m = len(X), self.n_features
        at, part = np.empty((n, m), dtype=np.int32), np.zeros((n, m), dtype=np.float32)
        first = 0
        for j in range(m):
            start, width, column = int(self.starts[j]), int(self.widths[j]), int(self.inputs[j])
            if self.numeric[j]:
                knots = self.knots[first : first + width]
                first += width
                self._number(X[:, column], knots, start, at[:, j], part[:, j])
                missing = imputed[:, self.features[j]]
                if missing.any():
                    at[missing, j], part[missing, j] = start + width, 0.0
            else:
                at[:, j] = self.category(X, j)
        return Codes(at, part)

    def category(self, X: FloatArray, j: int) -> IntArray:
        """Return where in the table the category of coded feature j of each row stands."""
        width, column = int(self.widths[j]), int(self.inputs[j])
        block = X[:, column : column + width] + self.mean[column : column + width]
        found = block.argmax(1)
        known = np.take_along_axis(block, found[:, None], 1)[:, 0] > 0.5
        return np.asarray(self.starts[j] + np.where(known, found, width))

    @staticmethod
    def _number(x: FloatArray, knots: FloatArray, start: int, at: IntArray, part: FloatArray) -> None:
        """Fill in a number's bin and how far into it the number is."""
        x = x.astype(np.float32)
        below = np.searchsorted(knots[1:-1], x, side="right")
        low = knots[below]
        share = (x - low) / (knots[below + 1] - low)
        at[:] = start + below
        np.clip(share, 0.0, 1.0, out=part)

    @property
    def owner(self) -> IntArray:
        """Which feature each table entry belongs to, (size,)."""
        return np.repeat(np.arange(self.n_features), self.widths + 1)

    @property
    def steps(self) -> BoolArray:
        """Which table entries are knots of a number above its first, (size,)."""
        numbers = self.numeric[self.owner]
        steps = numbers.copy()
        steps[self.starts] = False
        steps[self.starts + self.widths] = False
        return np.asarray(steps)

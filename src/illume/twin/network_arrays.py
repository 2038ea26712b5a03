"""Coded rows, and the trained networks on them as plain arrays: explaining needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.encoders.forward import SoftBins


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

    def mix(self, other: Codes, keep: BoolArray) -> Codes:
        """Take features where `keep` (n, m), and those of the same row of `other` elsewhere."""
        return Codes(np.where(keep, self.at, other.at), np.where(keep, self.part, other.part))


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
    def fit(cls, encoding: Encoding, X: FloatArray, used: BoolArray) -> Coding:
        """Take knots from encoded rows X (n, n_inputs); `used` (n_features,) says which features matter."""
        live = np.array([j for j in np.unique(encoding.owner) if used[j]], dtype=np.intp)
        numeric = [encoding.schema.features[j].numeric for j in live]
        bins = SoftBins.fit(X, ~encoding.onehot)
        inputs, widths, knots = [], [], [np.empty(0, dtype=np.float32)]
        for j, is_number in zip(live, numeric, strict=True):
            mine = np.flatnonzero(encoding.owner == j)
            inputs.append(mine[0])
            widths.append(len(mine))
            if is_number:
                own = bins.column == mine[0]
                low, few = bins.low[own], np.unique(X[:, mine[0]].astype(np.float32))
                quantiles = np.append(low, low[-1] + 1.0 / bins.steepness[own][-1])
                knots.append(few if 2 <= len(few) <= len(quantiles) else quantiles)
                widths[-1] = len(knots[-1])
        sizes = np.array(widths, dtype=np.intp) + 1
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        return cls(
            features=live,
            starts=starts[:-1],
            size=int(starts[-1]),
            numeric=np.array(numeric, dtype=bool),
            inputs=np.array(inputs, dtype=np.intp),
            widths=np.array(widths, dtype=np.intp),
            knots=np.concatenate(knots).astype(np.float32),
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
                x = X[:, column].astype(np.float32)
                below = np.searchsorted(knots[1:-1], x, side="right")
                low = knots[below]
                at[:, j] = start + below
                np.clip((x - low) / (knots[below + 1] - low), 0.0, 1.0, out=part[:, j])
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

    @property
    def owner(self) -> IntArray:
        """Which feature each table entry belongs to, (size,)."""
        return np.repeat(np.arange(self.n_features), self.widths + 1)

    @property
    def steps(self) -> BoolArray:
        """Which table entries are knots of a number above its first, (size,)."""
        steps = self.numeric[self.owner]
        steps[self.starts] = steps[self.starts + self.widths] = False
        return np.asarray(steps)


@dataclass(frozen=True, eq=False)
class Table:
    """Main values and embeddings of every knot, category and missing value: `nodes` (size, c + d)."""

    nodes: FloatArray
    n_main: int

    @cached_property
    def _rise(self) -> FloatArray:
        """What each entry's successor adds to it."""
        return np.diff(self.nodes, axis=0, append=self.nodes[-1:])

    def look_up(self, codes: Codes) -> tuple[FloatArray, FloatArray]:
        """Return main values (n, m, c) and embeddings (n, m, d) of coded rows."""
        values = self._rise.take(codes.at, axis=0)
        values *= codes.part[..., None]
        values += self.nodes.take(codes.at, axis=0)
        return values[..., : self.n_main], values[..., self.n_main :]


def gate(hidden: FloatArray) -> FloatArray:
    """Return SiLU of the first half times the second half, on the last axis.

    >>> gate(np.array([[0.0, 3.0]], dtype=np.float32))
    array([[0.]], dtype=float32)
    """
    half = hidden.shape[-1] // 2
    first = hidden[..., :half]
    with np.errstate(over="ignore"):  # exp of a large number is infinite, and the quotient 0
        result = np.exp(-first)
    result += 1.0
    np.divide(first, result, out=result)
    result *= hidden[..., half:]
    return result


@dataclass(frozen=True, eq=False)
class ModelArrays:
    """The network that learned the model: coded rows to scores."""

    table: Table
    first: FloatArray
    first_bias: FloatArray
    last: FloatArray
    last_bias: FloatArray

    def __call__(self, codes: Codes) -> FloatArray:
        """Return scores (n, c)."""
        main, embedding = self.table.look_up(codes)
        return main.sum(1) + self.embedded_interactions(embedding)

    def embedded_interactions(self, embedding: FloatArray) -> FloatArray:
        """Return what the gated units add to the scores of rows with embeddings (n, m, d)."""
        return self.interaction_part(embedding.reshape(len(embedding), -1) @ self.first + self.first_bias)

    def coded_interactions(self, codes: Codes) -> FloatArray:
        """Return what the gated units add to the scores of coded rows, (n, c)."""
        return self.embedded_interactions(self.table.look_up(codes)[1])

    def interaction_part(self, hidden: FloatArray) -> FloatArray:
        """Return what the gated units add to the scores, from the first layer's sums (…, 2 h)."""
        return gate(hidden) @ self.last + self.last_bias

    def summands(self, embedding: FloatArray) -> FloatArray:
        """Return what each feature adds to the first layer's sums, (m, n, 2 h), from embeddings (n, m, d)."""
        m, d = embedding.shape[1:]
        return np.matmul(embedding.transpose(1, 0, 2), self.first.reshape(m, d, -1))


@dataclass(frozen=True, eq=False)
class ValueArrays:
    """The network that learned Shapley values: coded rows to one value for each feature and output."""

    table: Table
    constant: FloatArray
    first: FloatArray
    first_bias: FloatArray
    last: FloatArray
    last_bias: FloatArray

    def __call__(self, codes: Codes) -> FloatArray:
        """Return values (n, m, c), before they are made to add up to the model's scores."""
        main, embedding = self.table.look_up(codes)
        n, m, d = embedding.shape
        hidden = embedding.reshape(n, m * d) @ self.first
        hidden += self.first_bias
        units = hidden.shape[1] // 3
        hidden[:, units : 2 * units] = gate(hidden[:, : 2 * units])
        coefficients = hidden[:, units:] @ self.last
        coefficients += self.last_bias
        if main.shape[2] == 1:  # a product with ones is far faster than sums over a short axis
            coefficients *= embedding.reshape(n, m * d)
            values = (coefficients @ np.repeat(np.eye(m, dtype=np.float32), d, axis=0))[..., None]
        else:
            values = np.einsum("nmdc,nmd->nmc", coefficients.reshape(n, m, d, main.shape[2]), embedding)
        values += main
        values += self.constant
        return values


def arrays_of(networks: ModelArrays | ValueArrays) -> dict[str, Any]:
    """Return the arrays of a network by name, the table's nodes among them."""
    found = {field.name: getattr(networks, field.name) for field in fields(networks) if field.name != "table"}
    return {"nodes": networks.table.nodes, **found}


@dataclass(frozen=True, eq=False)
class RowEmbedding:
    """What embeds the numbers of encoded rows without codes: for exports.

    `numbers` (p,) are the positions of numeric features among the coded ones. `low` and `steepness` (p, bins)
    are the lower knots of their bins and one divided by the bins' widths, 0 beyond a feature's last; `start`
    (p, c + d) and `rise` (p, bins, c + d) are embeddings at the first knot, and what each bin adds.
    """

    coding: Coding
    table: Table
    numbers: IntArray
    low: FloatArray
    steepness: FloatArray
    start: FloatArray
    rise: FloatArray

    @classmethod
    def from_table(cls, coding: Coding, table: Table) -> RowEmbedding:
        """Take knots and table apart, feature by feature."""
        numbers = np.flatnonzero(coding.numeric)
        n_bins = int(coding.widths[numbers].max(initial=2)) - 1
        shape = (len(numbers), n_bins)
        low, steepness = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
        rise = np.zeros((*shape, table.nodes.shape[1]), dtype=np.float32)
        first = 0
        for i, j in enumerate(numbers):
            width, start = int(coding.widths[j]), int(coding.starts[j])
            knots = coding.knots[first : first + width]
            first += width
            low[i, : width - 1] = knots[:-1]
            steepness[i, : width - 1] = 1.0 / np.diff(knots)
            rise[i, : width - 1] = np.diff(table.nodes[start : start + width], axis=0)
        return cls(coding, table, numbers, low, steepness, table.nodes[coding.starts[numbers]], rise)

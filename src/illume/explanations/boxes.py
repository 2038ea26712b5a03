"""Boxes of inputs: the conditions of a leaf on latents, pulled back to conditions on single inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding, standardise
from illume.surrogates.base import TreeSurrogate


@dataclass(frozen=True, eq=False)
class Layout:
    """The inputs of an encoding.

    Parameters
    ----------
    owner, onehot
        Which feature an input belongs to, and whether it stands for a category, (m,).
    mean, scale
        The mean that was subtracted from each input, and the scale it was divided by, (m,).
    low, high
        The range of each input in `fit`, (m,).
    """

    owner: IntArray
    onehot: BoolArray
    mean: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, encoding: Encoding) -> Layout:
        """Read the layout off an encoding."""
        features = [encoding.schema.features[j] for j in encoding.owner]
        seen = np.array([(f.low, f.high) if f.numeric else (0.0, 1.0) for f in features]).reshape(-1, 2)
        low, high = standardise(seen.T, encoding.mean, encoding.scale)
        return cls(encoding.owner, encoding.onehot, encoding.mean, encoding.scale, low, high)

    @property
    def n_inputs(self) -> int:
        """The number of inputs, m."""
        return len(self.owner)

    @cached_property
    def numbers(self) -> IntArray:
        """Positions of the inputs that are numbers."""
        return np.flatnonzero(~self.onehot)

    @cached_property
    def categorical(self) -> tuple[slice, ...]:
        """Where the inputs of each categorical feature stand."""
        _, starts, counts = np.unique(self.owner, return_index=True, return_counts=True)
        return tuple(slice(s, s + c) for s, c in zip(starts, counts, strict=True) if self.onehot[s])

    def own(self, X: FloatArray) -> BoolArray:
        """Return which categories the rows have, (n, m); False for numbers."""
        return self.onehot & (X + self.mean > 0.5)

    def admissible(self, X: FloatArray) -> BoolArray:
        """Return which categories a box around a row must allow: its own, or all where it is none of them."""
        own = self.own(X)
        for inputs in self.categorical:
            own[:, inputs] |= ~own[:, inputs].any(1, keepdims=True)
        return own


ROUNDING = 1e-9  # relative margin of sound boxes against rounding errors


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The bounds of every node of a tree on the latents: `low < z <= high`, (n_nodes, k) each."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, tree: TreeSurrogate, n_latents: int) -> LeafBoxes:
        """Walk down the tree once; parents come before their children in scikit-learn's layout."""
        low = np.full((len(tree.feature_), n_latents), -np.inf)
        high = np.full_like(low, np.inf)
        for node in np.flatnonzero(tree.children_left_ >= 0):
            left, right = tree.children_left_[node], tree.children_right_[node]
            low[[left, right]], high[[left, right]] = low[node], high[node]
            r, threshold = tree.feature_[node], tree.threshold_[node]
            high[left, r] = min(high[node, r], threshold)
            low[right, r] = max(low[node, r], threshold)
        return cls(low, high)

    @property
    def bound(self) -> BoolArray:
        """Which latents each node has a bound on, (n_nodes, k)."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    def widen(self, Z: FloatArray) -> LeafBoxes:
        """Return the boxes of rows, widened to hold latents that the tree rounds to single precision."""
        room = ROUNDING * (1 + np.abs(Z))
        return LeafBoxes(np.minimum(self.low, Z - room), np.maximum(self.high, Z + room))

    def __getitem__(self, leaves: IntArray) -> LeafBoxes:
        return LeafBoxes(self.low[leaves], self.high[leaves])


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes around rows in the space of inputs, one per row.

    Parameters
    ----------
    low, high
        Numeric inputs lie between these, both ends included, (n, m); infinite where a side is open.
    allowed
        Which categories a row may have, (n, m); True for numeric inputs.
    """

    low: FloatArray
    high: FloatArray
    allowed: BoolArray

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, rows: Any) -> Boxes:
        return Boxes(self.low[rows], self.high[rows], self.allowed[rows])

    def __setitem__(self, rows: Any, other: Boxes) -> None:
        """Write the boxes of some rows."""
        self.low[rows], self.high[rows], self.allowed[rows] = other.low, other.high, other.allowed

    @classmethod
    def whole_space(cls, n: int, m: int) -> Boxes:
        """Return boxes without a condition."""
        return cls(np.full((n, m), -np.inf), np.full((n, m), np.inf), np.ones((n, m), dtype=bool))

    def widen(self, X: FloatArray, layout: Layout) -> Boxes:
        """Return the boxes, widened where they do not hold the rows X."""
        low = np.where(layout.onehot, self.low, np.minimum(self.low, X))
        high = np.where(layout.onehot, self.high, np.maximum(self.high, X))
        return Boxes(low, high, self.allowed | layout.admissible(X))


@dataclass(frozen=True, eq=False)
class Oblique:
    """The conditions of a leaf on each row: `low < weights @ x + offset <= high`, d of them at most.

    Parameters
    ----------
    latent
        Which latent each condition is about, (n, d); -1 for none.
    weights
        The latents' directions in the space of inputs, (n, d, m).
    Z
        The latents themselves, `weights @ x + offset`, (n, d).
    low, high
        Bounds on them, (n, d); infinite where a side is open.
    """

    latent: IntArray
    weights: FloatArray
    Z: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, W: FloatArray, Z: FloatArray, leaf: LeafBoxes, used: IntArray, depth: int) -> Oblique:
        """Keep the latents that the leaf has a bound on, `depth` at most.

        `used` (u,) are the latents that any leaf has a bound on; W (n, u, m) are their maps.
        """
        bound = leaf.bound[:, used]
        kept = np.argsort(~bound, axis=1, kind="stable")[:, :depth]
        latent, each = used[kept], np.arange(len(W))[:, None]
        # Single precision saves memory; the bounds make up for its rounding errors.
        weights = W[each, kept].astype(np.float32)
        known = (array[each, latent] for array in (Z, leaf.low, leaf.high))
        return cls(np.where(bound[each, kept], latent, -1), weights, *known)

    def slots(self) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Yield each condition's weights (n, m), and how far its bounds are from the row, (n, 1) each."""
        for d in range(self.latent.shape[1]):
            z = self.Z[:, [d]]
            yield self.weights[:, d].astype(np.float64), self.low[:, [d]] - z, self.high[:, [d]] - z


def axis_parallel(oblique: Oblique, X: FloatArray, layout: Layout) -> Boxes:
    r"""Return how far each feature alone may move while the row stays in its leaf.

    For a number, :math:`x_j - x_{ij} \in \bigcap_r (l_r - z_{ir}, u_r - z_{ir}] / W_{irj}`, ends swapped
    where :math:`W_{irj} < 0`; a latent without weight on j does not bound it. A category may be exchanged
    for another of its feature where the exchange, :math:`W_{irq} - W_{irv}`, leads into the leaf. For a leaf
    that does not hold the row, the boxes say where each feature would have to move.
    """
    # PAPER: its formula takes the lower end from the lower bound, even for negative weights.
    boxes = Boxes.whole_space(*X.shape)
    own = layout.own(X)
    number = ~layout.onehot
    for W, down, up in oblique.slots():
        positive, negative = (W > 0) & number, (W < 0) & number
        with np.errstate(divide="ignore", invalid="ignore"):
            to_low, to_high = X + down / W, X + up / W
        np.maximum(boxes.low, to_low, out=boxes.low, where=positive)
        np.maximum(boxes.low, to_high, out=boxes.low, where=negative)
        np.minimum(boxes.high, to_high, out=boxes.high, where=positive)
        np.minimum(boxes.high, to_low, out=boxes.high, where=negative)
        for inputs in layout.categorical:
            exchange = _exchange(W, own, inputs)
            boxes.allowed[:, inputs] &= (exchange >= down) & (exchange <= up)
    return boxes


def sound(oblique: Oblique, X: FloatArray, layout: Layout) -> Boxes:
    r"""Return boxes all of whose points satisfy every oblique condition with the row's own W.

    Within its range in `fit`, every feature may move by the share of its own bound that keeps
    :math:`\sum_j |W_{irj}| \delta_j` within the bounds of each latent r. Another category is allowed where
    it moves no latent towards a bound.
    """
    alone = axis_parallel(oblique, X, layout).widen(X, layout)
    fall = np.where(layout.onehot, 0.0, np.maximum(X - np.maximum(alone.low, layout.low), 0.0))
    rise = np.where(layout.onehot, 0.0, np.maximum(np.minimum(alone.high, layout.high) - X, 0.0))
    share, involved = np.ones(X.shape), np.zeros(X.shape, dtype=bool)
    own = layout.own(X)
    allowed = np.ones(X.shape, dtype=bool)
    for W, down, up in oblique.slots():
        upward, downward = np.where(W > 0, W * rise, -W * fall), np.where(W > 0, W * fall, -W * rise)
        for room, cost in ((up, upward), (-down, downward)):
            total = cost.sum(1, keepdims=True)
            bound = (W != 0) & np.isfinite(room)
            with np.errstate(divide="ignore", invalid="ignore"):
                part = (1 - ROUNDING) * np.where(total > room, np.maximum(room, 0.0) / total, 1.0)
            np.minimum(share, part, out=share, where=bound)
            involved |= bound
        for inputs in layout.categorical:
            exchange = _exchange(W, own, inputs)
            allowed[:, inputs] &= ((exchange <= 0) | (up == np.inf)) & ((exchange >= 0) | (down == -np.inf))
    involved &= ~layout.onehot
    low, high = (np.where(involved, X + share * by, end) for by, end in ((-fall, -np.inf), (rise, np.inf)))
    return Boxes(low, high, allowed | own)


def _exchange(W: FloatArray, own: BoolArray, inputs: slice) -> FloatArray:
    """Return what each category adds to a latent when it replaces the row's own, (n, width)."""
    part = W[:, inputs]
    return part - (part * own[:, inputs]).sum(1, keepdims=True)

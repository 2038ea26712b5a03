"""From rows to the leaves they are in, and from leaves to boxes: the rules of a tree on latents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.explanations.boxes import Boxes, Layout, LeafBoxes, Oblique, axis_parallel, sound
from illume.explanations.neighbours import Neighbours
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.step_search import LatentRefiner, TreeRegions, carrier
from illume.results.trust import Refinement

MAP_NUMBERS = 2_000_000


@dataclass(frozen=True, eq=False)
class RawRules:
    """What a tree says of rows, before polishing.

    Parameters
    ----------
    oblique
        The conditions of each row's leaf; bounds include the offset of a refinement.
    boxes, sound
        The conditions on each feature alone, and the box in which all of them hold at once.
    refinement
        How each row came to its leaf; neighbours by their position among the training rows.
    """

    oblique: Oblique
    boxes: Boxes
    sound: Boxes
    refinement: Refinement


@dataclass(frozen=True, eq=False)
class TreeRules:
    """A tree on an encoder's latents, as a maker of rules.

    Parameters
    ----------
    encoder, tree
        The fitted parts.
    leaves
        What each node demands of the latents.
    decisions
        The class that each leaf decides for, (n_nodes,).
    neighbours
        Valid training rows, to refine rows that the tree decides otherwise.
    """

    encoder: Any
    tree: Any
    leaves: LeafBoxes
    decisions: IntArray
    neighbours: Neighbours
    layout: Layout

    @classmethod
    def of(
        cls, encoder: Any, tree: Any, layout: Layout, rows: tuple[FloatArray, FloatArray], search: str
    ) -> TreeRules:
        """Prepare a fitted pair with its training rows (X, P)."""
        X, P = rows
        Z = encoder.transform(X)
        mine = tree.probabilities(Z).argmax(1)
        decisions = np.zeros(len(tree.feature_), dtype=np.intp)
        decisions[tree.apply(Z)] = mine
        neighbours = Neighbours.of(X, Z, P, mine, search)
        return cls(encoder, tree, LeafBoxes.of(tree, Z.shape[1]), decisions, neighbours, layout)

    @property
    def depth(self) -> int:
        """On how many latents a leaf has conditions at most."""
        return int(self.leaves.bound.sum(1).max())

    @property
    def at_once(self) -> int:
        """How many rows to handle at once, so that their maps take bounded memory."""
        return max(32, MAP_NUMBERS // self.leaves.low.shape[1] // max(self.layout.n_inputs, 1))

    def decide(self, Z: FloatArray) -> IntArray:
        """Return the tree's decisions on latents."""
        return self.tree.probabilities(Z).argmax(1)

    def encode(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return maps and latents."""
        latent = self.encoder.encode(X)
        return latent.W, latent.Z

    def latents(self, X: FloatArray, wanted: IntArray) -> tuple[FloatArray, FloatArray, Refinement]:
        """Return maps and latents that the tree decides as wanted, refined where need be."""
        W, Z = self.encode(X)
        refinement = Refinement.empty(len(X))
        refinement.agreed[:] = self.decide(Z) == wanted
        rows = np.flatnonzero(~refinement.agreed)
        if len(rows):
            carry = carrier(self.encoder, Z.shape[1])
            regions = TreeRegions(self.tree, self.decisions)
            refiner = LatentRefiner(carry, self.decide, regions, self.neighbours)
            refined = refiner(X[rows], Z[rows], wanted[rows])
            moved = np.flatnonzero(refined.neighbour >= 0)
            W, Z = np.array(W), Z.copy()
            W_near = W[rows]
            W_near[moved] = self.encode(self.neighbours.X[refined.neighbour[moved]])[0]
            W[rows], Z[rows] = refined.mixed(W[rows], W_near), refined.Z
            refinement[rows] = refined.refinement
        return W, Z, refinement

    def __call__(self, X: FloatArray, wanted: IntArray) -> RawRules:
        """Return the rules of rows X, each for the decision wanted of it."""
        W, Z, refinement = self.latents(X, wanted)
        oblique = Oblique.of(W, Z, self.leaves[self.tree.apply(Z)].containing(Z), self.depth)
        boxes = axis_parallel(oblique, X, self.layout).containing(X, self.layout)
        return RawRules(oblique, self.within_seen(boxes), sound(oblique, X, self.layout), refinement)

    def towards(self, X: FloatArray, W: FloatArray, Z: FloatArray, leaf: IntArray) -> Boxes:
        """Return what must become of each feature of rows with maps W, latents Z to get into other leaves."""
        boxes = axis_parallel(Oblique.of(W, Z, self.leaves[leaf], self.depth), X, self.layout)
        return self.within_seen(boxes)

    def changes(self, Z: FloatArray) -> IntArray:
        """Return how many conditions of each node's path the latents violate, (n, n_nodes)."""
        count = np.zeros((len(Z), len(self.decisions)), dtype=np.intp)
        for r in range(Z.shape[1]):
            z = Z[:, [r]]
            count += (z <= self.leaves.low[:, r]).astype(np.intp) + (z > self.leaves.high[:, r])
        return count

    def within_seen(self, boxes: Boxes) -> Boxes:
        """Drop bounds that cannot bind within the range that was seen."""
        low = np.where(boxes.low <= self.layout.low, -np.inf, boxes.low)
        return replace(boxes, low=low, high=np.where(boxes.high >= self.layout.high, np.inf, boxes.high))


@dataclass(frozen=True, eq=False)
class PrecisionCurve:
    """Mean precision and coverage of rules on validation rows, by the target that they were searched for."""

    targets: FloatArray
    precision: FloatArray
    coverage: FloatArray

    def target(self, precision: float) -> float:
        """Return the lowest target, not below the wanted precision, that reached it on validation rows.

        Where none did, return the one that came nearest.

        >>> curve = PrecisionCurve(np.array([0.9, 0.95, 0.99]), np.array([0.85, 0.92, 0.96]), np.ones(3))
        >>> curve.target(0.9), curve.target(0.99)
        (0.95, 0.99)
        """
        targets, reached = np.append(self.targets, precision), np.append(self.precision, np.nan)
        stricter = np.flatnonzero((targets >= precision) & ~np.isnan(reached))
        if not len(stricter):
            return precision
        enough = stricter[reached[stricter] >= precision]
        best = enough[0] if len(enough) else stricter[reached[stricter].argmax()]
        return float(targets[best])


@dataclass(frozen=True, eq=False)
class RuleModel:
    """All that rules are made of.

    Parameters
    ----------
    rules
        The tree, as a maker of rules.
    bins
        Training rows and queries, on which conditions are chosen.
    report
        Report rows, on which rules are measured.
    curve
        What precision a target leads to.
    source, reason
        `local` or `global`, and the figures that decided.
    """

    rules: TreeRules
    bins: Conditions
    report: Sample
    curve: PrecisionCurve
    source: str
    reason: str

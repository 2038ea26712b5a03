"""The rules of a tree on latents: the leaf of each row, as conditions on inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.questions import Bands, Question
from illume.data.scales import NumberScale
from illume.data.threads import row_chunks
from illume.explanations.boxes import Boxes, Layout, LeafBoxes, Oblique, axis_parallel, sound
from illume.explanations.neighbours import Neighbours
from illume.explanations.refinement import Refiner, TreeRegions
from illume.explanations.rule_intervals import IntervalModel
from illume.explanations.rule_sample import Conditions, Sample
from illume.results.trust import Refinement
from illume.surrogates.base import TreeSurrogate

MAP_NUMBERS = 2_000_000
FEWEST = 15  # training rows in a rule that ends in an interval


class RawRules(NamedTuple):
    """The rules of a tree, before polishing.

    `low < weights @ x <= high` are the oblique conditions of each row's leaf, d of them at most; `latent`
    (n, d) is the latent of each, -1 for none. `boxes` bound each feature alone; in the boxes `sound` all
    oblique conditions hold at once. `refinement` names neighbours by their position among training rows.
    """

    latent: IntArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    boxes: Boxes
    sound: Boxes
    refinement: Refinement


@dataclass(frozen=True, eq=False)
class TreeRules:
    """A tree on an encoder's latents, and the rules of its leaves.

    Parameters
    ----------
    encoder, tree
        The fitted parts.
    leaves
        The bounds of each node on the latents.
    question
        How answers become the decisions that rules are for.
    answers, spread, support
        Mean and standard deviation of the black box's answers to training rows in each node, (n_nodes, c),
        and the number of these rows, (n_nodes,); the answer of a leaf is the tree's own.
    neighbours
        Valid training rows, to refine rows that the tree decides otherwise.
    """

    encoder: Any
    tree: Any
    leaves: LeafBoxes
    question: Question
    answers: FloatArray
    spread: FloatArray
    support: FloatArray
    neighbours: Neighbours
    layout: Layout

    @classmethod
    def of(
        cls, pair: Any, layout: Layout, rows: tuple[FloatArray, FloatArray], question: Question, search: str
    ) -> TreeRules:
        """Prepare a fitted pair with its training rows (X, P)."""
        (X, P), encoder, tree = rows, pair.encoder, pair.surrogate
        Z = encoder.transform(X)
        Q = tree.answers(Z)
        leaf = tree.apply(Z)
        answers, spread, support = _node_figures(tree, leaf, P)
        answers[leaf] = Q
        valid = question.of_shares.holds(Q, question.decide(P))
        neighbours = Neighbours.from_valid(X, Z, question, (P, valid), search)
        leaves = LeafBoxes.of(tree, Z.shape[1])
        return cls(encoder, tree, leaves, question, answers, spread, support, neighbours, layout)

    def ask(self, question: Question, P: FloatArray) -> TreeRules:
        """Return the same for another question; P (n, c) are the black box's answers to training rows."""
        X, Z = self.neighbours.X, self.neighbours.Z
        neighbours = Neighbours.of(X, Z, question, (P, self.tree.answers(Z)), "exact")
        return replace(self, question=question, neighbours=neighbours)

    @property
    def decisions(self) -> IntArray:
        """What each leaf decides, (n_nodes,)."""
        return self.question.of_shares.decide(self.answers)

    @cached_property
    def top(self) -> IntArray:
        """The node whose conditions rules have, for each node, (n_nodes,): the leaf itself.

        For rules that end in intervals, the last node on the way to it that has enough rows, and before which
        there is none whose numbers are close together.
        """
        top, left, right = np.arange(len(self.answers)), self.tree.children_left_, self.tree.children_right_
        if isinstance(self.question, Bands):
            close = self.spread[:, self.question.output] <= self.question.close
            ends, few = close.copy(), self.support < FEWEST
            for node in np.flatnonzero(left >= 0):  # parents come before their children
                for child in (left[node], right[node]):
                    if ends[node] or few[child]:
                        top[child], ends[child] = top[node], True
        return top

    @property
    def n_latents(self) -> int:
        """The number of latents, k."""
        return self.leaves.low.shape[1]

    @property
    def depth(self) -> int:
        """The largest number of latents that a leaf has conditions on."""
        return int(self.leaves.bound.sum(1).max())

    @property
    def at_once(self) -> int:
        """The number of rows to handle at once, so that their maps take bounded memory."""
        return max(32, MAP_NUMBERS // max(len(self.used), 1) // max(self.layout.n_inputs, 1))

    @cached_property
    def used(self) -> IntArray:
        """The latents that the tree has conditions on, (u,): no more of the maps is needed."""
        return np.unique(self.tree.feature_[self.tree.children_left_ >= 0]).astype(np.intp)

    def latents(self, X: FloatArray, wanted: IntArray) -> tuple[FloatArray, FloatArray, Refinement]:
        """Return maps (n, u, m) of the latents that the tree uses, and all latents (n, k).

        Both are such that the tree decides as wanted, refined where it decides otherwise.
        """
        latent = self.encoder.encode(X)
        W, Z, refinement = latent.W[:, self.used], latent.Z, Refinement.empty(len(X))
        if self.question.intervals:  # an interval is made to hold the row's own number
            return W, Z, refinement
        refinement.agreed[:] = self.question.of_shares.holds(self.tree.answers(Z), wanted)
        rows = np.flatnonzero(~refinement.agreed)
        if len(rows):
            regions = TreeRegions(self.tree, self.question, self.answers)
            coef = (self.used[:, None] == np.arange(self.n_latents)).astype(np.float64)
            refine = Refiner(self.encoder, regions, self.neighbours, coef)
            refined = refine(X[rows], Z[rows], wanted[rows])
            Z = Z.copy()
            W[rows], Z[rows] = refined.mix(W[rows], refined.slopes), refined.Z
            refinement[rows] = refined.refinement
        return W, Z, refinement

    def __call__(self, X: FloatArray, wanted: IntArray) -> RawRules:
        """Return the rules of rows X, each for the decision wanted of it."""
        (n, m), d = X.shape, self.depth
        found = RawRules(
            latent=np.empty((n, d), dtype=np.intp),
            weights=np.empty((n, d, m), dtype=np.float32),
            low=np.empty((n, d)),
            high=np.empty((n, d)),
            boxes=Boxes.whole_space(n, m),
            sound=Boxes.whole_space(n, m),
            refinement=Refinement.empty(n, off=not len(self.neighbours.X)),
        )
        for rows in row_chunks(n, self.at_once):
            x = X[rows]
            W, Z, refinement = self.latents(x, wanted[rows])
            leaves = self.leaves[self.top[self.tree.apply(Z)]].widen(Z)
            oblique = Oblique.of(W, Z, leaves, self.used, d)
            # The offset of a refinement belongs to the bounds: the weights alone tell who is inside.
            offset = oblique.Z - (oblique.weights @ x[:, :, None])[:, :, 0]
            boxes = axis_parallel(oblique, x, self.layout).widen(x, self.layout)
            found.latent[rows], found.weights[rows] = oblique.latent, oblique.weights
            found.low[rows], found.high[rows] = oblique.low - offset, oblique.high - offset
            found.boxes[rows], found.sound[rows] = self.within_seen(boxes), sound(oblique, x, self.layout)
            found.refinement[rows] = refinement
        return found

    def towards(self, X: FloatArray, W: FloatArray, Z: FloatArray, leaf: IntArray) -> Boxes:
        """Return where each feature alone must move for rows with maps W, latents Z to reach other leaves."""
        oblique = Oblique.of(W, Z, self.leaves[self.top[leaf]], self.used, self.depth)
        return self.within_seen(axis_parallel(oblique, X, self.layout))

    def changes(self, Z: FloatArray) -> IntArray:
        """Return how many conditions of each node's path the latents violate, (n, n_nodes)."""
        count = np.zeros((len(Z), len(self.answers)), dtype=np.intp)
        for r in self.used:
            z = Z[:, [r]]
            count += (z <= self.leaves.low[:, r]).astype(np.intp) + (z > self.leaves.high[:, r])
        return count

    def within_seen(self, boxes: Boxes) -> Boxes:
        """Drop bounds outside of the range seen in `fit`."""
        low = np.where(boxes.low <= self.layout.low, -np.inf, boxes.low)
        return replace(boxes, low=low, high=np.where(boxes.high >= self.layout.high, np.inf, boxes.high))


def _node_figures(
    tree: TreeSurrogate, leaf: IntArray, P: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and standard deviation (n_nodes, c) of answers P to rows in each node, and their number."""
    n, scale = len(tree.feature_), NumberScale.fit(P)
    sums = np.zeros((n, 1 + 2 * P.shape[1]))
    scores = scale(P)
    np.add.at(sums, leaf, np.hstack([np.ones((len(P), 1)), scores, np.square(scores)]))
    for node in np.flatnonzero(tree.children_left_ >= 0)[::-1]:  # children come after their parents
        sums[node] = sums[tree.children_left_[node]] + sums[tree.children_right_[node]]
    mean, square = np.split(sums[:, 1:] / np.maximum(sums[:, :1], 1), 2, axis=1)
    spread = scale.unit * np.sqrt(np.maximum(square - np.square(mean), 0.0))
    return scale.center + scale.unit * mean, spread, sums[:, 0]


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
    """Everything that rules are made from.

    Parameters
    ----------
    rules
        The tree and its own rules.
    conditions
        The conditions that polished rules are made of, with the training rows and queries they are tried on.
    known, report
        Training and validation rows, which rules for all rows are chosen on; and report rows, on which rules
        are measured.
    curve
        The precision that each target of polishing leads to.
    source, reason
        `local` or `global`, and the figures that decided.
    intervals
        For numbers, the intervals that rules end in; None for classes.
    """

    rules: TreeRules
    conditions: Conditions
    known: Sample
    report: Sample
    curve: PrecisionCurve
    source: str
    reason: str
    intervals: IntervalModel | None = None

    @property
    def question(self) -> Question:
        """How answers become the decisions that rules are for."""
        return self.rules.question

    def ask(self, question: Question, P: FloatArray) -> RuleModel:
        """Return the same for another question; P (n, c) are the black box's answers to training rows."""
        if question == self.question:
            return self
        sample = replace(self.conditions.sample, question=question)
        return replace(
            self,
            rules=self.rules.ask(question, P),
            conditions=replace(self.conditions, sample=sample),
            known=replace(self.known, question=question),
            report=replace(self.report, question=question),
        )

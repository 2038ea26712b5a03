"""From a frame's rows to their rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.assembly.answers import answered, values_of
from illume.assembly.bounds import in_own_units
from illume.assembly.stand_in import stands_in
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame, Origin
from illume.data.threads import RowChunks
from illume.errors import LeftOutError
from illume.explanations.boxes import Boxes
from illume.explanations.rule_search import LIMIT, MAX_CONDITIONS, Wish, keep_selected, lower_bound, polish
from illume.explanations.trust_map import Familiar
from illume.fit.rule_trees import RuleModel
from illume.results.conditions import Bounds, ObliqueRules
from illume.results.rules import Rules
from illume.results.trust import Refinement


@dataclass(frozen=True)
class RuleOptions:
    """How rules are wanted: polished to some precision, with some number of conditions at most."""

    polish: bool = True
    precision: float = 0.95
    max_conditions: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be had."""
        if not 0.5 <= self.precision < 1:
            raise ValueError(f"precision must be at least 0.5 and below 1, found {self.precision!r}")
        limit = self.max_conditions
        if limit is not None and not (isinstance(limit, Integral) and int(limit) >= 1):
            raise ValueError(f"max_conditions must be a positive integer, found {limit!r}")


class RawParts(NamedTuple):
    """What the tree itself says of rows: boxes, their sound form, the oblique form, how a row got there."""

    boxes: Boxes
    sound: Boxes
    oblique: ObliqueRules
    refinement: Refinement


@dataclass(frozen=True, eq=False)
class RuleAssembly:
    """All that is needed to make rules of rows which the black box has answered.

    `missing` says of which features missing values were seen while fitting, `training` where the training
    rows stand among the rows given to `fit`.
    """

    encoding: Encoding
    model: RuleModel
    class_names: tuple[str, ...]
    columns: tuple[str, ...]
    missing: BoolArray
    training: IntArray
    familiar: Familiar

    def rules(self, frame: Frame, black_box: Callable[[Frame], FloatArray], options: RuleOptions) -> Rules:
        """Return the rules of a frame's rows, every piece checked before the black box is asked."""
        encoded, P = answered(self.encoding, frame, black_box)
        numbers = self.numbers(frame)
        rules = self.of_rows(encoded, P, options, numbers=numbers, origin=frame.origin)
        return replace(
            rules,
            data=values_of(self.encoding, frame),
            stand_in=stands_in(black_box),
            novelty=self.familiar(encoded),
        )

    def of_rows(
        self,
        encoded: Encoded,
        P: FloatArray,
        options: RuleOptions,
        *,
        numbers: FloatArray | None = None,
        origin: Origin | None = None,
    ) -> Rules:
        """Return the rules of encoded rows; `numbers` (n, n_features) are their own, before scaling."""
        X, wanted = encoded.X, P.argmax(1)
        raw = self.raw(X, wanted)
        boxes, polished = self.finished(raw.boxes, X, wanted, options)
        rules = self.of_boxes(boxes, raw, encoded, wanted=wanted, P=P, numbers=numbers)
        wanted = options.precision if options.polish else 0.0
        return replace(rules, polished=polished, wanted=wanted, origin=origin or Origin())

    def of_boxes(
        self,
        boxes: Boxes,
        raw: RawParts,
        encoded: Encoded,
        *,
        wanted: IntArray,
        P: FloatArray,
        numbers: FloatArray | None = None,
    ) -> Rules:
        """Measure boxes on report rows and return them as rules in the features' own units."""
        covered, correct = self.model.report.counts(boxes, wanted, but=encoded.X)
        return Rules(
            bounds=self.bounds(boxes, encoded, numbers),
            box=self.bounds(raw.sound, encoded, numbers, exact=True),
            oblique=raw.oblique,
            decisions=wanted,
            probabilities=P,
            n_covered=covered.astype(np.intp),
            n_correct=correct.astype(np.intp),
            n_rows=len(self.model.report),
            wanted=RuleOptions.precision,
            polished=np.ones(len(boxes), dtype=bool),
            refinement=raw.refinement,
            source=self.model.source,
            class_names=self.class_names,
            columns=self.columns,
            origin=Origin(),
        )

    def finished(
        self, raw: Boxes, X: FloatArray, wanted: IntArray, options: RuleOptions
    ) -> tuple[Boxes, BoolArray]:
        """Return boxes as the options want them, and which of them were polished."""
        bins = self.model.bins
        if not len(bins.sample) and (options.polish or options.max_conditions is not None):
            raise LeftOutError(
                "rules are polished on rows, and the explainer was saved with rows='none'; ask for the "
                "tree's own rules with polish=False"
            )
        limit = None if options.max_conditions is None else min(options.max_conditions, LIMIT)
        if not options.polish:
            if limit is None:
                return raw, np.zeros(len(raw), dtype=bool)
            wish = Wish(max_conditions=limit, only_own=True)
            chosen, _ = polish(bins, raw, X, wanted, wish)
            return keep_selected(raw, chosen, bins.sample.layout), np.zeros(len(raw), dtype=bool)
        wish = Wish(self.model.curve.goal(options.precision), limit or MAX_CONDITIONS)
        boxes, reached = polish(bins, raw, X, wanted, wish)
        polished = np.ones(len(raw), dtype=bool)
        short = np.flatnonzero(reached < wish.precision) if limit is None else np.empty(0, dtype=np.intp)
        if len(short):  # the tree's own rule may still be the better one
            own = lower_bound(*reversed(bins.sample.counts(raw[short], wanted[short])))
            back = short[(own > reached[short]) | (reached[short] <= 0)]
            boxes[back], polished[back] = raw[back], False
        return boxes, polished

    def raw(self, X: FloatArray, wanted: IntArray) -> RawParts:
        """Return what the tree itself says of rows, each for the decision wanted of it."""
        rules = self.model.rules
        n, m, depth = *X.shape, rules.depth
        boxes, sound = Boxes.everything(n, m), Boxes.everything(n, m)
        refinement = Refinement.empty(n, off=not len(rules.neighbours.X))
        oblique = ObliqueRules(
            latent=np.full((n, depth), -1, dtype=np.intp),
            weights=np.zeros((n, depth, m), dtype=np.float32),
            low=np.full((n, depth), -np.inf),
            high=np.full((n, depth), np.inf),
            mean=self.encoding.mean,
            scale=self.encoding.scale,
            inputs=self.encoding.input_names,
        )
        chunks = RowChunks(n, rules.at_once)
        for rows in chunks:
            with chunks:
                raw = rules(X[rows], wanted[rows])
                boxes[rows], sound[rows], refinement[rows] = raw.boxes, raw.sound, raw.refinement
                found = raw.oblique
                # The offset of a refinement belongs to the bounds: the weights alone tell who is inside.
                offset = found.Z - (found.weights @ X[rows][:, :, None])[:, :, 0]
                oblique.latent[rows], oblique.weights[rows] = found.latent, found.weights
                oblique.low[rows], oblique.high[rows] = found.low - offset, found.high - offset
        return RawParts(boxes, sound, oblique, refinement.among(self.training))

    def bounds(
        self, boxes: Boxes, encoded: Encoded, numbers: FloatArray | None, exact: bool = False
    ) -> Bounds:
        """Return boxes of inputs as conditions on features."""
        own = self._own_numbers(encoded.X) if numbers is None else numbers
        missing = self.missing | encoded.imputed
        return in_own_units(boxes, self.encoding, own, missing, exact=exact)

    def _own_numbers(self, X: FloatArray) -> FloatArray:
        own = np.full((len(X), len(self.encoding.schema)), np.nan)
        number = ~self.encoding.onehot
        with np.errstate(over="ignore"):  # in between, for the number itself is none too large
            numbers = (self.encoding.mean + self.encoding.scale * X)[:, number]
        most = np.finfo(np.float64).max
        own[:, self.encoding.owner[number]] = np.clip(numbers, -most, most)
        return own

    def numbers(self, frame: Frame) -> FloatArray:
        """Return the rows' numbers as they came, NaN for categories."""
        features = self.encoding.schema.features
        own = np.full((len(frame), len(features)), np.nan, order="F")
        for j, feature in enumerate(features):
            if feature.numeric and not feature.constant:
                own[:, j] = frame.numbers(feature.name)
        return own

"""From a frame's rows to their rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded, Encoding, standardise
from illume.data.frames import Frame, Origin
from illume.data.threads import RowChunks
from illume.errors import LeftOutError
from illume.explanations.boxes import Boxes
from illume.explanations.encode_rows import encode_and_ask, row_values
from illume.explanations.fitted import Fitted
from illume.explanations.rule_search import (
    LIMIT,
    MAX_CONDITIONS,
    RuleGoal,
    keep_selected,
    lower_bound,
    polish,
)
from illume.explanations.tree_rules import RuleModel
from illume.results.conditions import Bounds, ObliqueRules
from illume.results.rule_set import RuleSet
from illume.results.rules import Rules
from illume.results.trust import Refinement


@dataclass(frozen=True)
class RuleRequest:
    """What rules the user asks for: see `Explainer.rules`."""

    polish: bool = True
    precision: float = 0.95
    max_conditions: int | None = None

    def __post_init__(self) -> None:
        """Raise for values that make no sense."""
        if not 0.5 <= self.precision < 1:
            raise ValueError(f"precision must be at least 0.5 and below 1, found {self.precision!r}")
        limit = self.max_conditions
        if limit is not None and not (isinstance(limit, Integral) and int(limit) >= 1):
            raise ValueError(f"max_conditions must be a positive integer, found {limit!r}")


def explain_rules(fitted: Fitted, frame: Frame, request: RuleRequest) -> Rules:
    """Return the rules of a frame's rows."""
    encoded, P = encode_and_ask(fitted, frame)
    rules = RuleMaker(fitted).explain(
        encoded, P, request, numbers=_numbers(fitted.encoding, frame), origin=frame.origin
    )
    return replace(
        rules,
        data=row_values(fitted.encoding, frame),
        stand_in=not fitted.has_model,
        novelty=fitted.novelty_detector(encoded),
    )


class RawParts(NamedTuple):
    """What the tree itself says of rows: boxes, their sound form, the oblique form, how a row got there."""

    boxes: Boxes
    sound: Boxes
    oblique: ObliqueRules
    refinement: Refinement


@dataclass(frozen=True, eq=False)
class RuleMaker:
    """Makes rules of encoded rows that the black box has answered."""

    fitted: Fitted

    @property
    def model(self) -> RuleModel:
        """The tree and the rows that rules are searched and measured on."""
        if self.fitted.rule_model is None:
            raise LeftOutError("rules have not been fitted; call fit_rules() first")
        return self.fitted.rule_model

    def explain(
        self,
        encoded: Encoded,
        P: FloatArray,
        request: RuleRequest,
        *,
        numbers: FloatArray | None = None,
        origin: Origin | None = None,
    ) -> Rules:
        """Return the rules of encoded rows; `numbers` (n, n_features) are their own, before scaling."""
        X, wanted = encoded.X, P.argmax(1)
        raw = self.raw(X, wanted)
        boxes, polished = self.choose(raw.boxes, X, wanted, request)
        rules = self.measure(boxes, raw, encoded, wanted=wanted, P=P, numbers=numbers)
        wanted = request.precision if request.polish else 0.0
        return replace(rules, polished=polished, wanted=wanted, origin=origin or Origin())

    def measure(
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
            wanted=RuleRequest.precision,
            polished=np.ones(len(boxes), dtype=bool),
            refinement=raw.refinement,
            source=self.model.source,
            class_names=self.fitted.class_names,
            columns=self.fitted.columns,
            origin=Origin(),
        )

    def choose(
        self, raw: Boxes, X: FloatArray, wanted: IntArray, request: RuleRequest
    ) -> tuple[Boxes, BoolArray]:
        """Return boxes as the options want them, and which of them were polished."""
        bins = self.model.bins
        if not len(bins.sample) and (request.polish or request.max_conditions is not None):
            raise LeftOutError(
                "rules are polished on rows, and the explainer was saved with rows='none'; ask for the "
                "tree's own rules with polish=False"
            )
        limit = None if request.max_conditions is None else min(request.max_conditions, LIMIT)
        if not request.polish:
            if limit is None:
                return raw, np.zeros(len(raw), dtype=bool)
            goal = RuleGoal(max_conditions=limit, only_own=True)
            chosen, _ = polish(bins, raw, X, wanted, goal)
            return keep_selected(raw, chosen, bins.sample.layout), np.zeros(len(raw), dtype=bool)
        goal = RuleGoal(self.model.curve.target(request.precision), limit or MAX_CONDITIONS)
        boxes, reached = polish(bins, raw, X, wanted, goal)
        polished = np.ones(len(raw), dtype=bool)
        short = np.flatnonzero(reached < goal.precision) if limit is None else np.empty(0, dtype=np.intp)
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
            mean=self.fitted.encoding.mean,
            scale=self.fitted.encoding.scale,
            inputs=self.fitted.encoding.input_names,
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
        return RawParts(boxes, sound, oblique, refinement.locate_neighbours(self.fitted.split.training))

    def bounds(
        self, boxes: Boxes, encoded: Encoded, numbers: FloatArray | None, exact: bool = False
    ) -> Bounds:
        """Return boxes of inputs as conditions on features."""
        own = self._own_numbers(encoded.X) if numbers is None else numbers
        missing = self.fitted.missing | encoded.imputed
        return in_own_units(boxes, self.fitted.encoding, own, missing, exact=exact)

    def _own_numbers(self, X: FloatArray) -> FloatArray:
        own = np.full((len(X), len(self.fitted.encoding.schema)), np.nan)
        number = ~self.fitted.encoding.onehot
        with np.errstate(over="ignore"):  # in between, for the number itself is none too large
            numbers = (self.fitted.encoding.mean + self.fitted.encoding.scale * X)[:, number]
        most = np.finfo(np.float64).max
        own[:, self.fitted.encoding.owner[number]] = np.clip(numbers, -most, most)
        return own


def _numbers(encoding: Encoding, frame: Frame) -> FloatArray:
    """Return the rows' numbers (n, n_features) as they came, NaN for categories."""
    features = encoding.schema.features
    own = np.full((len(frame), len(features)), np.nan, order="F")
    for j, feature in enumerate(features):
        if feature.numeric and not feature.constant:
            own[:, j] = frame.numbers(feature.name)
    return own


def summarize_rules(fitted: Fitted) -> RuleSet:
    """Return the leaves that hold training rows, largest first, each with the rule of a typical row."""
    maker, training = RuleMaker(fitted), fitted.rows.training
    if not len(training):
        raise LeftOutError(
            "the leaves are shown by training rows in them, and the explainer was saved with rows='none'"
        )
    model = maker.model
    rules, report = model.rules, model.report
    Z = rules.encoder.transform(training.X)
    leaf = rules.tree.apply(Z)
    agreed = rules.decisions[leaf] == training.P.argmax(1)
    leaves, number, size = np.unique(leaf, return_inverse=True, return_counts=True)
    centre = np.stack([np.bincount(number, weights=z) for z in Z.T], axis=1) / size[:, None]
    distance = np.square(Z - centre[number]).sum(1)
    # The first row of each leaf when sorted by leaf, agreeing rows first, then by distance.
    order = np.lexsort((distance, ~agreed, number))
    typical = order[np.searchsorted(number[order], np.arange(len(leaves)))]
    largest = np.argsort(-size, kind="stable")
    X = training.X[typical[largest]]
    encoded = Encoded.plain(X, len(fitted.schema))
    held_out = rules.tree.apply(rules.encoder.transform(report.X))
    right = report.decisions == rules.decisions[held_out]
    n_rows = np.bincount(held_out, minlength=len(rules.decisions))[leaves]
    n_correct = np.bincount(held_out[right], minlength=len(rules.decisions))[leaves]
    return RuleSet(
        rules=maker.explain(
            encoded, training.P[typical[largest]], RuleRequest(), origin=Origin(fitted.backend)
        ),
        support=size[largest] / len(leaf),
        n_rows=n_rows[largest],
        n_correct=n_correct[largest],
        decisions=rules.decisions[leaves[largest]],
        source=model.source,
        class_names=fitted.class_names,
    )


def in_own_units(
    boxes: Boxes, encoding: Encoding, own: FloatArray, missing: BoolArray, *, exact: bool = False
) -> Bounds:
    """Return boxes as bounds on features.

    Bounds of whole numbers become whole numbers, and bounds that cannot bind within the range that was
    seen are dropped, unless `exact`. The rows' `own` numbers (n, n_features) stay inside whatever rounding
    does, where the box has them inside. `missing` (n, n_features) says where a number may be missing.
    """
    n, features = len(boxes), encoding.schema.features
    low, high = np.full((n, len(features)), -np.inf), np.full((n, len(features)), np.inf)
    inside = np.zeros((n, len(features)), dtype=bool)
    with np.errstate(over="ignore"):
        for i in np.flatnonzero(~encoding.onehot):
            j, feature = int(encoding.owner[i]), features[encoding.owner[i]]
            mean, scale = encoding.mean[i], encoding.scale[i]
            below, above = (_clean(mean + scale * side[:, i]) for side in (boxes.low, boxes.high))
            x = standardise(own[:, j], mean, scale)
            if feature.whole and not exact:
                below, above = np.ceil(below), np.floor(above)
            below = np.where(x >= boxes.low[:, i], np.fmin(below, own[:, j]), below)
            above = np.where(x <= boxes.high[:, i], np.fmax(above, own[:, j]), above)
            if not exact:
                below = np.where(below <= feature.low, -np.inf, below)
                above = np.where(above >= feature.high, np.inf, above)
            low[:, j], high[:, j] = below, above
            inside[:, j] = (boxes.low[:, i] <= 0) & (boxes.high[:, i] >= 0)  # a missing number is read as 0
    said = np.isfinite(low) | np.isfinite(high)
    widths = np.bincount(encoding.owner[encoding.onehot], minlength=len(features))
    return Bounds(
        features=features,
        low=low,
        high=high,
        missing=missing & inside & said,
        allowed=boxes.allowed[:, encoding.onehot],
        first=np.append(0, np.cumsum(widths)),
    )


def _clean(bound: FloatArray) -> FloatArray:
    """Take out what scaling to and fro left at the sixteenth digit.

    >>> _clean(np.array([116.30000000000001, np.inf, 0.0]))
    array([116.3,   inf,   0. ])
    """
    known = np.isfinite(bound) & (bound != 0)
    number = np.where(known, bound, 1.0)
    digits = np.clip(12 - np.floor(np.log10(np.abs(number))), -290, 290)
    with np.errstate(over="ignore"):  # by a positive power either way, for these are exact
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        rounded = np.round(number * up / down) / up * down
    near = known & (np.abs(rounded - number) <= 1e-13 * np.abs(number))
    return np.where(near, rounded, bound)

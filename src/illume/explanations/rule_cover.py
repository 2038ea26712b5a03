"""A few rules that together cover most rows, found one after the other by a beam search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.rule_search import lower_bound

WIDTH = 16  # of the beam
TRIED = 512  # conditions that are combined, those that promise most by themselves
AT_ONCE = 1_024  # conditions that are counted together
LEAST = 0.02  # share of the rows that a further rule must add
RARE = 0.1  # or of the rows of a rare decision
MORE = 1.02  # times the gain, to justify another condition
MOST = 0.8  # share of the rows to cover, if need be by rules below the wanted precision
FEWEST = 15  # rows in a rule that ends in an interval


class Score(NamedTuple):
    """What further conditions lead to, (b, K) each; minus infinity where they will not do.

    `gains` are those of rules as wanted, and then of rules that will do where there are none as wanted;
    `promise` says which rules to give more conditions.
    """

    gains: tuple[FloatArray, ...]
    promise: FloatArray


class Aim(ABC):
    """What rules are chosen for, on a sample."""

    @abstractmethod
    def decisions(self, left: BoolArray) -> list[tuple[int, float]]:
        """Return decisions to seek rules for, and the most that each can gain, which descends."""

    @abstractmethod
    def weights(self, decision: int, left: BoolArray) -> FloatArray:
        """Return what to add up over the rows of a rule, (j, N); `left` are rows that are not covered yet."""

    @abstractmethod
    def score(self, decision: int, sums: FloatArray, left: BoolArray) -> Score:
        """Score sums of these weights, (j, b, K)."""


class DecisionAim(Aim):
    """Cover rows with rules of a wanted precision: rows that it is right for count for a rule.

    Failing that, a rule will do that halves the error of its decision on the rows that are left.
    """

    def __init__(self, sample: Sample, precision: float) -> None:
        self.right = np.array([sample.right(c) for c in range(len(sample.question.names))], dtype=bool)
        self.precision = precision

    def decisions(self, left: BoolArray) -> list[tuple[int, float]]:
        n = (self.right & left).sum(1)
        return [(int(c), float(n[c])) for c in np.argsort(-n, kind="stable")]

    def weights(self, decision: int, left: BoolArray) -> FloatArray:
        """Return rows that are right, all rows, and both of the rows that are left."""
        right = self.right[decision]
        return np.stack([right, np.ones_like(right), right & left, left]).astype(np.float32)

    def score(self, decision: int, sums: FloatArray, left: BoolArray) -> Score:
        right, covered, new_right, new = sums
        least = min(LEAST * len(left), RARE * self.right[decision].sum())
        reached, enough = lower_bound(right, covered), new >= least
        base, base_left = self.right[decision].mean(), self.right[decision][left].mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            own = right / covered
            promise = np.where(new_right > 0, new_right * np.log(own / base), -np.inf)
            better = new_right * np.log(np.minimum(own, new_right / new) / base_left)
        cautious = np.minimum(reached, lower_bound(new_right, new))
        wanted, halved = reached >= self.precision, cautious >= (1 + base_left) / 2
        first, second = (
            np.where(enough & will_do, gain, -np.inf)
            for will_do, gain in ((wanted, 2 * new_right - new), (halved, better))
        )
        return Score((first, second), promise)


class NumberAim(Aim):
    """Cover rows with rules whose rows have similar numbers: as many rows, as much alike, as possible."""

    def __init__(self, sample: Sample) -> None:
        y = sample.P[:, sample.question.output]
        self.y = (y - y.mean()) / (y.std() or 1.0)

    def decisions(self, left: BoolArray) -> list[tuple[int, float]]:
        return [(0, np.inf)]

    def weights(self, decision: int, left: BoolArray) -> FloatArray:
        """Return all rows, the rows that are left, numbers and their squares."""
        return np.stack([np.ones_like(self.y), left, self.y, self.y**2]).astype(np.float32)

    def score(self, decision: int, sums: FloatArray, left: BoolArray) -> Score:
        n, new, total, squares = sums
        mean = total / np.maximum(n, 1)
        # a row more, as far off as usual: few rows may be alike by chance
        spread = np.sqrt((np.maximum(squares - n * mean**2, 0.0) + 1) / (n + 1))
        gain = -new * np.log(spread)
        enough = (n >= FEWEST) & (new >= LEAST * len(left))
        return Score((np.where(enough, gain, -np.inf),), np.where(new > 0, gain, -np.inf))


@dataclass(frozen=True)
class Found:
    """A rule as numbers of conditions, what it decides, its gain and the rows it covers, (N,)."""

    gain: float
    decision: int
    codes: tuple[int, ...]
    inside: BoolArray


@dataclass(frozen=True, eq=False)
class Cover:
    """Rules in the order in which they were found.

    `inside` (r, N) says which of the rows that they were chosen on each covers.
    """

    boxes: Boxes
    decisions: IntArray
    inside: BoolArray


def cover_rows(sample: Sample, aim: Aim, max_rules: int, max_conditions: int) -> Cover:
    """Find rules one after the other, each the one that gains most on the rows that are left.

    Where no rule of the wanted precision adds enough rows, and many rows are left, a lower precision will do.
    """
    conditions, n = Conditions.of(sample), len(sample)
    left, found = np.ones(n, dtype=bool), list[Found]()
    while len(found) < max_rules and left.any():
        best = _search(conditions, aim, left, max_conditions)
        first = min(best, default=None)
        if first is None or (first > 0 and left.mean() <= 1 - MOST):
            break
        found.append(best[first])
        left &= ~best[first].inside
    boxes = Boxes.whole_space(len(found), sample.X.shape[1])
    for i, one in enumerate(found):
        for code in one.codes:
            conditions.tighten(boxes, np.array([i]), np.array([code]))
    inside = np.array([one.inside for one in found], dtype=bool).reshape(len(found), n)
    decisions = np.array([one.decision for one in found], dtype=np.intp)
    return Cover(boxes, decisions, inside)


def _search(conditions: Conditions, aim: Aim, left: BoolArray, depth: int) -> dict[int, Found]:
    """Return the rules that gain most: under 0 one as wanted, under 1 one that will do, if there are any."""
    best: dict[int, Found] = {}
    for decision, most in aim.decisions(left):
        if most <= (best[0].gain if 0 in best else 0.0):
            break  # of the decisions that follow, none can gain more
        _improve(best, conditions, aim, left, decision=decision, depth=depth)
    return best


def _improve(
    best: dict[int, Found], conditions: Conditions, aim: Aim, left: BoolArray, *, decision: int, depth: int
) -> None:
    """Add up to `depth` conditions to a beam of rules; keep those that gain more than the best so far."""
    weights, everything = aim.weights(decision, left), np.ones(len(left), dtype=bool)
    tried, table = np.arange(len(conditions.split)), None
    beam: list[tuple[tuple[int, ...], BoolArray]] = [((), everything)]
    for _ in range(depth):
        inside = np.stack([rows for _, rows in beam])
        sums = _single_sums(conditions, weights) if table is None else _sums(weights, inside, table)
        score = aim.score(decision, sums, left)
        for k, gain in enumerate(score.gains):
            b, c = np.unravel_index(int(gain.argmax()), gain.shape)
            if gain[b, c] > (MORE * best[k].gain if k in best else 0.0):
                code = int(tried[c])
                rows = inside[b] & _holds(conditions, np.array([code]))[0]
                best[k] = Found(float(gain[b, c]), decision, (*beam[b][0], code), rows)
        if table is None:
            keep = np.sort(np.argsort(-score.promise[0], kind="stable")[:TRIED])
            tried, score = tried[keep], score._replace(promise=score.promise[:, keep])
            table = _holds(conditions, tried)
        beam = _next_beam(beam, score.promise, tried, table)
        if not beam:
            return


def _next_beam(
    beam: list[tuple[tuple[int, ...], BoolArray]], promise: FloatArray, tried: IntArray, table: BoolArray
) -> list[tuple[tuple[int, ...], BoolArray]]:
    """Return the most promising rules with one condition more, different ones."""
    found: dict[bytes, tuple[tuple[int, ...], BoolArray]] = {}
    known = {rows.tobytes() for _, rows in beam}
    for flat in np.argsort(-promise, axis=None, kind="stable")[: 4 * WIDTH]:
        b, c = np.unravel_index(int(flat), promise.shape)
        if len(found) == WIDTH or not np.isfinite(promise[b, c]):
            break
        rows = beam[b][1] & table[c]
        if rows.tobytes() not in known:
            found.setdefault(rows.tobytes(), ((*beam[b][0], int(tried[c])), rows))
    return list(found.values())


def _holds(conditions: Conditions, codes: IntArray) -> BoolArray:
    """Return which rows satisfy conditions, (len(codes), N)."""
    return conditions.truth[conditions.split[codes]] == conditions.side[codes][:, None]


def _single_sums(conditions: Conditions, weights: FloatArray) -> FloatArray:
    """Return the sums of weights (j, N) over the rows that satisfy each condition, (j, 1, K)."""
    truth = conditions.truth
    parts = [
        weights @ truth[first : first + AT_ONCE].T.astype(np.float32)
        for first in range(0, len(truth), AT_ONCE)
    ]
    return conditions.count_kept(np.concatenate(parts, axis=1), weights.sum(1))[:, None]


def _sums(weights: FloatArray, inside: BoolArray, table: BoolArray) -> FloatArray:
    """Return the sums over the rows of each rule that satisfy each condition, (j, b, K)."""
    rows = (weights[:, None] * inside).reshape(-1, weights.shape[1])
    with np.errstate(invalid="ignore"):  # BLAS may set this flag for finite numbers: it works on padding, too
        return (rows @ table.T.astype(np.float32)).reshape(len(weights), len(inside), len(table))

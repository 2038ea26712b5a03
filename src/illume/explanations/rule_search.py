"""All conditions that a rule may get, numbered, so that they are tried at once on a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import RowChunks
from illume.explanations.boxes import Boxes
from illume.explanations.layout import Layout
from illume.explanations.rule_sample import Bins, by_class


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions by number, K = 2 (T_n + T_c) in all.

    Each end of a numeric bin as an upper bound, then as a lower bound; each category excluded, then alone.
    """

    bins: Bins

    @property
    def _starts(self) -> IntArray:
        numbers, categories = self.bins.n_numeric, self.bins.n_categories
        return np.cumsum([0, numbers, numbers, categories])

    def kind(self, code: IntArray) -> tuple[IntArray, IntArray]:
        """Return what kind of condition (0 upper, 1 lower, 2 excluded, 3 alone), and the bin it is about."""
        starts = self._starts
        kind = np.searchsorted(starts[1:], code, side="right")
        return kind, code - starts[kind]

    def kept(self, counts: FloatArray, rows: IntArray) -> FloatArray:
        """Turn counts of rows per bin (u, T), and in all (u,), into how many each condition keeps, (u, K)."""
        numeric, categories = counts[:, : self.bins.n_numeric], counts[:, self.bins.n_numeric :]
        total = rows[:, None].astype(np.float32)
        upto = np.cumsum(numeric, axis=1) - total * self.bins.feature.astype(np.float32)
        return np.hstack([upto, total - upto, total - categories, categories])

    def violated(self, code: IntArray) -> BoolArray:
        """Return which rows of the sample violate each condition, (u, N)."""
        kind, at = self.kind(code)
        result = np.empty((len(code), len(self.bins.sample)), dtype=bool)
        number = kind < 2
        e = at[number]
        f = self.bins.feature[e]
        above = self.bins.place[f] > (e - self.bins.first[f]).astype(np.uint8)[:, None]
        result[number] = above == (kind[number] == 0)[:, None]
        has = self.bins.has[at[~number]]
        result[~number] = has == (kind[~number] == 2)[:, None]
        return result

    def possible(self, X: FloatArray) -> BoolArray:
        """Return which conditions hold for a row and exclude something, (n, K)."""
        bins, layout = self.bins, self.bins.sample.layout
        upper = np.arange(bins.n_numeric) >= bins.places(X)[:, bins.feature]
        inner = np.isfinite(bins.edges)
        own = layout.own(X)[:, layout.onehot]
        known = layout.admissible(X)[:, layout.onehot] == own  # False where a row has no known category
        return np.hstack([upper & inner, ~upper & inner, ~own & known, own])

    def preferred(self, boxes: Boxes, X: FloatArray) -> BoolArray:
        """Return which conditions are those of boxes around the rows, as near as bins can tell, (n, K)."""
        upper, lower = self.bins.snapped(boxes, X)
        layout = self.bins.sample.layout
        allowed = boxes.allowed[:, layout.onehot]
        alone = allowed.copy()
        for inputs in layout.categorical:
            alone[:, self.bins.among_categories(inputs)] &= (
                boxes.allowed[:, inputs].sum(1, keepdims=True) == 1
            )
        return np.hstack([upper, lower, ~allowed, alone])

    def tighten(self, boxes: Boxes, rows: IntArray, code: IntArray) -> None:
        """Put each row's condition into its box, in place; a row stands once among `rows`."""
        layout = self.bins.sample.layout
        kind, at = self.kind(code)
        for bound, number, narrower in ((boxes.high, 0, np.minimum), (boxes.low, 1, np.maximum)):
            i, e = rows[kind == number], at[kind == number]
            j = layout.numbers[self.bins.feature[e]]
            # Edges lie between values that occur, so that both ends of an interval may belong to it.
            bound[i, j] = narrower(bound[i, j], self.bins.edges[e])
        onehot = np.flatnonzero(layout.onehot)
        i, q = rows[kind == 2], onehot[at[kind == 2]]
        boxes.allowed[i, q] = False
        i, q = rows[kind == 3], onehot[at[kind == 3]]
        siblings = layout.owner == layout.owner[q][:, None]
        boxes.allowed[i] &= ~siblings | (np.arange(layout.n_inputs) == q[:, None])


MAX_CONDITIONS = 8
LIMIT = 64  # more conditions than anybody reads
OWN_STEPS = 3  # so many conditions are first sought among the box's own
GAIN = 1e-4  # that one of the box's own conditions must have
STANDARD_ERRORS = 1.0  # by which the precision on the sample must lie above the wanted one
AT_ONCE = 8192
NONE = -1


@dataclass(frozen=True)
class Wish:
    """What a polished rule should be: its precision, its number of conditions, and whose they may be.

    With `only_own`, only the box's own conditions are taken, as many as there may be.
    """

    precision: float = 0.95
    max_conditions: int = MAX_CONDITIONS
    only_own: bool = False


def polish(bins: Bins, boxes: Boxes, X: FloatArray, wanted: IntArray, wish: Wish) -> tuple[Boxes, FloatArray]:
    """Return boxes around X that reach the wish's precision at a large coverage, where that can be had.

    Starting without a condition, the one that gains most is added until the sample shows the wanted
    precision: first at the bounds of the given boxes, then anywhere. Then every bound is moved out
    again, or dropped, as far as the precision allows. All boxes at once. Beside the boxes stands the
    cautious precision of each on the sample.
    """
    result, reached = Boxes.everything(*X.shape), np.empty(len(X))
    for c, mine in by_class(wanted):
        right = bins.sample.decisions == c
        first = bins.reordered(np.argsort(~right, kind="stable"))  # rows of the class come first
        chunks = RowChunks(len(mine), AT_ONCE)
        for part in chunks:
            with chunks:
                rows = mine[part]
                search = _Polishing(first, int(right.sum()), boxes[rows], X[rows], wish)
                result[rows] = search.run(Boxes.everything(len(rows), X.shape[1]))
                reached[rows] = lower_bound(*search.counts[search.group].T)
    return result, reached


def keep_selected(boxes: Boxes, chosen: Boxes, layout: Layout) -> Boxes:
    """Return the boxes with their own bounds, but only where the chosen ones have a condition too."""
    low = np.where(np.isfinite(chosen.low), boxes.low, -np.inf)
    high = np.where(np.isfinite(chosen.high), boxes.high, np.inf)
    allowed = boxes.allowed.copy()
    for inputs in layout.categorical:
        allowed[:, inputs] |= chosen.allowed[:, inputs].all(1, keepdims=True)
    return Boxes(low, high, allowed)


def lower_bound(correct: FloatArray, covered: FloatArray) -> FloatArray:
    """Return a cautious precision: Wilson's lower bound, one standard error down.

    >>> lower_bound(np.array([0.0, 19.0, 190.0]), np.array([0.0, 20.0, 200.0])).round(3)
    array([0.   , 0.876, 0.932])
    """
    z2 = STANDARD_ERRORS**2
    n = np.maximum(covered, 1e-9)
    p = correct / n
    spread = STANDARD_ERRORS * np.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return np.where(covered > 0, (p + z2 / (2 * n) - spread) / (1 + z2 / n), 0.0)


class _Polishing:
    """The search for some boxes that all want one class, that of the first `n_right` rows of the sample.

    Boxes with the same conditions so far form a group, and are counted once. A group's conditions stand in
    `slots` (u, S); `violations` (u, N) says how many of them each row of the sample violates; `counts`
    (u, 2) how many rows of the class, and in all, violate none.
    """

    def __init__(self, bins: Bins, n_right: int, boxes: Boxes, X: FloatArray, wish: Wish) -> None:
        self.conditions, self.wish = Conditions(bins), wish
        self.possible = self.conditions.possible(X)
        self.preferred = self.conditions.preferred(boxes, X) & self.possible
        self.parts = slice(0, n_right), slice(n_right, None)
        self.tables = tuple(bins.table[part] for part in self.parts)
        self.group = np.zeros(len(X), dtype=np.intp)
        self.slots = np.full((1, wish.max_conditions), NONE, dtype=np.intp)
        self.violations = np.zeros((1, len(bins.table)), dtype=np.uint8)
        self.counts = self._counts(self.violations == 0)

    def run(self, boxes: Boxes) -> Boxes:
        """Add conditions, take back what is not needed, and fill in the boxes."""
        for step in range(self.wish.max_conditions):
            if not self._add(step):
                break
        for slot in range(self.wish.max_conditions):
            if not self.wish.only_own:
                self._relax(slot)
            code = self.slots[self.group, slot]
            rows = np.flatnonzero(code != NONE)
            self.conditions.tighten(boxes, rows, code[rows])
        return boxes

    def _counts(self, inside: BoolArray) -> FloatArray:
        """Return how many rows of the class, and in all, are inside, (u, 2)."""
        right, wrong = (np.count_nonzero(inside[:, part], axis=1) for part in self.parts)
        return np.column_stack([right, right + wrong]).astype(np.float64)

    def _add(self, step: int) -> bool:
        """Give every box that needs one its best further condition; tell whether any got one."""
        right, covered = self.counts.T
        short = right < covered if self.wish.only_own else lower_bound(right, covered) < self.wish.precision
        rows = np.flatnonzero(short[self.group])
        if not len(rows):
            return False
        groups, member = np.unique(self.group[rows], return_inverse=True)
        gain = self._gain(self.violations[groups] == 0, self.counts[groups])
        best = self._best(gain, rows, member, step)
        rows, member, best = rows[best != NONE], member[best != NONE], best[best != NONE]
        pairs, new = np.unique(member * gain.shape[1] + best, return_inverse=True)
        parent, code = groups[pairs // gain.shape[1]], pairs % gain.shape[1]
        slots = self.slots[parent]
        slots[:, step] = code
        self.group[rows] = len(self.slots) + new
        self.slots = np.vstack([self.slots, slots])
        violations = self.violations[parent] + self.conditions.violated(code)
        self.counts = np.vstack([self.counts, self._counts(violations == 0)])
        self.violations = np.vstack([self.violations, violations])
        return bool(len(rows))

    def _gain(self, inside: BoolArray, counts: FloatArray) -> FloatArray:
        """Return each condition's gain: rows of the class kept, times the log of the precision's growth.

        It may be negative; what excludes nothing, or every row of the class, gains minus infinity.
        """
        right, wrong = (
            self.conditions.kept(inside[:, part].astype(np.float32) @ table, inside[:, part].sum(1))
            for part, table in zip(self.parts, self.tables, strict=True)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = (counts[:, :1] / counts[:, 1:]).astype(np.float32)
            gain = right * np.log(right / ((right + wrong) * precision))
        gain[(right == 0) | (right + wrong == counts[:, 1:]) | np.isnan(gain)] = -np.inf
        return gain

    def _best(self, gain: FloatArray, rows: IntArray, member: IntArray, step: int) -> IntArray:
        """Return the condition that gains most for each row, or none."""
        best = np.full(len(rows), NONE, dtype=np.intp)
        if self.wish.only_own or step < OWN_STEPS:
            _choose(best, gain, self.preferred[rows], member, least=GAIN)
        if not self.wish.only_own:
            # Where nothing gains by itself, two conditions may do so together: the least harmful is taken,
            # and dropped again later if it led nowhere.
            _choose(best, gain, self.possible[rows], member, least=-np.inf)
        return best

    def _relax(self, slot: int) -> None:
        """Move the bounds in a slot out, or drop them, as far as the precision allows."""
        used = np.zeros(len(self.slots), dtype=bool)
        used[self.group] = True
        groups = np.flatnonzero(used & (self.slots[:, slot] != NONE))
        code = self.slots[groups, slot]
        goal = np.minimum(self.wish.precision, lower_bound(*self.counts[groups].T))
        without = self.violations[groups] - self.conditions.violated(code)
        free = without == 0
        dropped = lower_bound(*self._counts(free).T) >= goal
        moved = np.where(dropped, NONE, code)
        kind, at = self.conditions.kind(code)
        feature = np.full(len(code), NONE, dtype=np.intp)
        feature[kind < 2] = self.conditions.bins.feature[at[kind < 2]]
        for f in np.unique(feature[~dropped & (kind < 2)]):
            some = np.flatnonzero(~dropped & (feature == f))
            moved[some] = self._moved(int(f), code[some], free[some], goal[some])
        kept = np.flatnonzero(moved != NONE)
        without[kept] += self.conditions.violated(moved[kept])
        self.slots[groups, slot], self.violations[groups] = moved, without
        self.counts[groups] = self._counts(without == 0)

    def _moved(self, f: int, code: IntArray, free: BoolArray, goal: FloatArray) -> IntArray:
        """Return the outermost bounds of numeric input f that keep the goal."""
        bins = self.conditions.bins
        ends = slice(int(bins.first[f]), bins.stop(f))
        upto_right, upto_wrong = (
            np.cumsum(free[:, part].astype(np.float32) @ table[:, ends], axis=1)
            for part, table in zip(self.parts, self.tables, strict=True)
        )
        kind, at = self.conditions.kind(code)
        upper, at = (kind == 0)[:, None], (at - ends.start)[:, None]
        right, wrong = (
            np.where(upper, upto, upto[:, -1:] - upto)[:, :-1] for upto in (upto_right, upto_wrong)
        )
        end = np.arange(right.shape[1])
        good = np.where(upper, end > at, end < at) & (lower_bound(right, right + wrong) >= goal[:, None])
        far = np.where(upper[:, 0], len(end) - 1 - good[:, ::-1].argmax(1), good.argmax(1))
        return np.where(good.any(1), code + far - at[:, 0], code)


def _choose(best: IntArray, gain: FloatArray, allowed: BoolArray, member: IntArray, least: float) -> None:
    """Fill in the allowed condition of largest gain, above the least, where none was chosen yet."""
    open_ = np.flatnonzero(best == NONE)
    if not len(open_):
        return
    mine = np.where(allowed[open_], gain[member[open_]], -np.inf)
    code = mine.argmax(1)
    useful = mine[np.arange(len(open_)), code] > least
    best[open_[useful]] = code[useful]

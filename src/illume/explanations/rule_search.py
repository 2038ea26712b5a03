"""Rules of a wanted precision: conditions are chosen, moved and dropped on answered rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import row_chunks
from illume.explanations.boxes import Boxes, Layout
from illume.explanations.rule_sample import Conditions

MAX_CONDITIONS = 8
LIMIT = 64  # more conditions than anybody reads
OWN_STEPS = 3  # the first conditions are sought among the box's own
GAIN = 1e-4  # that one of the box's own conditions must have
STANDARD_ERRORS = 1.0  # by which the precision on the sample must lie above the wanted one
AT_ONCE = 8192
NONE = -1


@dataclass(frozen=True)
class RuleGoal:
    """The precision and number of conditions that a rule should have.

    With `only_own`, only the box's own conditions are taken, as many as there may be.
    """

    precision: float = 0.95
    max_conditions: int = MAX_CONDITIONS
    only_own: bool = False


def polish(
    conditions: Conditions, boxes: Boxes, X: FloatArray, wanted: IntArray, goal: RuleGoal
) -> tuple[Boxes, FloatArray]:
    """Return boxes around X that reach the wanted precision at a large coverage, where that is possible.

    Starting without a condition, the one that gains most is added until the sample shows the wanted
    precision: first at the bounds of the given boxes, then anywhere. Then every bound is moved out again, or
    dropped, as far as the precision allows. The cautious precision of each box on the sample is returned too.
    """
    result, reached = Boxes.whole_space(*X.shape), np.empty(len(X))
    for c in np.unique(wanted):
        mine = np.flatnonzero(wanted == c)
        for part in row_chunks(len(mine), AT_ONCE):
            rows = mine[part]
            search = _RuleSearch(conditions, int(c), boxes[rows], X[rows], goal)
            result[rows] = search.run(Boxes.whole_space(len(rows), X.shape[1]))
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


class _RuleSearch:
    """The search for boxes that all want class c.

    Boxes with the same conditions so far form a group, and are counted once: a step costs as much as there
    are groups. A group's conditions are in `slots` (u, S); `violations` (u, N) says how many of them each row
    of the sample violates, rows of the class first; `counts` (u, 2) how many rows of the class, and in all,
    violate none.
    """

    def __init__(self, conditions: Conditions, c: int, boxes: Boxes, X: FloatArray, goal: RuleGoal) -> None:
        self.conditions, self.goal = conditions, goal
        self.possible = conditions.possible(X)
        self.preferred = conditions.nearest(boxes, X) & self.possible
        right = conditions.sample.right(c)
        self.parts = slice(0, right.sum()), slice(right.sum(), None)
        self.truth = conditions.truth[:, np.argsort(~right, kind="stable")]
        self.tables = [self.truth[:, part].T.astype(np.float32) for part in self.parts]
        self.group = np.zeros(len(X), dtype=np.intp)
        self.slots = np.full((1, goal.max_conditions), NONE, dtype=np.intp)
        self.violations = np.zeros((1, len(right)), dtype=np.uint8)
        self.counts = self._counts(self.violations == 0)

    def run(self, boxes: Boxes) -> Boxes:
        """Add conditions, remove what is not needed, and fill in the boxes."""
        for step in range(self.goal.max_conditions):
            if not self._add(step):
                break
        for slot in range(self.goal.max_conditions):
            if not self.goal.only_own:
                self._relax(slot)
            code = self.slots[self.group, slot]
            rows = np.flatnonzero(code != NONE)
            self.conditions.tighten(boxes, rows, code[rows])
        return boxes

    def _counts(self, inside: BoolArray) -> FloatArray:
        """Return how many rows of the class, and in all, are inside, (u, 2)."""
        right, wrong = (np.count_nonzero(inside[:, part], axis=1) for part in self.parts)
        return np.column_stack([right, right + wrong]).astype(np.float64)

    def _violations(self, code: IntArray) -> BoolArray:
        """Return which rows of the sample violate each condition, (u, N)."""
        return self.truth[self.conditions.split[code]] != self.conditions.side[code][:, None]

    def _add(self, step: int) -> bool:
        """Give every box that needs one its best further condition; return whether any got one."""
        right, covered = self.counts.T
        short = right < covered if self.goal.only_own else lower_bound(right, covered) < self.goal.precision
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
        violations = self.violations[parent] + self._violations(code)
        self.counts = np.vstack([self.counts, self._counts(violations == 0)])
        self.violations = np.vstack([self.violations, violations])
        return bool(len(rows))

    def _gain(self, inside: BoolArray, counts: FloatArray) -> FloatArray:
        """Return each condition's gain: rows of the class kept, times the log of the precision's growth.

        It may be negative; a condition that excludes no row, or every row of the class, gains minus infinity.
        """
        right, wrong = (
            self.conditions.count_kept(_product(inside[:, part], table), inside[:, part].sum(1))
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
        if self.goal.only_own or step < OWN_STEPS:
            _choose(best, gain, self.preferred[rows], member, least=GAIN)
        if not self.goal.only_own:
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
        goal = np.minimum(self.goal.precision, lower_bound(*self.counts[groups].T))
        without = self.violations[groups] - self._violations(code)
        free = without == 0
        dropped = lower_bound(*self._counts(free).T) >= goal
        moved = np.where(dropped, NONE, code)
        split = self.conditions.split[code]
        number, column = split < self.conditions.n_thresholds, self.conditions.column[split]
        for j in np.unique(column[~dropped & number]):
            some = np.flatnonzero(~dropped & number & (column == j))
            moved[some] = self._outermost(int(j), code[some], free[some], goal[some])
        kept = np.flatnonzero(moved != NONE)
        without[kept] += self._violations(moved[kept])
        self.slots[groups, slot], self.violations[groups] = moved, without
        self.counts[groups] = self._counts(without == 0)

    def _outermost(self, j: int, code: IntArray, free: BoolArray, goal: FloatArray) -> IntArray:
        """Return the outermost bounds of numeric input j that keep the goal."""
        conditions = self.conditions
        ends = np.flatnonzero(conditions.column[: conditions.n_thresholds] == j)
        upper, at = conditions.side[code][:, None], (conditions.split[code] - ends[0])[:, None]
        right, wrong = (
            np.where(upper, below, free[:, part].sum(1, keepdims=True) - below)
            for part, below in (
                (part, _product(free[:, part], table[:, ends]))
                for part, table in zip(self.parts, self.tables, strict=True)
            )
        )
        end = np.arange(len(ends))
        good = np.where(upper, end > at, end < at) & (lower_bound(right, right + wrong) >= goal[:, None])
        far = np.where(upper[:, 0], len(ends) - 1 - good[:, ::-1].argmax(1), good.argmax(1))
        return np.where(good.any(1), code + far - at[:, 0], code)


def _product(inside: BoolArray, table: FloatArray) -> FloatArray:
    """Return the number of rows inside (u, N) for which each column of a table (N, s) is 1, (u, s)."""
    with np.errstate(invalid="ignore"):  # BLAS may set this flag for finite numbers: it works on padding, too
        return inside.astype(np.float32) @ table


def _choose(best: IntArray, gain: FloatArray, allowed: BoolArray, member: IntArray, least: float) -> None:
    """Fill in the allowed condition of largest gain, above the least, where none was chosen yet."""
    open_ = np.flatnonzero(best == NONE)
    if not len(open_):
        return
    mine = np.where(allowed[open_], gain[member[open_]], -np.inf)
    code = mine.argmax(1)
    useful = mine[np.arange(len(open_)), code] > least
    best[open_[useful]] = code[useful]

"""Trees whose every node tests one feature, and the exact Shapley values of their sum."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.progress import log_lines
from illume.data.sampling import evenly_spaced
from illume.data.threads import in_chunks
from illume.twin.games import leaf_pairs, leaf_tables, leaf_values, pair_tables

LOG = logging.getLogger(__name__)  # without a handler, nothing is shown
LONG = 2.0  # seconds of work that is announced
AT_ONCE = 4_096  # rows that are looked up together
SHORT = 256  # rows up to which all branches are looked up together instead
FEW_AT_ONCE = 16
MOST_BITS = 9
MOST_TABLE = 11  # players of a single leaf up to which it has a table of all patterns
ESTIMATED_LEAVES = 20_000  # from which the cost of a forest is estimated
LOOK_UP_SECONDS, PATTERN_SECONDS = 5e-9, 6e-7  # of one value of a row: with a table, and without
TABLE_SECONDS = 1.2e-7  # of one value in a table


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on coded features, whose values are added up.

    A row's code of a feature is its bin among the feature's cuts, or its category; -1 is a missing number.

    Parameters
    ----------
    roots
        The first node of each tree, (t,).
    left, right
        Children of each node, (N,); -1 at leaves.
    feature, rank, missing_left
        Which feature a node tests, (N,); up to which code rows go left, and whether missing numbers do.
    choice
        Which row of `choices` says which codes go left instead, (N,); -1 where `rank` does.
    choices
        Sets of codes, (n_sets, n_codes); the last code stands for a missing number, too.
    value
        What a leaf adds to each output, (N, s).
    """

    roots: IntArray
    left: IntArray
    right: IntArray
    feature: IntArray
    rank: IntArray
    missing_left: BoolArray
    choice: IntArray
    choices: BoolArray
    value: FloatArray
    n_features: int

    @property
    def n_outputs(self) -> int:
        """How many numbers the trees add up to, s."""
        return self.value.shape[1]

    @property
    def n_leaves(self) -> int:
        """How many leaves all trees have."""
        return int((self.left < 0).sum())

    def goes_left(self, nodes: IntArray, codes: IntArray, missing: bool = True) -> BoolArray:
        """Return which rows with codes (n_features, n) go left at each node, (n_nodes, n).

        `missing` says whether any code may be that of a missing number.
        """
        mine = codes[self.feature[nodes]]
        left = mine <= self.rank[nodes, None]
        if missing:
            left &= (mine >= 0) | self.missing_left[nodes, None]
        chosen = self.choice[nodes]
        some = np.flatnonzero(chosen >= 0)
        if len(some):
            left[some] = self.choices[chosen[some, None], mine[some]]
        return left

    def scores(self, codes: IntArray) -> FloatArray:
        """Return the sums of all trees (n, s) for rows with codes (n_features, n)."""
        n = codes.shape[1]
        found = np.zeros((n, self.n_outputs))

        def walk(rows: slice) -> None:
            mine = np.ascontiguousarray(codes[:, rows].T)
            at = np.broadcast_to(self.roots, (len(mine), len(self.roots))).copy()
            each = np.arange(len(mine))[:, None]
            for _ in range(self.depth):
                code = mine[each, self.feature[at]]
                left = (code <= self.rank[at]) & ((code >= 0) | self.missing_left[at])
                if len(self.choices):
                    chosen = self.choice[at]
                    some = chosen >= 0
                    left[some] = self.choices[chosen[some], code[some]]
                down = np.where(left, self.left[at], self.right[at])
                at = np.where(down < 0, at, down)
            for tree in range(len(self.roots)):  # in the order of the trees, as the model adds them
                found[rows] += self.value[at[:, tree]]

        in_chunks(walk, n, max(1, 2**17 // max(len(self.roots), 1)))
        return found

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """All trees in branches, and in single leaves with many features on their path."""
        return tuple(_divide(self, self.roots))

    @cached_property
    def cost(self) -> Cost:
        """What exact values of its sum take."""
        return Cost.of(self)

    @cached_property
    def patterns(self) -> tuple[Patterns, Patterns]:
        """What finds the patterns of rows at the branches with a table, and at the others."""
        small = [part for part in self.branches if part.has_table]
        return Patterns(self, small), Patterns(self, [part for part in self.branches if not part.has_table])

    @cached_property
    def depth(self) -> int:
        """The length of the longest path."""
        todo, deepest = self.roots, 0
        while len(todo := todo[self.left[todo] >= 0]):
            deepest += 1
            todo = np.concatenate([self.left[todo], self.right[todo]])
        return deepest


class Condition(NamedTuple):
    """A node that a row must leave to the left, or to the right, for a bit of a pattern to be set."""

    node: int
    left: bool
    bit: int


class Leaf(NamedTuple):
    """A leaf, the features on its path, and the conditions on them: one bit for each feature."""

    node: int
    players: tuple[int, ...]
    conditions: tuple[Condition, ...]


class Branch(NamedTuple):
    """A part of a tree that rows look up at once: the pattern of a row tells its values at all leaves.

    The first `n_path` bits say whether the row meets the conditions of each feature above the branch, each
    other bit whether it goes left at one of the branch's own nodes. Leaves have conditions below the branch.
    """

    players: tuple[int, ...]
    outputs: tuple[int, ...]
    n_path: int
    n_bits: int
    conditions: tuple[Condition, ...]
    leaves: tuple[Leaf, ...]

    @property
    def has_table(self) -> bool:
        """Whether there are few enough patterns for a table of all."""
        return self.n_bits <= MOST_TABLE

    @property
    def width(self) -> int:
        """How many values a pattern has: one for each feature and output."""
        return len(self.players) * len(self.outputs)

    def leaf_patterns(self) -> Iterator[tuple[Leaf, IntArray]]:
        """Yield the leaves, each with its pattern for each pattern of the branch, (2^n_bits,)."""
        bit_of = {node: bit for node, _, bit in self.conditions}
        every = np.arange(1 << self.n_bits)
        above = (1 << self.n_path) - 1
        for leaf in self.leaves:
            found = every & above | ((1 << len(leaf.players)) - 1) & ~above
            for node, left, bit in leaf.conditions:
                missed = (every >> bit_of[node] & 1) != left
                found &= ~(missed.astype(np.intp) << bit)
            yield leaf, found


def _divide(forest: Forest, roots: IntArray) -> list[Branch]:
    inner = _count_inner(forest)
    found: list[Branch] = []
    for root in roots.tolist():
        todo: list[Leaf] = [Leaf(root, (), ())]
        while todo:
            at = todo.pop()
            n_bits = len(at.players) + inner[at.node]
            if inner[at.node] == 0 or n_bits <= MOST_BITS:
                found.append(_branch(forest, at, n_bits))
            else:
                todo += reversed(_children(forest, at))
    return found


def _count_inner(forest: Forest) -> list[int]:
    """Return how many inner nodes there are at and below each node."""
    order, level = [forest.roots], forest.roots
    while len(level := level[forest.left[level] >= 0]):
        level = np.concatenate([forest.left[level], forest.right[level]])
        order.append(level)
    counts = np.zeros(len(forest.left), dtype=np.intp)
    for nodes in reversed(order):
        mine = nodes[forest.left[nodes] >= 0]
        counts[mine] = 1 + counts[forest.left[mine]] + counts[forest.right[mine]]
    found: list[int] = counts.tolist()
    return found


def _children(forest: Forest, at: Leaf) -> tuple[Leaf, Leaf]:
    node, players, conditions = at
    player = int(forest.feature[node])
    if player not in players:
        players = (*players, player)
    bit = players.index(player)
    return (
        Leaf(int(forest.left[node]), players, (*conditions, Condition(node, True, bit))),
        Leaf(int(forest.right[node]), players, (*conditions, Condition(node, False, bit))),
    )


def _branch(forest: Forest, root: Leaf, n_bits: int) -> Branch:
    n_path = len(root.players)
    leaves, own = list[Leaf](), list[Condition]()
    todo = [root._replace(conditions=())]
    while todo:
        at = todo.pop()
        if forest.left[at.node] < 0:
            leaves.append(at)
        else:
            own.append(Condition(at.node, True, n_path + len(own)))
            todo += reversed(_children(forest, at))
    players = tuple(dict.fromkeys(player for leaf in leaves for player in leaf.players))
    outputs = np.flatnonzero(forest.value[[leaf.node for leaf in leaves]].any(0))
    parts = (n_path, n_bits, (*root.conditions, *own), tuple(leaves))
    return Branch(players, tuple(outputs.tolist()), *parts)


class Cost(NamedTuple):
    """What exact values of a forest take: memory for tables, and about the time of a row on one core."""

    bytes: int
    row_seconds: float

    @property
    def table_seconds(self) -> float:
        """About how long it takes to make the tables."""
        return self.bytes / 8 * TABLE_SECONDS

    @property
    def rows_at_once(self) -> int:
        """How many rows are looked up together, so that progress can be told in between."""
        return int(np.clip(LONG / max(self.row_seconds, 1e-9), FEW_AT_ONCE, AT_ONCE))

    @classmethod
    def of(cls, forest: Forest) -> Cost:
        """Estimate from the sizes of all branches, or of those of some trees."""
        size, seconds = 0, 0.0
        n_trees = max(1, int(len(forest.roots) * min(1.0, ESTIMATED_LEAVES / forest.n_leaves)))
        some = forest.roots[evenly_spaced(len(forest.roots), n_trees)]
        times = len(forest.roots) / max(len(some), 1)
        for branch in forest.branches if times == 1 else _divide(forest, some):
            size += 8 * branch.width << branch.n_bits if branch.has_table else 0
            seconds += branch.width * (LOOK_UP_SECONDS if branch.has_table else PATTERN_SECONDS)
        return cls(int(times * size), times * seconds)


class Patterns:
    """Finds the patterns of rows at branches of a forest."""

    def __init__(self, forest: Forest, parts: list[Branch]) -> None:
        self.forest, self.parts = forest, parts
        self.nodes = [np.array([node for node, *_ in part.conditions], dtype=np.intp) for part in parts]
        self.left = [
            np.array([left for _, left, _ in part.conditions], dtype=bool)[:, None] for part in parts
        ]
        bits = [np.array([1 << bit for *_, bit in part.conditions], dtype=np.int64) for part in parts]
        # Small numbers are compared several times as fast.
        self.bits = [
            each.astype(np.uint16 if p.has_table else np.int64)[:, None]
            for each, p in zip(bits, parts, strict=True)
        ]
        self.full = [(1 << part.n_bits) - 1 for part in parts]
        self.starts = np.cumsum([0, *(len(nodes) for nodes in self.nodes[:-1])])

    def at(self, i: int, codes: IntArray, missing: bool = True) -> IntArray:
        """Return the patterns (n,) of rows with codes (n_features, n) at one branch."""
        if not len(self.nodes[i]):
            return np.full(codes.shape[1], self.full[i], dtype=np.intp)
        wrong = self.forest.goes_left(self.nodes[i], codes, missing) != self.left[i]
        missed = np.bitwise_or.reduce(wrong * self.bits[i], axis=0)
        return self.full[i] & ~missed.astype(np.intp)

    def everywhere(self, codes: IntArray) -> IntArray:
        """Return the patterns (n_branches, n) of few rows at all branches."""
        nodes, left, bits, full = self._together
        wrong = (self.forest.goes_left(nodes, codes) != left) * bits
        missed: IntArray = np.zeros((len(full), codes.shape[1]), dtype=np.intp)
        some = np.flatnonzero([len(nodes) for nodes in self.nodes])
        missed[some] = np.bitwise_or.reduceat(wrong, self.starts[some], axis=0)
        return full & ~missed

    @cached_property
    def _together(self) -> tuple[IntArray, BoolArray, IntArray, IntArray]:
        nodes, left, bits = (np.concatenate(each) for each in (self.nodes, self.left, self.bits))
        return nodes, left, bits, np.array(self.full, dtype=np.intp)[:, None]


class Deep(NamedTuple):
    """Background patterns, and their shares, at a leaf with too many features for a table."""

    patterns: IntArray
    shares: FloatArray


class ForestValues:
    """Exact Shapley values of a forest against background rows, by tables that are made once.

    Attributes
    ----------
    base
        The mean score of the background rows, (s,).
    """

    def __init__(self, forest: Forest, background: IntArray | None) -> None:
        """Make tables of background rows with codes (n_features, n_background); None leaves them empty."""
        self.forest = forest
        self.patterns, self.deep_patterns = forest.patterns
        self.small, self.large = self.patterns.parts, self.deep_patterns.parts
        self.base = np.zeros(forest.n_outputs)
        self.widths = np.array([part.width for part in self.small], dtype=np.intp)
        sizes = [part.width << part.n_bits for part in self.small]
        self.starts = np.cumsum([0, *sizes])[:-1]
        self.flat = np.zeros(sum(sizes))
        self.tables = [
            self.flat[start : start + size].reshape(1 << part.n_bits, part.width)
            for start, size, part in zip(self.starts, sizes, self.small, strict=True)
        ]
        self.deep: list[Deep] = []
        if background is not None:
            self._fill_tables(background)
            self.deep = [self._make_deep(i, background) for i in range(len(self.large))]

    @property
    def bytes(self) -> int:
        """How much memory the tables take."""
        return self.flat.nbytes

    def _fill_tables(self, background: IntArray) -> None:
        """Write the values of every pattern: a row for each, with a column for each feature and output."""
        seconds, leaves = self.forest.cost.table_seconds, sum(len(part.leaves) for part in self.small)
        if seconds > LONG:
            LOG.info("tables of exact values of %d leaves take about %.0f s", leaves, seconds)
        lines = log_lines("tables of exact values", leaves)
        for some in self._leaves_by_size(background):
            tables = leaf_tables(np.stack([shares for *_, shares in some]))
            for (i, leaf, patterns, shares), table in zip(some, tables, strict=True):
                value, part = self.forest.value[leaf.node], self.small[i]
                self.base += value * shares[-1]
                if not part.width:  # a tree that is one leaf, or adds nothing
                    continue
                at = [part.players.index(player) for player in leaf.players]
                values = table[patterns]
                target = self.tables[i].reshape(len(patterns), len(part.players), -1)
                for k, c in enumerate(part.outputs):
                    target[:, at, k] += value[c] * values
            lines.update(len(some))

    def _leaves_by_size(self, background: IntArray) -> Iterator[list[tuple[int, Leaf, IntArray, FloatArray]]]:
        """Yield leaves with as many players as each other, their patterns, and the background's shares."""
        n, missing = background.shape[1], bool((background < 0).any())
        by_size: dict[int, list[tuple[int, Leaf, IntArray, FloatArray]]] = {}
        for i, part in enumerate(self.small):
            counts = np.bincount(self.patterns.at(i, background, missing), minlength=1 << part.n_bits) / n
            for leaf, patterns in part.leaf_patterns():
                d = len(leaf.players)
                shares = np.bincount(patterns, weights=counts, minlength=1 << d).astype(np.float64)
                by_size.setdefault(d, []).append((i, leaf, patterns, shares))
                if len(by_size[d]) << d >= 2**16:
                    yield by_size.pop(d)
        yield from by_size.values()

    def _make_deep(self, i: int, background: IntArray) -> Deep:
        patterns, counts = np.unique(self.deep_patterns.at(i, background), return_counts=True)
        part, shares = self.large[i], counts / background.shape[1]
        self.base += self.forest.value[part.leaves[0].node] * shares[patterns == (1 << part.n_bits) - 1].sum()
        return Deep(patterns, shares)

    def __call__(self, codes: IntArray) -> FloatArray:
        """Return the values (n, n_features, s) of rows with codes (n_features, n)."""
        n, forest = codes.shape[1], self.forest
        found = np.empty((n, forest.n_features, forest.n_outputs))
        few, most = n <= SHORT, forest.cost.rows_at_once
        look_up, lines = self._few if few else self._many, log_lines("exact values of rows", n)

        def fill(rows: slice) -> None:
            mine = np.ascontiguousarray(codes[:, rows])
            total = np.zeros((forest.n_features, forest.n_outputs, mine.shape[1]))
            if self.small:
                look_up(mine, total)
            self._add_deep(mine, total)
            found[rows] = total.transpose(2, 0, 1)
            lines.update(rows.stop - rows.start)

        in_chunks(fill, n, FEW_AT_ONCE if few else min(most, max(SHORT, -(-n // 4))))
        return found

    def _many(self, codes: IntArray, total: FloatArray) -> None:
        """Add values branch by branch, of all rows together."""
        missing = bool((codes < 0).any())
        for i, (part, table) in enumerate(zip(self.small, self.tables, strict=True)):
            values = table.take(self.patterns.at(i, codes, missing), axis=0).T
            places = ((player, c) for player in part.players for c in part.outputs)
            for place, column in zip(places, values, strict=True):
                total[place] += column

    def _few(self, codes: IntArray, total: FloatArray) -> None:
        """Add values of all branches together, row by row: the same sums in the same order."""
        patterns, (places, inside) = self.patterns.everywhere(codes), self._places
        for row in range(codes.shape[1]):
            at = np.repeat(self.starts + patterns[:, row] * self.widths, self.widths) + inside
            sums = np.bincount(places, self.flat[at], minlength=total[..., row].size)
            total[..., row] = sums.reshape(total.shape[:2])

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """Which total each column of all tables belongs to, and where in its table it stands."""
        s = self.forest.n_outputs
        places = [
            np.add.outer(np.array(part.players, dtype=np.intp) * s, np.array(part.outputs, dtype=np.intp))
            for part in self.small
        ]
        first = np.repeat(np.cumsum(self.widths) - self.widths, self.widths)
        return np.concatenate([each.ravel() for each in places]), np.arange(len(first)) - first

    def _add_deep(self, codes: IntArray, total: FloatArray) -> None:
        for i, (part, deep) in enumerate(zip(self.large, self.deep, strict=True)):
            rows, where = np.unique(self.deep_patterns.at(i, codes), return_inverse=True)
            values = leaf_values(rows, *deep, part.n_bits)[where]
            for c in np.flatnonzero(value := self.forest.value[part.leaves[0].node]):
                for k, player in enumerate(part.players):
                    total[player, c] += value[c] * values[:, k]

    def interactions(self, codes: IntArray, background: IntArray) -> FloatArray:
        """Return Shapley interaction values (n, n_features, n_features, s), 0 on the diagonal."""
        forest, n = self.forest, codes.shape[1]
        found = np.zeros((forest.n_features, forest.n_features, forest.n_outputs, n))
        for some in self._leaves_by_size(background):
            tables = pair_tables(np.stack([shares for *_, shares in some]))
            for (i, leaf, patterns, _), table in zip(some, tables, strict=True):
                mine = patterns[self.patterns.at(i, codes)]
                _add_pairs(found, leaf, table[mine], forest)
        for i, (part, deep) in enumerate(zip(self.large, self.deep, strict=True)):
            rows, where = np.unique(self.deep_patterns.at(i, codes), return_inverse=True)
            _add_pairs(found, part.leaves[0], leaf_pairs(rows, *deep, part.n_bits)[where], forest)
        return found.transpose(3, 0, 1, 2)


def _add_pairs(found: FloatArray, leaf: Leaf, pairs: FloatArray, forest: Forest) -> None:
    """Add a leaf's pairs (n, d, d) to those of features (n_features, n_features, s, n)."""
    value = forest.value[leaf.node]
    for k, player in enumerate(leaf.players):
        for other, partner in enumerate(leaf.players[:k]):
            for c in np.flatnonzero(value):
                each = value[c] * pairs[:, k, other]
                found[player, partner, c] += each
                found[partner, player, c] += each

"""From the columns that a model sees to the user's features: which feature moves which column, and where.

Found out by trying on rows, so that it works for any transformers before the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.data.sampling import evenly_spaced
from illume.data.schema import Feature, Schema, labels
from illume.data.threads import row_chunks
from illume.twin.forest import Forest
from illume.twin.read_trees import Columns, ColumnTrees, UnreadableError

TRIED_AT_ONCE = 16_384
TRIED_ROWS = 128  # in which each feature in turn has another row's value
RARE_NUMBERS = 64  # of a feature, which are tried for columns that nothing moved so far
GRID_ROWS = 4_096  # whose values of numbers are tried
MOST_CATEGORIES = 1_000
HALVINGS = 100  # of the interval that holds a cut; 53 reach neighbouring numbers unless it is near 0
NEVER = -2  # a rank that no code is up to


@dataclass(frozen=True, eq=False)
class FeatureCodes:
    """How a frame's features become codes: the bin among a number's `cuts`, or the place of a category.

    A number that is a cut belongs to the bin below. A missing number is -1, and an unknown category comes
    after the known ones.
    """

    schema: Schema
    cuts: tuple[FloatArray, ...]
    categories: tuple[tuple[Hashable | None, ...], ...]

    def __call__(self, frame: Frame) -> IntArray:
        """Return the codes (n_features, n) of a frame's rows."""
        small = self.n_codes < 2**15  # small numbers are compared twice as fast
        found = np.empty((len(self.schema), len(frame)), dtype=np.int16 if small else np.int32)
        for j, feature in enumerate(self.schema.features):
            if feature.numeric:
                numbers = frame.numbers(feature.name)
                found[j] = np.searchsorted(self.cuts[j], numbers, side="left")
                found[j, np.isnan(numbers)] = -1
            else:
                position = {value: code for code, value in enumerate(self.categories[j])}
                unknown = len(position)
                found[j] = [position.get(value, unknown) for value in labels(frame, feature.name)]
        return found

    def of_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> IntArray:
        """Return the codes (n_features, n) of encoded rows X (n, m), some of whose features are missing."""
        found = np.zeros((len(self.schema), len(X)), dtype=np.int32)
        for j, feature in enumerate(self.schema.features):
            mine = np.flatnonzero(encoding.owner == j)
            if feature.numeric:
                known = np.full(len(X), feature.low)  # of a constant one
                numbers = (
                    X[:, mine[0]] * encoding.scale[mine[0]] + encoding.mean[mine[0]] if len(mine) else known
                )
                found[j] = np.where(imputed[:, j], -1, np.searchsorted(self.cuts[j], numbers, side="left"))
            elif len(mine):
                block = X[:, mine] * encoding.scale[mine] + encoding.mean[mine]
                position = np.append(self._positions(feature), len(self.categories[j]))
                found[j] = position[np.where(block.max(1) > 0.5, block.argmax(1), -1)]
        return found

    def _positions(self, feature: Feature) -> IntArray:
        """Return where the schema's categories stand here; all rare ones are the first that it leaves out."""
        j = self.schema.features.index(feature)
        position = {value: code for code, value in enumerate(self.categories[j])}
        rare = next(
            (code for value, code in position.items() if value not in feature.categories), len(position)
        )
        return np.array([position.get(value, rare) for value in feature.categories], dtype=np.intp)

    @property
    def n_codes(self) -> int:
        """How many codes the feature with the most of them has, without that of missing numbers."""
        pairs = zip(self.cuts, self.categories, strict=True)
        return max((max(len(cuts), len(known)) + 1 for cuts, known in pairs), default=1)


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings about made-up values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Trials:
    """Puts made-up rows through the steps before a model."""

    def __init__(self, schema: Schema, frame: Frame, columns: Columns) -> None:
        self.schema, self.columns = schema, columns
        self.frame = frame.take(evenly_spaced(len(frame), GRID_ROWS))
        self.names = schema.names
        self.values: list[FloatArray] = []
        self.categories: list[tuple[Hashable | None, ...]] = []
        self.rows: list[IntArray] = []  # where each category stands in the frame
        for feature in schema.features:
            self._look_at(feature.name, feature.numeric, frame)
        self.owner = self._find_owners()
        known = {j: self.known(j) for j in range(len(self.names)) if len(self.known(j))}
        self._seen = self.matrix_of(known) if known else np.empty((0, len(self.owner)))
        self._missing = self._find_missing()

    def _look_at(self, name: str, numeric: bool, frame: Frame) -> None:
        if numeric:
            numbers = self.frame.numbers(name)
            self.values.append(np.unique(numbers[~np.isnan(numbers)]))
            self.categories.append(())
            self.rows.append(np.empty(0, dtype=np.intp))
            return
        first: dict[Hashable | None, int] = {}
        for i, value in enumerate(labels(frame, name)):
            first.setdefault(value, i)
        if len(first) > MOST_CATEGORIES:
            raise UnreadableError(f"{name!r} has {len(first)} categories")
        self.values.append(np.empty(0))
        self.categories.append(tuple(first))
        self.rows.append(np.fromiter(first.values(), dtype=np.intp))
        self._known = frame

    def known(self, j: int) -> FloatArray | IntArray:
        """Return the values of feature j: numbers, or the positions of its categories."""
        return self.values[j] if self.schema.features[j].numeric else np.arange(len(self.categories[j]))

    def seen(self, j: int) -> FloatArray:
        """Return the columns of rows with each known value of feature j."""
        return self._seen[: len(self.known(j))]

    def matrix(self, frame: Frame) -> FloatArray:
        """Return the columns that the model sees."""
        found = self.columns(frame.native)
        return found if found.ndim == 2 else found.reshape(len(frame), -1)

    def _find_owners(self) -> IntArray:
        """Return which feature moves each column, -1 where none does; raise where several do."""
        frame = self.frame
        rows = evenly_spaced(len(frame), TRIED_ROWS)
        tried = len(rows)
        before = self.matrix(frame.take(rows))
        others = np.concatenate([np.roll(rows, shift) for shift in (1, tried // 2, tried // 3)])
        mix, n, moved = frame.mixer(frame), len(others), list[BoolArray]()
        for some in row_chunks(len(self.names), max(1, TRIED_AT_ONCE // n)):
            names = self.names[some]
            source = np.full((len(names), n, len(frame.names)), -1, dtype=np.intp)
            for k, name in enumerate(names):
                source[k, :, frame.names.index(name)] = others
            made = mix(np.tile(rows, 3 * len(names)), source.reshape(-1, len(frame.names)))
            after = self.matrix(made).reshape(len(names), 3, *before.shape)
            same = (after == before) | (np.isnan(after) & np.isnan(before))
            moved += list(~same.all((1, 2)))
        by = np.array(moved)
        several = np.flatnonzero(by.sum(0) > 1)
        if len(several):
            first, second = np.flatnonzero(by[:, several[0]])[:2]
            raise UnreadableError(
                f"a column that the model sees is made of several features, "
                f"{self.names[first]!r} and {self.names[second]!r}"
            )
        owner = np.where(by.any(0), by.argmax(0), -1)
        return self._find_rare(owner) if (owner < 0).any() else owner

    def _find_rare(self, owner: IntArray) -> IntArray:
        """Return the same with columns that only rare categories, extreme or missing numbers move."""
        for j in range(len(self.names)):
            known = self.known(j)
            if not len(known):
                continue
            numeric = self.schema.features[j].numeric
            some = known[evenly_spaced(len(known), RARE_NUMBERS)] if numeric else known
            rows = [self.matrix_of({j: some})]
            absent = self._try_missing([j]) if numeric else None
            rows += [columns[None] for columns in (absent or {}).values()]
            found = np.concatenate(rows)
            same = (found == found[:1]) | (np.isnan(found) & np.isnan(found[:1]))
            owner = np.where((owner < 0) & ~same.all(0), j, owner)
        return owner

    def made_of(self, values: dict[int, FloatArray | IntArray]) -> Frame:
        """Return rows whose features have these numbers, or categories by their positions."""
        n = max(map(len, values.values()))
        columns: dict[str, FloatArray | Frame] = {}
        for j, mine in values.items():
            padded = np.concatenate([mine, np.repeat(mine[-1:], n - len(mine))])
            name = self.names[j]
            if self.schema.features[j].numeric:
                columns[name] = padded.astype(np.float64)
            else:
                columns[name] = self._known.select([name]).take(self.rows[j][padded])
        return self.frame.take(np.zeros(n, dtype=np.intp)).with_columns(columns)

    def matrix_of(self, values: dict[int, FloatArray | IntArray]) -> FloatArray:
        """Return the columns of rows whose features have these values."""
        with quiet():
            return self.matrix(self.made_of(values))

    def missing_columns(self, j: int) -> FloatArray | None:
        """Return the columns (n_columns,) of a row whose number j is missing; None if that cannot be."""
        return self._missing.get(j)

    def _find_missing(self) -> dict[int, FloatArray]:
        numeric = [j for j, feature in enumerate(self.schema.features) if feature.numeric]
        together = self._try_missing(numeric)
        if together is not None:
            return together
        alone = (self._try_missing([j]) for j in numeric)
        return {j: columns for found in alone if found for j, columns in found.items()}

    def _try_missing(self, numeric: list[int]) -> dict[int, FloatArray] | None:
        """Return the columns of a row whose numbers are missing, for each that can be; None if it fails."""
        with quiet():
            try:
                nothing = {self.names[j]: np.array([np.nan]) for j in numeric}
                made = self.frame.slice(0, 1).with_columns(nothing)
                absent = [j for j in numeric if np.isnan(made.numbers(self.names[j])).all()]
                return dict.fromkeys(absent, self.matrix(made)[0]) if absent else {}
            except Exception:  # whatever a transformer raises, it takes no missing numbers
                return None


def to_features(trees: ColumnTrees, schema: Schema, frame: Frame) -> tuple[Forest, FeatureCodes]:
    """Return the same trees with nodes that test the user's features."""
    trials = Trials(schema, frame, trees.columns)
    inner = np.flatnonzero(trees.left >= 0)
    owner = trials.owner[trees.column[inner]]
    feature = np.zeros(len(trees.left), dtype=np.intp)
    feature[inner] = np.maximum(owner, 0)  # a column that no feature moves is decided alike for all rows
    tests = _Tests.of(trees, inner)
    found = [_Bins.of(trees, trials, tests, j) for j in range(len(schema))]
    _halve(trees, trials, found)
    codes = FeatureCodes(schema, tuple(each.sorted_cuts for each in found), tuple(trials.categories))
    rank, missing_left = np.full(len(tests.first), NEVER), np.zeros(len(tests.first), dtype=bool)
    choice, choices = np.full(len(tests.first), -1), list[BoolArray]()
    for j, bins in enumerate(found):
        ranks, missing = bins.ranks(trees, trials, j)
        rank[bins.tests], missing_left[bins.tests] = ranks, missing
        for test, sets in bins.sets(trees, trials, j):
            choice[test] = len(choices)
            choices.append(_pad(sets, codes.n_codes + 1))
    unmoved = np.flatnonzero(trials.owner[trees.column[tests.first]] < 0)
    if len(unmoved):
        fixed = trials.matrix(trials.frame.slice(0, 1))[0, trees.column[tests.first[unmoved]]]
        goes = trees.goes_left(tests.first[unmoved], fixed)
        rank[unmoved], missing_left[unmoved] = np.where(goes, np.iinfo(np.int32).max, NEVER), goes
    every = np.zeros(len(trees.left), dtype=np.intp)
    every[inner] = tests.which
    forest = Forest(
        roots=trees.roots,
        left=trees.left,
        right=trees.right,
        feature=feature,
        rank=rank[every],
        missing_left=missing_left[every],
        choice=choice[every],
        choices=np.array(choices) if choices else np.zeros((0, codes.n_codes + 1), dtype=bool),
        value=trees.value,
        n_features=len(schema),
    )
    return forest, codes


def _pad(sets: BoolArray, width: int) -> BoolArray:
    """Return a set of codes with the last entry, for a missing number, at the end."""
    return np.concatenate([sets[:-1], np.zeros(width - len(sets), dtype=bool), sets[-1:]])


@dataclass(frozen=True, eq=False)
class _Tests:
    """The different tests of all nodes: a node that has each, and which one each inner node has."""

    first: IntArray
    which: IntArray

    @classmethod
    def of(cls, trees: ColumnTrees, inner: IntArray) -> _Tests:
        about = (trees.column, trees.choice, trees.threshold, trees.missing_left)
        keys = np.stack([np.asarray(each[inner], dtype=np.float64) for each in about], 1)
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return cls(inner[first], which.ravel())


@dataclass(eq=False)
class _Bins:
    """The tests of one feature, and between which of its values they change.

    `low` and `high` (k,) hold the change of test `changed` (k,); where they are neighbours, low is the cut.
    """

    tests: IntArray
    nodes: IntArray
    identity: bool
    begins: BoolArray
    changed: IntArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, trees: ColumnTrees, trials: Trials, tests: _Tests, j: int) -> _Bins:
        mine = np.flatnonzero(trials.owner[trees.column[tests.first]] == j)
        nodes, nothing = tests.first[mine], np.empty(0)
        empty = cls(mine, nodes, False, nothing.astype(bool), nothing.astype(np.intp), nothing, nothing)
        if not len(mine) or not trials.schema.features[j].numeric or not len(trials.values[j]):
            return empty
        grid = trials.values[j]
        column = np.unique(trees.column[nodes])
        matrix = trials.matrix_of({j: grid})
        if (
            len(column) == 1
            and np.array_equal(matrix[:, column[0]], grid)
            and (trees.choice[nodes] < 0).all()
        ):
            cuts = highest_left(trees.threshold[nodes], trees.strict, trees.single)
            empty.identity, empty.low, empty.high = True, cuts, cuts
            return empty
        grid, matrix = _widen(trials, j, grid, matrix)
        goes = trees.goes_left(nodes[:, None], matrix[:, trees.column[nodes]].T)
        changed, at = np.nonzero(goes[:, 1:] != goes[:, :-1])
        return cls(mine, nodes, False, goes[:, 0], changed, grid[at], grid[at + 1])

    @property
    def sorted_cuts(self) -> FloatArray:
        """All cuts, ascending."""
        return np.unique(self.low)

    def ranks(self, trees: ColumnTrees, trials: Trials, j: int) -> tuple[IntArray, BoolArray]:
        """Return up to which code rows go left, and whether missing numbers do, for each test."""
        cuts = self.sorted_cuts
        found = np.where(self.begins, np.iinfo(np.int32).max, NEVER) if len(self.begins) else None
        if self.identity:
            found = np.searchsorted(cuts, self.low)
        elif found is None:
            found = np.full(len(self.tests), NEVER)
        else:
            found[self.changed] = np.searchsorted(cuts, self.low)
        return found, self._missing(trees, trials, j)

    def _missing(self, trees: ColumnTrees, trials: Trials, j: int) -> BoolArray:
        if not len(self.tests) or not trials.schema.features[j].numeric:
            return np.zeros(len(self.tests), dtype=bool)
        columns = trials.missing_columns(j)
        values = np.full(len(self.nodes), np.nan) if columns is None else columns[trees.column[self.nodes]]
        return np.asarray(trees.goes_left(self.nodes, values))

    def sets(self, trees: ColumnTrees, trials: Trials, j: int) -> Iterator[tuple[int, BoolArray]]:
        """Yield tests that no single cut describes, with the set of codes that go left."""
        if not len(self.tests):
            return
        if not trials.schema.features[j].numeric:
            matrix = trials.seen(j)[:, trees.column[self.nodes]].T
            goes = trees.goes_left(self.nodes[:, None], matrix)
            unknown = _unknown_columns(trials, j)
            values = np.zeros(len(self.nodes)) if unknown is None else unknown[trees.column[self.nodes]]
            last = trees.goes_left(self.nodes, values)
            for test, each, other in zip(self.tests.tolist(), goes, last, strict=True):
                yield test, np.array([*each, other, other], dtype=bool)
            return
        if self.identity:
            return
        cuts, missing = self.sorted_cuts, self._missing(trees, trials, j)
        times = np.bincount(self.changed, minlength=len(self.tests))
        for k in np.flatnonzero((times > 1) | ((times == 1) & ~self.begins)):
            turns = np.zeros(len(cuts) + 1, dtype=np.intp)
            turns[1 + np.searchsorted(cuts, self.low[self.changed == k])] += 1
            left = (np.cumsum(turns) % 2 == 1) ^ self.begins[k]
            yield int(self.tests[k]), np.append(left, missing[k])


def _unknown_columns(trials: Trials, j: int) -> FloatArray | None:
    """Return the columns (n_columns,) of a row with a category that was never seen; None if it fails."""
    frame, name = trials.frame.slice(0, 1), trials.names[j]
    with quiet():
        try:
            made = frame.with_columns({name: _made_up(frame, name)})
            return np.asarray(trials.matrix(made)[0])
        except Exception:  # whatever a transformer raises, it takes no unknown categories
            return None


def _made_up(frame: Frame, name: str) -> Frame:
    import narwhals.stable.v2 as nw

    from illume.data.frames import as_frame

    if isinstance(frame.native, np.ndarray):
        raise TypeError("arrays hold what they hold")
    backend = nw.from_native(frame.native, eager_only=True).implementation
    return as_frame(nw.from_dict({name: ["(never seen)"]}, backend=backend).to_native())


def _widen(trials: Trials, j: int, grid: FloatArray, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a grid, and its columns, with a few numbers beyond it, where the steps take these."""
    span = max(float(grid[-1] - grid[0]), 1.0)
    steps = span * np.array([0.01, 1.0, 100.0])
    for beyond, low in ((grid[0] - steps[::-1], True), (grid[-1] + steps, False)):
        more = _beyond(trials, j, beyond)
        if more is None:
            continue
        grid = np.concatenate([beyond, grid] if low else [grid, beyond])
        matrix = np.concatenate([more, matrix] if low else [matrix, more])
    return grid, matrix


def _beyond(trials: Trials, j: int, numbers: FloatArray) -> FloatArray | None:
    """Return the columns of rows with numbers of feature j that were not seen; None if it takes none such."""
    try:
        more = trials.matrix_of({j: numbers})
        made = trials.made_of({j: numbers}).numbers(trials.names[j])
    except Exception:  # whatever a transformer raises, it takes no such numbers
        return None
    return None if np.isnan(more).any() or not np.isfinite(made).all() else more


def _halve(trees: ColumnTrees, trials: Trials, found: list[_Bins]) -> None:
    """Narrow the intervals that hold changes down to neighbouring numbers, of all features together."""
    for _ in range(HALVINGS):
        middle: dict[int, FloatArray | IntArray] = {}
        for j, bins in enumerate(found):
            if bins.identity or not len(bins.low):
                continue
            mid: FloatArray = bins.low + (bins.high - bins.low) / 2
            if ((mid > bins.low) & (mid < bins.high)).any():
                middle[j] = mid
        if not middle:
            return
        with quiet():
            made = trials.made_of(middle)
            matrix = trials.matrix(made)
        moved = False
        for j, halves in middle.items():
            bins, n = found[j], len(halves)
            real = made.numbers(trials.names[j])[:n]  # a column of whole numbers rounds them
            inside = (real > bins.low) & (real < bins.high)
            nodes = bins.nodes[bins.changed]
            goes = trees.goes_left(nodes, matrix[np.arange(n), trees.column[nodes]])
            before = _before(bins)
            bins.low = np.where(inside & (goes == before), real, bins.low)
            bins.high = np.where(inside & (goes != before), real, bins.high)
            moved |= bool(inside.any())
        if not moved:
            return


def _before(bins: _Bins) -> BoolArray:
    """Return what each changing test says below its change: it turns at every change."""
    order = np.zeros(len(bins.changed), dtype=np.intp)
    for k in range(1, len(order)):
        order[k] = order[k - 1] + 1 if bins.changed[k] == bins.changed[k - 1] else 0
    return np.asarray(bins.begins[bins.changed] ^ (order % 2 == 1))


def highest_left(threshold: FloatArray, strict: bool, single: bool) -> FloatArray:
    """Return the highest number that goes left at each threshold.

    >>> highest_left(np.array([0.5]), strict=False, single=False)
    array([0.5])
    >>> below = highest_left(np.array([1.0]), strict=True, single=True)  # above it, numbers round to 1
    >>> bool(np.float32(below[0]) < 1 <= np.float32(np.nextafter(below[0], 1)))
    True
    """
    if not single:
        return np.nextafter(threshold, -np.inf) if strict else threshold
    near = threshold.astype(np.float32)
    over = near.astype(np.float64) > threshold if not strict else near.astype(np.float64) >= threshold
    low = np.where(over, np.nextafter(near, np.float32(-np.inf)), near)
    high = np.nextafter(low, np.float32(np.inf))
    middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    return np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf))

"""Load the rows that a fit learns from: all of a frame, or a random sample of a frame, folder or dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from illume._typing import IntArray
from illume.data.black_box import model_columns
from illume.data.column_stats import Categories, LabelStats, NumberStats, Seen, stats_for
from illume.data.frames import Frame, as_frame
from illume.data.row_sources import Source, is_row_source, native, open_rows
from illume.data.schema import Feature, Schema, check_names, declared_codes, require_columns
from illume.errors import SchemaError

Keys = NDArray[np.uint64]


class KeyStream:
    """A random number for each row, by its place among all rows and the seed alone.

    >>> whole, pieces = KeyStream(0)(5), KeyStream(0)
    >>> np.array_equal(np.concatenate([pieces(2), pieces(3)]), whole)
    True
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,)))

    def __call__(self, n_rows: int) -> Keys:
        """Return the keys of the next rows."""
        return np.asarray(self._bits.random_raw(n_rows), dtype=np.uint64)


def sample_rows(n_rows: int, budget: int, seed: int) -> IntArray:
    """Return which rows are drawn, ascending: those with the smallest keys.

    >>> sample_rows(3, 5, 0)
    array([0, 1, 2])
    >>> len(sample_rows(100, 7, 0))
    7
    """
    return smallest(KeyStream(seed)(n_rows), budget)


def smallest(keys: Keys, n: int) -> IntArray:
    """Return where the n smallest keys stand, ascending; of equal ones the first come first.

    >>> smallest(np.array([5, 1, 5, 0], dtype=np.uint64), 3)
    array([0, 1, 3])
    """
    if n >= len(keys):
        return np.arange(len(keys))
    return np.sort(np.argsort(keys, kind="stable")[:n])


class Draw:
    """Draws rows out of Arrow's batches as they go by, holding one and a half times as many at most.

    A row is drawn if its key is among the smallest. Once enough rows are held, a row with a key above
    all of theirs can be let go at once.
    """

    def __init__(self, budget: int, seed: int) -> None:
        self.budget, self.n_rows, self.n_held = budget, 0, 0
        self._next_keys = KeyStream(seed)
        self._keys: list[Keys] = []
        self._batches: list[Any] = []
        self._limit: np.uint64 | None = None

    def add(self, batch: Any) -> None:
        """Look at the next rows."""
        keys = self._next_keys(batch.num_rows)
        self.n_rows += batch.num_rows
        kept = np.arange(len(keys)) if self._limit is None else np.flatnonzero(keys < self._limit)
        if len(kept):
            self._keys.append(keys[kept])
            self._batches.append(_copied(batch, kept))
            self.n_held += len(kept)
        if self.n_held > self.budget + max(self.budget // 2, 1):
            self._let_go()

    def table(self, schema: Any) -> Any:
        """Return the drawn rows as an Arrow table, in the order in which they came."""
        import pyarrow as pa

        if self.n_held > self.budget:
            self._let_go()
        return pa.Table.from_batches(self._batches, schema).unify_dictionaries()

    def _let_go(self) -> None:
        """Keep those with the smallest keys."""
        import pyarrow as pa

        keys = np.concatenate(self._keys)
        kept = smallest(keys, self.budget)
        held = pa.Table.from_batches(self._batches).unify_dictionaries().combine_chunks()
        self._batches = held.take(pa.array(kept)).to_batches()
        self._keys, self.n_held = [keys[kept]], len(kept)
        self._limit = self._keys[0].max()


def _copied(batch: Any, rows: IntArray) -> Any:
    """Take rows out of a batch, so that the batch itself can be thrown away."""
    import pyarrow as pa

    return batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))


MIN_ROWS = 10
STREAM_ROWS = 200_000


@dataclass(frozen=True)
class RowLimit:
    """How many rows to take at most, drawn with which seed.

    Parameters
    ----------
    row_budget
        The most rows; None is all rows of a frame, and 200,000 of what is read piece by piece.
    backend
        The library whose frames the model is asked with where rows are read; None is pandas.
    """

    row_budget: int | None
    seed: int
    backend: str | None = None
    verbose: bool | None = None


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """Rows that were drawn, and what was seen of all rows.

    Parameters
    ----------
    frame
        The drawn rows, in their order.
    schema
        The features, with the ranges and categories of all rows.
    missing
        Names of numeric features that have missing values in any row.
    n_rows
        How many rows there were.
    """

    frame: Frame
    schema: Schema
    missing: frozenset[str]
    n_rows: int

    @property
    def partial(self) -> bool:
        """Whether there were more rows than were drawn."""
        return len(self.frame) < self.n_rows


def load_rows(
    data: Any, model: Any, schema: Schema | None, categorical: Iterable[str], drawing: RowLimit
) -> LoadedRows:
    """Take the rows to learn from, all or drawn; only columns that the model uses, if it says which."""
    if is_row_source(data):
        return _from_source(open_rows(data), model, schema, categorical, drawing)
    frame = as_frame(data)
    _require_rows(len(frame))
    names = model_columns(model, frame.names)
    frame = frame if names is None else frame.select(names)
    if schema is None:
        known = Schema.infer(frame.native, categorical)
    else:
        if not set(schema.names) <= set(frame.names):  # an array, whose columns have no names
            frame = require_columns(frame, schema.names)
        known = schema.completed(frame)
    n_rows, missing = len(frame), frozenset[str]()
    if drawing.row_budget is not None and n_rows > drawing.row_budget:
        numeric = [feature.name for feature in known.features if feature.numeric]
        missing = frozenset(name for name in numeric if np.isnan(frame.numbers(name)).any())
        frame = frame.take(sample_rows(n_rows, drawing.row_budget, drawing.seed))
    return LoadedRows(frame, known, missing, n_rows)


def _require_rows(n_rows: int) -> None:
    if n_rows < MIN_ROWS:
        raise SchemaError(f"fit needs at least {MIN_ROWS} rows, found {n_rows}")


def _from_source(
    source: Source, model: Any, schema: Schema | None, categorical: Iterable[str], drawing: RowLimit
) -> LoadedRows:
    """Read all rows once, in bounded memory: draw some, and look at all."""
    columns = model_columns(model, source.names) or source.names
    looked_at = _seen(source, columns, schema, categorical)
    categories: dict[str, Categories] = {}
    only = source.only(columns)
    draw = _drawn(only, drawing, lambda batch, start: _look(batch, looked_at, categories, start))
    _require_rows(draw.n_rows)
    table = draw.table(only.schema)
    gaps = {seen.name for seen in looked_at if seen.missing}
    frame = as_frame(_typed(table, drawing.backend or source.backend, gaps, categories))
    known = Schema.from_features(_known(seen, schema, frame) for seen in looked_at)
    numeric = {seen.name for seen in looked_at if isinstance(seen, NumberStats)}
    return LoadedRows(frame, known, frozenset(gaps & numeric), draw.n_rows)


def sample_frame(source: Source, drawing: RowLimit, like: Any = None) -> tuple[Any, int]:
    """Read all rows once and return some, as a frame, and how many there were; nothing is looked at.

    `like` is a pandas frame whose types they take where that changes no value.
    """
    draw = _drawn(source.only(source.names), drawing, lambda batch, start: None)
    table = draw.table(source.only(source.names).schema)
    return native(table, drawing.backend or source.backend, like), draw.n_rows


def _drawn(source: Source, drawing: RowLimit, look: Callable[[Any, int], None]) -> Draw:
    """Let all rows go by, in bounded memory; `look` sees each batch, and how many rows came before."""
    draw = Draw(drawing.row_budget or STREAM_ROWS, drawing.seed)
    disable = None if drawing.verbose is None else not drawing.verbose
    with tqdm(total=source.n_rows, desc="reading rows", unit="row", unit_scale=True, disable=disable) as bar:
        for batch in source.batches(source.names):
            look(batch, draw.n_rows)
            draw.add(batch)
            bar.update(batch.num_rows)
    return draw


def _seen(
    source: Source, columns: Sequence[str], schema: Schema | None, categorical: Iterable[str]
) -> list[Seen]:
    """Return what looks at each feature."""
    if schema is None:
        codes = declared_codes(categorical, columns)
        return [stats_for(name, source.schema.field(name).type, is_code=name in codes) for name in columns]
    check_names(columns, schema.names)
    return [
        NumberStats(feature.name) if feature.numeric else LabelStats(feature.name, feature.kind)
        for feature in schema.features
    ]


def _known(seen: Seen, schema: Schema | None, frame: Frame) -> Feature:
    """Return a feature as the user's schema has it, or as it was seen."""
    said = None if schema is None else schema[seen.name]
    if said is not None and said.known:
        return said
    overflow = isinstance(seen, LabelStats) and seen.overflow
    return seen.feature(frame.labels(seen.name) if overflow else [])


def _look(batch: Any, looked_at: list[Seen], categories: dict[str, Categories], start: int) -> None:
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    for seen in looked_at:
        seen.add(table, start)
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if pa.types.is_dictionary(field.type):
            categories.setdefault(field.name, Categories()).add(column.dictionary)


def _typed(table: Any, backend: str, gaps: set[str], categories: dict[str, Categories]) -> Any:
    """Return drawn rows as a frame, in pandas in the types that it would give to all rows."""
    frame = native(table, backend)
    if backend != "pandas":
        return frame
    for name in frame.columns:
        dtype = frame[name].dtype
        if name in gaps and isinstance(dtype, np.dtype) and dtype.kind in "iub":
            frame[name] = frame[name].astype(np.float64 if dtype.kind != "b" else object)
        elif hasattr(frame[name], "cat") and name in categories and not categories[name].overflow:
            frame[name] = frame[name].cat.set_categories(list(categories[name].values))
    return frame

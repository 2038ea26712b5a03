"""Load the rows that a fit learns from: all of a frame, or a random sample of a frame, folder or dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from illume._typing import IntArray
from illume.data.black_box import model_columns
from illume.data.column_stats import LabelStats, NumberStats, Stats
from illume.data.frames import Frame, as_frame
from illume.data.progress import tqdm
from illume.data.row_sources import RowSource, is_row_source, open_rows, to_frame
from illume.data.schema import (
    Feature,
    Kind,
    Schema,
    check_names,
    column_kind,
    declared_codes,
    require_columns,
)
from illume.errors import LostDigitsWarning, SchemaError, warn

MIN_ROWS = 10
EXACT = 2**53  # up to which floating-point numbers hold every whole number
STREAM_ROWS = 200_000


@dataclass(frozen=True)
class RowLimit:
    """How many rows to load, sampled with which seed.

    Parameters
    ----------
    row_budget
        The most rows; None is all rows of a frame, and 200,000 of what is read in batches.
    backend
        The library whose frames the model is called with if rows are read; None is pandas.
    """

    row_budget: int | None
    seed: int
    backend: str | None = None
    verbose: bool | None = None


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """A sample of rows in their order, and what is known of all rows.

    Parameters
    ----------
    schema
        The features, with the ranges and categories of all rows.
    missing
        Numeric features with missing values in any row.
    n_rows
        How many rows there were.
    """

    frame: Frame
    schema: Schema
    missing: frozenset[str]
    n_rows: int

    @property
    def partial(self) -> bool:
        """Whether there were more rows than were sampled."""
        return len(self.frame) < self.n_rows


def load_rows(
    data: Any, model: Any, schema: Schema | None, categorical: Iterable[str], limit: RowLimit
) -> LoadedRows:
    """Load the columns that the model uses, if it says which, of all rows or of a sample."""
    if is_row_source(data):
        loaded = _load_source(open_rows(data), model, schema, categorical, limit)
    else:
        loaded = _load_frame(as_frame(data), model, schema, categorical, limit)
    _warn_of_lost_digits(loaded)
    return loaded


def _load_frame(
    frame: Frame, model: Any, schema: Schema | None, categorical: Iterable[str], limit: RowLimit
) -> LoadedRows:
    _require_rows(len(frame))
    names = model_columns(model, frame.names)
    frame = frame if names is None else frame.select(names)
    if schema is None:
        known = Schema.infer(frame.native, categorical)
    else:
        if not set(schema.names) <= set(frame.names):  # an array, whose columns have no names
            frame = require_columns(frame, schema.names)
        known = schema.complete(frame)
    n_rows, missing = len(frame), frozenset[str]()
    if limit.row_budget is not None and n_rows > limit.row_budget:
        numeric = [feature.name for feature in known.features if feature.numeric]
        missing = frozenset(name for name in numeric if np.isnan(frame.numbers(name)).any())
        frame = frame.take(sample_rows(n_rows, limit.row_budget, limit.seed))
    return LoadedRows(frame, known, missing, n_rows)


def _warn_of_lost_digits(loaded: LoadedRows) -> None:
    """Warn of whole numbers above 2⁵³, of which several become one floating-point number."""
    for feature in loaded.schema.features:
        if not (feature.numeric and max(abs(feature.low), abs(feature.high)) > EXACT):
            continue
        values = [value for value in loaded.frame.labels(feature.name) if isinstance(value, int)]
        lost = next((value for value in values if int(float(value)) != value), None)
        if lost is not None:
            warn(
                f"column {feature.name!r} holds whole numbers such as {lost}, whose last digits are lost "
                f"(numbers are exact up to 2^53): if they are codes, name the column in categorical, or make "
                f"it text; if they name the rows, leave it out",
                LostDigitsWarning,
            )


def sample_frame(source: RowSource, limit: RowLimit, like: Any = None) -> tuple[Any, int]:
    """Read all rows once; return a sample as a frame, and how many rows there were.

    `like` is a pandas frame whose dtypes are used where that changes no value.
    """
    selected = source.select(source.names)
    sample = _read_sample(selected, limit)
    return to_frame(sample.table(selected.schema), limit.backend or source.backend, like), sample.n_rows


def sample_rows(n_rows: int, budget: int, seed: int) -> IntArray:
    """Return a random sample of positions, ascending, the same ones that `RowSample` keeps.

    >>> sample_rows(3, 5, 0), len(sample_rows(100, 7, 0))
    (array([0, 1, 2]), 7)
    """
    return _smallest(_key_generator(seed).random_raw(n_rows), budget)


class RowSample:
    """A random sample of the rows of Arrow batches, the same however the rows are cut into batches.

    Every row gets a random key by its position and the seed, and rows with the smallest keys are kept. At
    most one and a half times the budget is held in memory.
    """

    def __init__(self, budget: int, seed: int) -> None:
        self.budget, self.n_rows, self.n_held = budget, 0, 0
        self._generator = _key_generator(seed)
        self._keys: list[NDArray[np.uint64]] = []
        self._batches: list[Any] = []
        self._limit: np.uint64 | None = None

    def add(self, batch: Any) -> None:
        """Sample from the next rows."""
        import pyarrow as pa

        keys = self._generator.random_raw(batch.num_rows)
        self.n_rows += batch.num_rows
        kept = np.arange(len(keys)) if self._limit is None else np.flatnonzero(keys < self._limit)
        if len(kept):
            self._keys.append(keys[kept])
            # Taking copies, so that the batch itself can be freed.
            self._batches.append(batch if len(kept) == len(keys) else batch.take(pa.array(kept)))
            self.n_held += len(kept)
        if self.n_held > self.budget + max(self.budget // 2, 1):
            self._drop_largest()

    def table(self, schema: Any) -> Any:
        """Return the sample as an Arrow table, in the order of the rows."""
        import pyarrow as pa

        if self.n_held > self.budget:
            self._drop_largest()
        return pa.Table.from_batches(self._batches, schema).unify_dictionaries()

    def _drop_largest(self) -> None:
        import pyarrow as pa

        keys = np.concatenate(self._keys)
        kept = _smallest(keys, self.budget)
        held = pa.Table.from_batches(self._batches).unify_dictionaries().combine_chunks()
        self._batches = held.take(pa.array(kept)).to_batches()
        self._keys, self.n_held = [keys[kept]], len(kept)
        self._limit = self._keys[0].max()


def _key_generator(seed: int) -> Any:
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,)))


def _smallest(keys: NDArray[np.uint64], n: int) -> IntArray:
    return np.arange(len(keys)) if n >= len(keys) else np.sort(np.argsort(keys, kind="stable")[:n])


def _require_rows(n_rows: int) -> None:
    if n_rows < MIN_ROWS:
        raise SchemaError(f"fit needs at least {MIN_ROWS} rows, found {n_rows}")


def _load_source(
    source: RowSource, model: Any, schema: Schema | None, categorical: Iterable[str], limit: RowLimit
) -> LoadedRows:
    """Read all rows once, in bounded memory: sample some, and collect statistics of all."""
    columns = model_columns(model, source.names) or source.names
    if schema is None:
        codes, empty = declared_codes(categorical, columns), as_frame(source.schema.empty_table())
        kinds = {name: column_kind(empty, name, name in codes) for name in columns}
    else:
        check_names(columns, schema.names)
        kinds = {feature.name: feature.kind for feature in schema.features}
    stats = [
        NumberStats(name) if kind is Kind.NUMERIC else LabelStats(name, kind) for name, kind in kinds.items()
    ]
    selected = source.select(columns)
    sample = _read_sample(selected, limit, stats)
    _require_rows(sample.n_rows)
    table = sample.table(selected.schema)
    frame = as_frame(_with_dtypes_of_all(table, limit.backend or source.backend, stats))
    known = Schema.from_features(_feature(each, schema, frame) for each in stats)
    missing = frozenset(each.name for each in stats if each.missing and isinstance(each, NumberStats))
    return LoadedRows(frame, known, missing, sample.n_rows)


def _read_sample(source: RowSource, limit: RowLimit, stats: Sequence[Stats] = ()) -> RowSample:
    """Read all rows once; sample some, and add all of them to the statistics."""
    import pyarrow as pa

    sample = RowSample(limit.row_budget or STREAM_ROWS, limit.seed)
    disable = None if limit.verbose is None else not limit.verbose
    with tqdm(total=source.n_rows, desc="reading rows", unit="row", unit_scale=True, disable=disable) as bar:
        for batch in source.batches(source.names):
            table = pa.Table.from_batches([batch])
            for each in stats:
                each.add(table, sample.n_rows)
            sample.add(batch)
            bar.update(batch.num_rows)
    return sample


def _feature(stats: Stats, schema: Schema | None, frame: Frame) -> Feature:
    """Return a feature as the user's schema has it, or as its statistics say."""
    given = None if schema is None else schema[stats.name]
    if given is not None and given.known:
        return given
    overflow = isinstance(stats, LabelStats) and stats.overflow
    return stats.feature(frame.labels(stats.name) if overflow else [])


def _with_dtypes_of_all(table: Any, backend: str, stats: Sequence[Stats]) -> Any:
    """Return sampled rows as a frame; in pandas with the dtypes that all rows would have."""
    frame = to_frame(table, backend)
    if backend != "pandas":
        return frame
    for each in stats:
        column = frame[each.name]
        if each.missing and isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
            frame[each.name] = column.astype(object if column.dtype.kind == "b" else np.float64)
        elif hasattr(column, "cat") and isinstance(each, LabelStats) and each.categories:
            frame[each.name] = column.cat.set_categories(list(each.categories))
    return frame

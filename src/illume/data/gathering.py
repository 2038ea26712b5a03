"""The rows that a fit learns from: all of a frame, or so many drawn from a frame, a folder or a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from illume.data.batches import native
from illume.data.black_box import names_of_model
from illume.data.drawing import Draw, drawn_rows
from illume.data.frames import Frame, as_frame
from illume.data.schema import Feature, Schema, check_names, declared_codes, require_columns
from illume.data.seen import Categories, LabelsSeen, NumbersSeen, Seen, seen_of
from illume.data.sources import Source, is_source, open_source
from illume.errors import SchemaError

MIN_ROWS = 10
STREAM_ROWS = 200_000


@dataclass(frozen=True)
class Drawing:
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
class Gathered:
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


def gather(
    data: Any, model: Any, schema: Schema | None, categorical: Iterable[str], drawing: Drawing
) -> Gathered:
    """Take the rows to learn from, all or drawn; only columns that the model uses, if it says which."""
    if is_source(data):
        return _from_source(open_source(data), model, schema, categorical, drawing)
    frame = as_frame(data)
    _require_rows(len(frame))
    names = names_of_model(model, frame.names)
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
        frame = frame.take(drawn_rows(n_rows, drawing.row_budget, drawing.seed))
    return Gathered(frame, known, missing, n_rows)


def _require_rows(n_rows: int) -> None:
    if n_rows < MIN_ROWS:
        raise SchemaError(f"fit needs at least {MIN_ROWS} rows, found {n_rows}")


def _from_source(
    source: Source, model: Any, schema: Schema | None, categorical: Iterable[str], drawing: Drawing
) -> Gathered:
    """Read all rows once, in bounded memory: draw some, and look at all."""
    columns = names_of_model(model, source.names) or source.names
    looked_at = _seen(source, columns, schema, categorical)
    categories: dict[str, Categories] = {}
    only = source.only(columns)
    draw = _drawn(only, drawing, lambda batch, start: _look(batch, looked_at, categories, start))
    _require_rows(draw.n_rows)
    table = draw.table(only.schema)
    gaps = {seen.name for seen in looked_at if seen.missing}
    frame = as_frame(_typed(table, drawing.backend or source.backend, gaps, categories))
    known = Schema.of_features(_known(seen, schema, frame) for seen in looked_at)
    numeric = {seen.name for seen in looked_at if isinstance(seen, NumbersSeen)}
    return Gathered(frame, known, frozenset(gaps & numeric), draw.n_rows)


def draw_frame(source: Source, drawing: Drawing, like: Any = None) -> tuple[Any, int]:
    """Read all rows once and return some, as a frame, and how many there were; nothing is looked at.

    `like` is a pandas frame whose types they take where that changes no value.
    """
    draw = _drawn(source.only(source.names), drawing, lambda batch, start: None)
    table = draw.table(source.only(source.names).schema)
    return native(table, drawing.backend or source.backend, like), draw.n_rows


def _drawn(source: Source, drawing: Drawing, look: Callable[[Any, int], None]) -> Draw:
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
        return [seen_of(name, source.schema.field(name).type, is_code=name in codes) for name in columns]
    check_names(columns, schema.names)
    return [
        NumbersSeen(feature.name) if feature.numeric else LabelsSeen(feature.name, feature.kind)
        for feature in schema.features
    ]


def _known(seen: Seen, schema: Schema | None, frame: Frame) -> Feature:
    """Return a feature as the user's schema has it, or as it was seen."""
    said = None if schema is None else schema[seen.name]
    if said is not None and said.known:
        return said
    overflow = isinstance(seen, LabelsSeen) and seen.overflow
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

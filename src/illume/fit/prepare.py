"""From the user's rows to all that a fit learns from: checked, answered, divided and encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Stages, checkpoint_slot
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.load_rows import LoadedRows
from illume.data.sampling import Split, query_rows, split_rows
from illume.data.schema import Schema, Unknown
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import BlackBoxError, RowError, SchemaError
from illume.explanations.reference import Reference
from illume.fit.answers import asked_once
from illume.fit.pairs import Answered, Material
from illume.results.effort import EFFORTS, Effort, resolve_queries

QUERIES_PER_ROW = 128
ENCODER_QUERIES = 50_000  # that the encoder learns from


@dataclass(frozen=True)
class DataSettings:
    """What a user may say about the data."""

    class_names: Sequence[Any] | None
    unknown: Unknown
    validation_size: float
    report_size: float
    queries: int | str
    effort: Effort = EFFORTS["standard"]
    encoder_learns: bool = True
    shapley: bool = True


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready to be learned from; `missing` says of which features missing values were seen."""

    frame: Frame
    schema: Schema
    black_box: BlackBox
    class_names: tuple[str, ...]
    split: Split
    encoding: Encoding
    material: Material
    missing: BoolArray
    reference: Reference
    encoded: Encoded
    P: FloatArray
    n_queries: int

    @property
    def known(self) -> tuple[Schema, tuple[str, ...], BlackBox]:
        """The features, the classes, and who tells them."""
        return self.schema, self.class_names, self.black_box


def prepare(
    rows: LoadedRows,
    model: Any,
    settings: DataSettings,
    rng: np.random.Generator,
    stages: Stages | None = None,
) -> Prepared:
    """Ask the black box about the rows, divide and encode them."""
    frame, schema = rows.frame, rows.schema
    features = frame.select(schema.names)
    black_box = BlackBox(model, settings.class_names)
    P = _answers(black_box, frame, stages)
    class_names = black_box.names(P.shape[1])
    split = split_rows(P.argmax(1), settings.validation_size, settings.report_size, rng)
    encoding = _encoding(schema, features, split, settings.unknown)
    if not encoding.n_inputs:
        raise SchemaError("no column varies; at least one must, or there is nothing to explain")
    training = frame.take(split.training)
    n_queries = _n_queries(training, encoding, black_box, settings, stages)
    n_made_up = 0
    if settings.encoder_learns:
        n_made_up = min(n_queries // 3, ENCODER_QUERIES) if settings.shapley else n_queries
    made_up = _query_rows(training, encoding, n_made_up, rng)
    queries = _ask(made_up, encoding, black_box, stages)
    encoded = encoding.transform(features)
    elsewhere = np.array([name in rows.missing for name in schema.names], dtype=bool)
    return Prepared(
        frame=frame,
        schema=schema,
        black_box=black_box,
        class_names=class_names,
        split=split,
        encoding=encoding,
        material=Material.of(encoded.X, P, split, queries),
        missing=np.asarray(encoded.imputed.any(0) | elsewhere),
        reference=Reference.fit(schema, features),
        encoded=encoded,
        P=P,
        n_queries=n_queries,
    )


def _n_queries(
    training: Frame, encoding: Encoding, black_box: BlackBox, settings: DataSettings, stages: Stages | None
) -> int:
    """Return how many made-up rows the model is asked about, by its speed where that is to decide."""
    if settings.queries != "auto":
        return int(settings.queries)
    if not settings.shapley:
        return ENCODER_QUERIES if settings.encoder_learns else 0
    slot = checkpoint_slot(stages, "speed")
    stage = None if slot is None else slot.load()
    if stage is not None:
        return int(stage.values["n_queries"])
    rng = np.random.default_rng(0)

    def ask(n: int) -> None:
        rows = query_rows(training, encoding, n, rng)
        _naming_made_up(lambda: black_box(rows))

    n_features = len(np.unique(encoding.owner))
    found = ranks().from_first(lambda: resolve_queries(settings.effort, n_features, ask))
    if slot is not None:
        slot.save({"n_queries": found}, ArrayWriter())
    return found


def _encoding(schema: Schema, features: Frame, split: Split, unknown: Unknown) -> Encoding:
    """Learn from the training rows how to encode; what is wrong is named by its place among all rows."""
    try:
        return Encoding.fit(schema, features.take(split.training), unknown)
    except RowError as error:
        raise error.moved(int(split.training[error.row]) - error.row) from error.__cause__


def _answers(black_box: BlackBox, frame: Frame, stages: Stages | None) -> FloatArray:
    """Ask about all rows; a black box that decides one class only cannot be explained."""
    P = asked_once(black_box, frame, checkpoint_slot(stages, "answers"), checked=True)
    black_box.n_classes = P.shape[1]
    decided = np.unique(P.argmax(1))
    if len(decided) < 2:
        name = black_box.names(P.shape[1])[decided[0]]
        raise BlackBoxError(
            f"the model decides {name!r} for all {len(frame)} rows, so there is nothing to tell apart; "
            f"fit with rows of at least two decisions"
        )
    return P


def _query_rows(frame: Frame, encoding: Encoding, queries: int, rng: np.random.Generator) -> Frame | None:
    """Make possible rows from the training rows, or none."""
    n = min(queries, QUERIES_PER_ROW * len(frame))
    return query_rows(frame, encoding, n, rng) if n else None


def _ask(rows: Frame | None, encoding: Encoding, black_box: BlackBox, stages: Stages | None) -> Answered:
    """Put made-up rows to the black box."""
    if rows is None:
        return Answered.none()
    X = encoding.transform(rows.select(encoding.schema.names)).X
    P = _naming_made_up(
        lambda: asked_once(black_box, rows, checkpoint_slot(stages, "queries"), checked=False)
    )
    return Answered(X, P)


def _naming_made_up(ask: Callable[[], FloatArray]) -> FloatArray:
    """Ask about made-up rows; an error says that they are."""
    try:
        return ask()
    except BlackBoxError as error:
        message = f"on made-up rows, which queries=0 does without, {error.message}"
        raise BlackBoxError(message, error.rows, error.more) from error.__cause__

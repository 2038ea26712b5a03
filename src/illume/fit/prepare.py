"""From the user's rows to all that training needs: rows answered by the model, divided and encoded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Stages, checkpoint_slot
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.load_rows import LoadedRows
from illume.data.sampling import Split, query_rows, split_rows
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import BlackBoxError, RowError, SchemaError
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.explanations.reference import Reference
from illume.fit.answers import ask_once, naming_queries
from illume.fit.settings import Settings
from illume.shapley.training_run import resolve_queries

QUERIES_PER_ROW = 128
ENCODER_QUERIES = 50_000  # that the encoder learns from


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for training; `missing` says in which features missing values were seen."""

    frame: Frame
    black_box: BlackBox
    class_names: tuple[str, ...]
    split: Split
    encoding: Encoding
    encoded: Encoded
    P: FloatArray
    rows: FitRows
    missing: BoolArray
    reference: Reference
    n_queries: int


def prepare(
    source: LoadedRows, settings: Settings, rng: np.random.Generator, stages: Stages | None = None
) -> Prepared:
    """Ask the black box about the rows, divide and encode them."""
    frame, schema = source.frame, source.schema
    features = frame.select(schema.names)
    black_box = BlackBox(settings.model, settings.data_options.class_names)
    P = _ask_model(black_box, frame, stages)
    split = split_rows(
        P.argmax(1), settings.data_options.validation_size, settings.data_options.report_size, rng
    )
    encoding = _fit_encoding(schema, features, split, settings)
    if not encoding.n_inputs:
        raise SchemaError("no column varies; at least one must, or there is nothing to explain")
    training = frame.take(split.training)
    n_queries = _count_queries(training, encoding, black_box, settings, stages)
    queries = _ask_encoder_queries(
        training, encoding, black_box, _encoder_share(n_queries, settings), rng=rng, stages=stages
    )
    encoded = encoding.transform(features)
    seen = np.array([name in source.missing for name in schema.names], dtype=bool)
    return Prepared(
        frame=frame,
        black_box=black_box,
        class_names=black_box.names(P.shape[1]),
        split=split,
        encoding=encoding,
        encoded=encoded,
        P=P,
        rows=FitRows.split(encoded.X, P, split, queries),
        missing=np.asarray(encoded.imputed.any(0) | seen),
        reference=Reference.fit(schema, features),
        n_queries=n_queries,
    )


def _ask_model(black_box: BlackBox, frame: Frame, stages: Stages | None) -> FloatArray:
    """Ask about all rows; a black box that decides one class only cannot be explained."""
    P = ask_once(black_box, frame, checkpoint_slot(stages, "answers"), check=True)
    black_box.n_classes = P.shape[1]
    decisions = np.unique(P.argmax(1))
    if len(decisions) < 2:
        name = black_box.names(P.shape[1])[decisions[0]]
        raise BlackBoxError(
            f"the model decides {name!r} for all {len(frame)} rows, so there is nothing to tell apart; "
            f"fit with rows of at least two decisions"
        )
    return P


def _fit_encoding(schema: Schema, features: Frame, split: Split, settings: Settings) -> Encoding:
    """Fit the encoding on training rows; errors name a row by its position among all rows."""
    try:
        return Encoding.fit(schema, features.take(split.training), settings.unknown)
    except RowError as error:
        raise error.moved(int(split.training[error.row]) - error.row) from error.__cause__


def _count_queries(
    training: Frame, encoding: Encoding, black_box: BlackBox, settings: Settings, stages: Stages | None
) -> int:
    """Return how many made-up rows the model is asked about; for `auto`, by its measured speed."""
    if settings.queries != "auto":
        return int(settings.queries)
    if not settings.shapley:
        return ENCODER_QUERIES if settings.surrogate_options.encoder != "identity" else 0
    slot = checkpoint_slot(stages, "speed")
    stage = None if slot is None else slot.load()
    if stage is not None:
        return int(stage.values["n_queries"])
    rng = np.random.default_rng(0)

    def ask(n: int) -> None:
        rows = query_rows(training, encoding, n, rng)
        with naming_queries():
            black_box(rows)

    n_features = len(np.unique(encoding.owner))
    n_queries = ranks().from_first(lambda: resolve_queries(settings.budget, n_features, ask))
    if slot is not None:
        slot.save({"n_queries": n_queries}, ArrayWriter())
    return n_queries


def _encoder_share(n_queries: int, settings: Settings) -> int:
    """Return how many of the queries the encoder learns from."""
    if settings.surrogate_options.encoder == "identity":
        return 0
    return min(n_queries // 3, ENCODER_QUERIES) if settings.shapley else n_queries


def _ask_encoder_queries(
    training: Frame,
    encoding: Encoding,
    black_box: BlackBox,
    n_queries: int,
    *,
    rng: np.random.Generator,
    stages: Stages | None,
) -> AnsweredRows:
    n = min(n_queries, QUERIES_PER_ROW * len(training))
    if not n:
        return AnsweredRows.empty()
    rows = query_rows(training, encoding, n, rng)
    X = encoding.transform(rows.select(encoding.schema.names)).X
    with naming_queries():
        return AnsweredRows(X, ask_once(black_box, rows, checkpoint_slot(stages, "queries")))

"""Prepare rows for training: ask the model about them, divide and encode them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.black_box import BlackBox
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.load_rows import LoadedRows
from illume.data.outputs import Outputs
from illume.data.sampling import Split, query_rows, split_rows
from illume.errors import BlackBoxError, SchemaError, renumber_rows
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.explanations.reference import Reference
from illume.fit.model_checks import check_model
from illume.fit.settings import Settings
from illume.results.noise import Noise
from illume.shapley.training_run import resolve_queries

QUERIES_PER_ROW = 128
ENCODER_QUERIES = 50_000  # that the encoder learns from
NO_COLUMN_VARIES = "no column varies; at least one must, or there is nothing to explain"


@contextmanager
def naming_queries() -> Iterator[None]:
    """Make errors of the model say that they are about made-up rows."""
    try:
        yield
    except BlackBoxError as error:
        message = f"on made-up rows, which queries=0 does without, {error.message}"
        raise replace(error, message=message) from error.__cause__


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for training; `missing` says in which features missing values were seen."""

    frame: Frame
    black_box: BlackBox
    outputs: Outputs
    split: Split
    encoding: Encoding
    encoded: Encoded
    P: FloatArray
    rows: FitRows
    missing: BoolArray
    reference: Reference
    n_queries: int
    noise: Noise | None


def prepare(source: LoadedRows, settings: Settings, rng: np.random.Generator) -> Prepared:
    """Ask the black box about the rows, divide and encode them."""
    if all(feature.constant for feature in source.schema.features):
        raise SchemaError(NO_COLUMN_VARIES)
    frame, schema = source.frame, source.schema
    features = frame.select(schema.names)
    data = settings.data_options
    black_box = BlackBox(settings.model, data.outputs)
    P, outputs, noise = _ask_model(black_box, frame)
    monotony = outputs.ask(settings.positive_class, settings.threshold).describe_monotony(P)
    if monotony:
        warnings.warn(
            f"{monotony}; its probabilities are explained, but without two decisions there are no rules and "
            "counterfactuals, and agreement says little",
            UserWarning,
            stacklevel=4,
        )
    split = split_rows(_groups(outputs, P), data.validation_size, data.report_size, rng)
    with renumber_rows(lambda row: int(split.training[row])):  # errors name rows of the whole frame
        encoding = Encoding.fit(schema, features.take(split.training), settings.unknown)
    if not encoding.n_inputs:
        raise SchemaError(NO_COLUMN_VARIES)
    training = frame.take(split.training)
    n_queries = _count_queries(training, encoding, black_box, settings)
    n_encoder = min(_encoder_share(n_queries, settings), QUERIES_PER_ROW * len(training))
    queries = AnsweredRows.empty()
    if n_encoder:
        made_up = query_rows(training, encoding, n_encoder, rng)
        with naming_queries():
            answers = black_box(made_up)
        queries = AnsweredRows(encoding.transform(made_up.select(schema.names)).X, answers)
    encoded = encoding.transform(features)
    seen = np.array([name in source.missing for name in schema.names], dtype=bool)
    return Prepared(
        frame=frame,
        black_box=black_box,
        outputs=outputs,
        split=split,
        encoding=encoding,
        encoded=encoded,
        P=P,
        rows=FitRows.split(outputs, AnsweredRows(encoded.X, P), split, queries),
        missing=np.asarray(encoded.imputed.any(0) | seen),
        reference=Reference.fit(schema, features),
        n_queries=n_queries,
        noise=noise,
    )


def _ask_model(black_box: BlackBox, frame: Frame) -> tuple[FloatArray, Outputs, Noise | None]:
    """Ask about all rows, and about some again; a black box that always answers alike cannot be explained."""
    P = black_box(frame)
    black_box.outputs = outputs = black_box.require_outputs().fit(P)
    outputs.require_variety(P)
    return P, outputs, check_model(black_box, frame, P)


def _groups(outputs: Outputs, P: FloatArray) -> IntArray:
    """Return a group for each row, to be divided alike: its decision, or of one decision how sure it is."""
    decisions = outputs.strata.decide(P)
    sure = P.max(1)
    return decisions if len(np.unique(decisions)) > 1 else (sure > np.quantile(sure, 0.1)).astype(np.intp)


def _count_queries(training: Frame, encoding: Encoding, black_box: BlackBox, settings: Settings) -> int:
    """Return how many made-up rows the model is asked about; for `auto`, by its measured speed."""
    if settings.queries != "auto":
        return int(settings.queries)
    if not settings.shapley:
        return ENCODER_QUERIES if settings.surrogate_options.encoder != "identity" else 0
    rng = np.random.default_rng(0)

    def ask(n: int) -> None:
        rows = query_rows(training, encoding, n, rng)
        with naming_queries():
            black_box(rows)

    return resolve_queries(settings.budget, len(np.unique(encoding.owner)), ask)


def _encoder_share(n_queries: int, settings: Settings) -> int:
    """Return how many of the queries the encoder learns from."""
    if settings.surrogate_options.encoder == "identity":
        return 0
    return min(n_queries // 3, ENCODER_QUERIES) if settings.shapley else n_queries

"""Prepare rows for training: ask the model about them, divide and encode them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
from illume.errors import BlackBoxError, FewQueriesWarning, SchemaError, renumber_rows, warn
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.fit.model_checks import check_model
from illume.fit.settings import Settings
from illume.results.noise import Noise
from illume.results.quality import FewerQueries
from illume.twin.training_run import TIERS, affordable_queries, count_queries

QUERIES_PER_ROW = 128
ENCODER_QUERIES = 50_000  # that the encoder learns from
TIMED_ROWS = (64, 512)  # of a model that seems to be slow
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
    noise: Noise | None
    seconds: float = 0.0
    n_queries: int = 0
    fewer: FewerQueries | None = None

    def on_scale(self, scale: str) -> Prepared:
        """Return the same with contributions on another scale."""
        outputs = self.outputs.on_scale(scale)
        self.black_box.outputs = outputs
        return replace(self, outputs=outputs, rows=replace(self.rows, outputs=outputs))


def prepare(source: LoadedRows, settings: Settings, rng: np.random.Generator) -> Prepared:
    """Ask the black box about the rows, divide and encode them."""
    if all(feature.constant for feature in source.schema.features):
        raise SchemaError(NO_COLUMN_VARIES)
    frame, schema = source.frame, source.schema
    features = frame.select(schema.names)
    data = settings.data_options
    black_box = BlackBox(settings.model, data.outputs, mixes=settings.queries != 0)
    start = time.perf_counter()
    P, outputs, noise = _ask_model(black_box, frame)
    seconds = (time.perf_counter() - start) / black_box.n_asked
    monotony = outputs.ask(settings.positive_class, settings.threshold).describe_monotony(P)
    if monotony:
        warn(
            f"{monotony}; its probabilities are explained, but without two decisions there are no rules and "
            "counterfactuals, and agreement says little",
        )
    split = split_rows(_groups(outputs, P), data.validation_size, data.report_size, rng)
    with renumber_rows(lambda row: int(split.training[row])):  # errors name rows of the whole frame
        encoding = Encoding.fit(schema, features.take(split.training), settings.unknown)
    if not encoding.n_inputs:
        raise SchemaError(NO_COLUMN_VARIES)
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
        rows=FitRows.split(outputs, AnsweredRows(encoded.X, P), split, AnsweredRows.empty()),
        missing=np.asarray(encoded.imputed.any(0) | seen),
        noise=noise,
        seconds=seconds,
    )


def decide_queries(prepared: Prepared, settings: Settings) -> Prepared:
    """Decide how many made-up rows the model is asked about."""
    training, encoding = prepared.frame.take(prepared.split.training), prepared.encoding
    n_queries, fewer = _count_queries(training, encoding, prepared.black_box, settings, prepared.seconds)
    return replace(prepared, n_queries=n_queries, fewer=fewer)


def answer_queries(
    prepared: Prepared,
    n_queries: int,
    answer: Callable[[Frame, Encoded], FloatArray],
    rng: np.random.Generator,
) -> AnsweredRows:
    """Return made-up rows with answers, for the encoder: at most so many, and so many for each row."""
    training, encoding = prepared.frame.take(prepared.split.training), prepared.encoding
    n_queries = min(n_queries, QUERIES_PER_ROW * len(training))
    if not n_queries:
        return AnsweredRows.empty()
    made_up = query_rows(training, encoding, n_queries, rng)
    encoded = encoding.transform(made_up.select(encoding.schema.names))
    return AnsweredRows(encoded.X, answer(made_up, encoded))


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


def _count_queries(
    training: Frame, encoding: Encoding, black_box: BlackBox, settings: Settings, seconds: float
) -> tuple[int, FewerQueries | None]:
    """Return how many made-up rows the model is asked about, and what that was lowered from.

    It follows from data and effort alone, unless the model, which took `seconds` a row so far, is very slow.
    """
    limit = settings.seconds_for_queries
    if settings.queries != "auto" and limit is None:
        return int(settings.queries), None
    if not settings.shapley:
        return ENCODER_QUERIES if settings.surrogate_options.encoder != "identity" else 0, None
    wanted = count_queries(settings.budget, len(np.unique(encoding.owner)))
    if limit is not None:
        return _queries_in_time(limit, wanted, seconds), None
    for n in TIMED_ROWS:  # a call may take long whatever the number of rows; a slow model is timed again
        if affordable_queries(wanted, seconds) == wanted:
            return wanted, None
        made_up = query_rows(training, encoding, n, np.random.default_rng(0))
        start = time.perf_counter()
        with naming_queries():
            black_box(made_up)
        seconds = min(seconds, (time.perf_counter() - start) / n)
    n_queries = affordable_queries(wanted, seconds)
    if n_queries == wanted:
        return wanted, None
    fewer = FewerQueries(n_queries, wanted, seconds * wanted)
    warn(str(fewer), FewQueriesWarning)
    return n_queries, fewer


def _queries_in_time(limit: float, most: int, seconds: float) -> int:
    """Return how many rows the model answers in `limit` seconds, and warn that this varies."""
    n_queries = int(min(max(limit / max(seconds, 1e-9), TIERS[0]), most))
    warn(
        f"queries='{limit:g} s' depends on how busy this machine is: the model is asked {n_queries:,} "
        f"made-up rows, and another fit may give other contributions; queries={n_queries} repeats this one",
    )
    return n_queries

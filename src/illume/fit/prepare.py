"""Prepare rows for training: ask the model about them, divide and encode them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Slot, Stages, checkpoint_slot
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.data.load_rows import LoadedRows
from illume.data.outputs import Outputs
from illume.data.sampling import Split, evenly_spaced, query_rows, split_rows
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import BlackBoxError, CheckpointError, FormatError, SchemaError, renumber_rows
from illume.explanations.compare_answers import compare_answers
from illume.explanations.fitted import AnsweredFrame, AnsweredRows, FitRows
from illume.explanations.reference import Reference
from illume.fit.model_checks import check_model, read_noise
from illume.fit.settings import Settings
from illume.results.noise import Noise
from illume.shapley.training_run import resolve_queries

QUERIES_PER_ROW = 128
ENCODER_QUERIES = 50_000  # that the encoder learns from
NO_COLUMN_VARIES = "no column varies; at least one must, or there is nothing to explain"
CHECKED_ROWS = 16  # whose stored answers are compared with the model's


class Asker:
    """Asks the model in several batches; answers that a checkpoint holds are not asked for again."""

    def __init__(self, black_box: BlackBox, slot: Slot | None) -> None:
        self.black_box, self.slot = black_box, slot
        self.known: FloatArray | None = None
        self.n_asked, self.used, self.answers = 0, 0, list[FloatArray]()
        stage = None if slot is None else slot.load()
        if stage is not None:
            try:
                self.known = stage.arrays.take("answers", np.float64, (None, None))
                self.n_asked = int(stage.values["n_asked"])
                black_box.outputs = Outputs.from_dict(stage.values["outputs"])
            except (FormatError, KeyError, TypeError, ValueError) as error:
                raise _wrong_answers(str(error)) from error

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the model's answers."""
        if self.known is None:
            P = self.black_box(frame)
            if self.slot is not None:
                self.answers.append(P)
            return P
        P = self.known[self.used : self.used + len(frame)]
        self.used += len(frame)
        if len(P) < len(frame):
            raise _wrong_answers(f"it holds {len(self.known)} answers, expected {self.used} or more")
        return P

    def save(self) -> None:
        """Write the answers to the checkpoint."""
        if self.known is not None:
            self.black_box.n_asked = self.n_asked
        elif self.slot is not None:
            arrays = ArrayWriter()
            arrays.add("answers", np.concatenate(self.answers))
            outputs = self.black_box.require_outputs().to_dict()
            self.slot.save({"n_asked": self.black_box.n_asked, "outputs": outputs}, arrays)


def _wrong_answers(reason: str) -> CheckpointError:
    return CheckpointError(f"the model's answers in the checkpoint do not match the rows: {reason}")


def ask_once(
    black_box: BlackBox,
    frame: Frame,
    slot: Slot | None = None,
    *,
    check: bool = False,
    noise: Noise | None = None,
) -> FloatArray:
    """Return the answers to all rows, from the checkpoint if it has them.

    With `check`, the model is asked again about a few of these rows, and must answer the same, but for its
    noise. Where several processes fit together, the first one asks for all.
    """

    def ask() -> tuple[FloatArray, int, Outputs | None]:
        asker = Asker(black_box, slot)
        P = asker(frame)
        if check and asker.known is not None:
            _require_same_model(black_box, AnsweredFrame(frame, P), noise)
        asker.save()
        return P, black_box.n_asked, black_box.outputs

    P, black_box.n_asked, black_box.outputs = ranks().from_first(ask)
    return P


def _require_same_model(black_box: BlackBox, known: AnsweredFrame, noise: Noise | None) -> None:
    try:
        some = known.take(evenly_spaced(len(known.frame), CHECKED_ROWS))
        change = compare_answers(black_box, some, noise)
    except BlackBoxError as error:
        raise CheckpointError(f"{error.message}; use another folder, or remove the checkpoint") from error
    if change.n_changed:
        raise CheckpointError(
            f"the model's answers have changed since the checkpoint was made, on {change.n_changed} of "
            f"{change.n_rows} rows, by up to {change.largest:.2g}; use another folder, or remove the "
            f"checkpoint to start again"
        )


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


def prepare(
    source: LoadedRows, settings: Settings, rng: np.random.Generator, stages: Stages | None = None
) -> Prepared:
    """Ask the black box about the rows, divide and encode them."""
    if all(feature.constant for feature in source.schema.features):
        raise SchemaError(NO_COLUMN_VARIES)
    frame, schema = source.frame, source.schema
    features = frame.select(schema.names)
    data = settings.data_options
    black_box = BlackBox(settings.model, data.outputs)
    P, outputs, noise = _ask_model(black_box, frame, stages)
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
    n_queries = _count_queries(training, encoding, black_box, settings, stages)
    n_encoder = min(_encoder_share(n_queries, settings), QUERIES_PER_ROW * len(training))
    queries = AnsweredRows.empty()
    if n_encoder:
        made_up = query_rows(training, encoding, n_encoder, rng)
        with naming_queries():
            answers = ask_once(black_box, made_up, checkpoint_slot(stages, "queries"))
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


def _ask_model(
    black_box: BlackBox, frame: Frame, stages: Stages | None
) -> tuple[FloatArray, Outputs, Noise | None]:
    """Ask about all rows, and about some again; a black box that always answers alike cannot be explained."""
    slot = checkpoint_slot(stages, "noise")
    known = read_noise(slot)
    P = ask_once(black_box, frame, checkpoint_slot(stages, "answers"), check=True, noise=known)
    black_box.outputs = outputs = black_box.require_outputs().fit(P)
    outputs.require_variety(P)
    return P, outputs, check_model(black_box, frame, P, slot)


def _groups(outputs: Outputs, P: FloatArray) -> IntArray:
    """Return a group for each row, to be divided alike: its decision, or of one decision how sure it is."""
    decisions = outputs.strata.decide(P)
    sure = P.max(1)
    return decisions if len(np.unique(decisions)) > 1 else (sure > np.quantile(sure, 0.1)).astype(np.intp)


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

"""All that `fit` learned, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.black_box import BlackBox
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame, NumpyFrame, as_frame, chunks
from illume.data.later import Later
from illume.data.match_dtypes import FrameBuilder, as_plain_rows
from illume.data.outputs import Outputs
from illume.data.questions import Question
from illume.data.row_sources import is_row_source, iter_batches, open_rows
from illume.data.sampling import Split, stratified
from illume.data.schema import Schema, check_names, require_columns
from illume.explanations.boxes import Layout
from illume.explanations.neighbours import Neighbours
from illume.explanations.places import NoveltyDetector, Places
from illume.explanations.plausibility import typical_distance
from illume.explanations.reference import Reference
from illume.explanations.tree_rules import RuleModel
from illume.results.diagnostics import History
from illume.results.dictionary import NO_LABELS, DataDictionary
from illume.results.predictions import Labels
from illume.results.quality import Quality, RuleQuality, SurrogateQuality
from illume.twin.twin import Contributions, Mixing, Pairs, Twin

TYPICAL_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """Encoded rows X (n, m) with the black box's answers P (n, c)."""

    X: FloatArray
    P: FloatArray

    def __len__(self) -> int:
        return len(self.X)

    def __add__(self, others: AnsweredRows) -> AnsweredRows:
        """Return these rows and then others."""
        return AnsweredRows(np.concatenate([self.X, others.X]), np.concatenate([self.P, others.P]))

    @classmethod
    def empty(cls) -> AnsweredRows:
        """Return zero rows."""
        return cls(np.empty((0, 0)), np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class AnsweredFrame:
    """A frame with the black box's answers P (n, c)."""

    frame: Frame
    P: FloatArray

    def take(self, rows: IntArray) -> AnsweredFrame:
        """Return some rows."""
        return AnsweredFrame(self.frame.take(rows), self.P[rows])


@dataclass(frozen=True, eq=False)
class ReportAnswers:
    """Answers to the report rows, (n, c) each: P the black box's, Q the surrogate's, B the global one's."""

    P: FloatArray
    Q: FloatArray
    B: FloatArray


@dataclass(frozen=True, eq=False)
class FitRows:
    """The rows of a fit: training learns, validation chooses, report is reported on, queries are made up.

    The encoder also learns from `mixed` rows, which the model was asked about for Shapley values.
    """

    outputs: Outputs
    training: AnsweredRows
    validation: AnsweredRows
    report: AnsweredRows
    queries: AnsweredRows
    mixed: AnsweredRows = field(default_factory=lambda: AnsweredRows.empty())

    @classmethod
    def split(cls, outputs: Outputs, answered: AnsweredRows, split: Split, queries: AnsweredRows) -> FitRows:
        """Divide answered rows."""
        training, validation, report = (AnsweredRows(answered.X[rows], answered.P[rows]) for rows in split)
        return cls(outputs, training, validation, report, queries)

    @classmethod
    def from_file(cls, outputs: Outputs, training: AnsweredRows, report: Any, polishing: Any) -> FitRows:
        """Return the rows of a file: training rows, and those that rules are measured and polished on.

        Of the latter, those that are no training rows are queries.
        """
        known = {row.tobytes() for row in training.X}
        made_up = np.array([row.tobytes() not in known for row in polishing.X], dtype=bool)
        queries = AnsweredRows(polishing.X[made_up], polishing.P[made_up])
        return cls(outputs, training, AnsweredRows.empty(), AnsweredRows(report.X, report.P), queries)

    @property
    def decided(self) -> FitRows:
        """The same with certain answers, if a threshold decides: trees of rules learn decisions."""
        question = self.outputs.strata
        if question.of_shares == question:
            return self
        certain = np.eye(len(self.outputs))
        names = ("training", "validation", "report", "queries")
        parts = ((name, getattr(self, name)) for name in names)
        rows = {
            name: AnsweredRows(part.X, certain[question.decide(part.P)]) for name, part in parts if len(part)
        }
        return replace(self, outputs=self.outputs.ask(None, None), **rows)

    @property
    def learned(self) -> AnsweredRows:
        """Training rows and queries together."""
        return self.training + self.queries if len(self.queries) else self.training


@dataclass(frozen=True, eq=False)
class Pair:
    """An encoder and the surrogate on its latents."""

    encoder: Any
    surrogate: Any

    def answers(self, X: FloatArray) -> FloatArray:
        """Return the surrogate's answers (n, c)."""
        return self.surrogate.answers(self.encoder.transform(X))

    @property
    def n_latents(self) -> int:
        """Number of latents that the surrogate reads."""
        return int(self.surrogate.coef_.shape[1])

    def neighbours(self, training: AnsweredRows, question: Question, search: str) -> Neighbours:
        """Index the training rows for the search for valid neighbours."""
        Z = self.encoder.transform(training.X)
        return Neighbours.of(training.X, Z, question, (training.P, self.surrogate.answers(Z)), search)

    @property
    def history(self) -> History | None:
        """The encoder's training history, if it has one."""
        return getattr(self.encoder, "history_", None)


@dataclass(frozen=True, eq=False)
class LatentTwin:
    """The latent surrogate as the twin of a model that was neither read nor learned."""

    latents: Later[Latent]
    encoding: Encoding
    outputs: Outputs
    exact: bool = False

    @property
    def base_values(self) -> FloatArray:
        """See `Twin`: the surrogate's score of the average row."""
        return np.asarray(self.latents().pair.surrogate.intercept_)

    def read(self, frame: Frame, encoded: Encoded) -> FloatArray:
        """See `Twin`."""
        return encoded.X

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> FloatArray:
        """See `Twin`."""
        return X

    def scores(self, rows: FloatArray) -> FloatArray:
        """See `Twin`."""
        return self.outputs.scores(self.latents().pair.answers(rows))

    def values(self, rows: FloatArray, P: FloatArray) -> Contributions:
        """See `Twin`; slopes times centred inputs, whose errors are not known."""
        pair = self.latents().pair
        slopes = pair.encoder.pull_back(rows, pair.surrogate.coef_).slopes
        found = np.swapaxes(self.encoding.gather(slopes * rows[:, None]), 1, 2)
        return Contributions(found, np.full(found.shape, np.nan, dtype=np.float32))

    def refine(self, rows: FloatArray, frame: Frame, P: FloatArray, mixing: Mixing) -> Contributions:
        """See `Twin`."""
        return self.values(rows, P)

    def pairs(self, rows: FloatArray, P: FloatArray, most: int | None = None) -> Pairs:
        """See `Twin`."""
        raise ValueError(
            "only Shapley values have interactions; fit with contributions='shapley' and queries"
        )

    def against(self, frame: Frame, encoded: Encoded, P: FloatArray) -> LatentTwin:
        """See `Twin`."""
        raise ValueError(
            "only Shapley values have a background; fit with contributions='shapley' and queries"
        )


@dataclass(frozen=True, eq=False)
class GrownRules:
    """The tree that rules come from, and the quality of its rules."""

    model: RuleModel
    quality: RuleQuality | None


def _grow(fitted: Fitted) -> GrownRules:
    return fitted.grow(fitted)


@dataclass(frozen=True, eq=False)
class TwinBlackBox:
    """The twin in the place of a model that is not there."""

    encoding: Encoding
    outputs: Outputs
    twin: Twin

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the twin's answers (n, c) to a frame's rows."""
        encoded = self.encoding.transform(frame.select(self.encoding.schema.names))
        return self.outputs.answers_of(self.twin.scores(self.twin.read(frame, encoded)))


@dataclass(frozen=True, eq=False)
class Latent:
    """The paper's latent surrogate, and what was measured of it.

    Parameters
    ----------
    pair, local
        The encoder and surrogate that explain; the local ones, even where the global ones are used instead.
    neighbours
        Training rows that explanations are refined towards.
    answers
        The answers that quality was measured on; None in a file without rows.
    """

    pair: Pair
    local: Pair
    neighbours: Neighbours
    answers: ReportAnswers | None
    quality: SurrogateQuality
    history: History | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that `fit` learned, or that a file holds of it.

    Parameters
    ----------
    black_box
        The model; or the twin in its place, in an explainer that was loaded without its model.
    columns, backend
        The columns of the fitted frame and its library, None for NumPy.
    encoding, outputs
        How rows become numbers, and what the model answers.
    missing
        Of which features missing values were seen, (n_features,).
    split, rows
        Which rows were used for what, and the rows themselves; a file holds training rows at most.
    twin
        What stands for the model, and gives contributions.
    background
        The background rows that contributions compare with; None in a file without rows.
    kind
        `shapley` or `pullback`.
    places, reference
        Where the fitted rows lie, to tell which rows are far from all of them; and their distributions.
    pool
        Training rows that counterfactuals take values from.
    queries
        Made-up rows with the model's answers, or those of an exact twin.
    latents, grow, rules
        The latent surrogate, and the tree that rules come from with the quality of its rules: trained when
        they are first asked for, the tree by `grow`.
    report_answers
        The answers of the model and of the twin to report rows, (n, c) each; None where they are not there.
    facts
        The quality of the twin, and how the explainer was fitted.
    dictionary
        What features and their values are called in texts, plots and reports.
    original
        The same for the question of the fit, or of the file, where this one is for another question.
    """

    black_box: BlackBox | TwinBlackBox
    columns: tuple[str, ...]
    backend: str | None
    encoding: Encoding
    outputs: Outputs
    missing: BoolArray
    split: Split
    rows: FitRows
    twin: Twin
    background: AnsweredFrame | None
    kind: str
    places: Later[Places]
    reference: Later[Reference]
    pool: AnsweredFrame | None
    queries: Later[AnsweredRows]
    latents: Later[Latent]
    report_answers: tuple[FloatArray, FloatArray] | None
    grow: Callable[[Fitted], GrownRules]
    facts: Quality
    rules: Later[GrownRules] = None  # type: ignore[assignment]  # grown when asked for, if none is given
    dictionary: DataDictionary = NO_LABELS
    original: Fitted | None = None
    learned: Later[Fitted] | None = None  # where the twin is exact: the same with one that is learned

    def __post_init__(self) -> None:
        """Let rules be grown when they are asked for."""
        if self.rules is None:
            object.__setattr__(self, "rules", Later(partial(_grow, self)))

    @property
    def pair(self) -> Pair:
        """The latent surrogate: encoder and linear model."""
        return self.latents().pair

    @property
    def local(self) -> Pair:
        """The local latent surrogate, even where the global one explains."""
        return self.latents().local

    @property
    def neighbours(self) -> Neighbours:
        """Training rows that explanations of the latent surrogate are refined towards."""
        return self.latents().neighbours

    @property
    def rule_model(self) -> RuleModel:
        """The tree that rules come from, and the rows that they are measured on."""
        return self.rules().model

    @property
    def rule_quality(self) -> RuleQuality | None:
        """The quality of rules, once they are there."""
        return self.rules().quality if self.rules.ready else None

    @property
    def quality(self) -> Quality:
        """The quality of all that is there."""
        latent = self.latents() if self.latents.ready else None
        interrupted = self.facts.interrupted or bool(latent and getattr(latent.history, "interrupted", False))
        surrogate = None if latent is None else latent.quality
        return replace(self.facts, surrogate=surrogate, dictionary=self.dictionary, interrupted=interrupted)

    @property
    def schema(self) -> Schema:
        """The features."""
        return self.encoding.schema

    @property
    def labels(self) -> Labels:
        """The names of features, inputs and classes."""
        encoding = self.encoding
        return Labels(
            features=encoding.schema.names,
            inputs=encoding.input_names,
            outputs=self.outputs,
            owner=encoding.owner,
            unit=encoding.scale,
            dictionary=self.dictionary,
        )

    @property
    def typical_rows(self) -> FloatArray:
        """Training rows that tell how plausible changed rows are."""
        training = self.rows.training
        return training.X[stratified(self.outputs.strata.decide(training.P), TYPICAL_ROWS)]

    @cached_property
    def typical_distance(self) -> float:
        """How far training rows usually are from the nearest other one."""
        return typical_distance(self.typical_rows, Layout.of(self.encoding))

    @property
    def usual_square(self) -> float:
        """The mean square of contributions of held-out rows, over all features; 0 where it is not known."""
        found = self.facts.contributions
        share = len(found.features) / len(self.schema) if found else 0.0
        return found.usual_square * share if found else 0.0

    @property
    def has_model(self) -> bool:
        """Whether the model itself can be asked."""
        return not isinstance(self.black_box, TwinBlackBox)

    @property
    def novelty_detector(self) -> NoveltyDetector:
        """The detector of rows that are unlike the fitted ones."""
        return NoveltyDetector(self.labels.feature_labels, self.missing, self.places())

    @property
    def dtypes(self) -> FrameBuilder:
        """What makes frames with the columns and types of the fitted one."""
        return FrameBuilder(self.columns, self.backend, None if self.pool is None else self.pool.frame)

    def with_unknown(self, unknown: Any) -> Fitted:
        """Return the same, with another treatment of unknown categories."""
        if unknown == self.encoding.unknown:
            return self
        encoding = replace(self.encoding, unknown=unknown)
        black_box = self.black_box
        if isinstance(black_box, TwinBlackBox):
            black_box = replace(black_box, encoding=encoding)
        return replace(self, encoding=encoding, black_box=black_box)

    def with_labels(self, dictionary: DataDictionary) -> Fitted:
        """Return the same, with other labels of features and values."""
        if dictionary == self.dictionary:
            return self
        return replace(self, dictionary=dictionary)

    def towards(self, positive_class: Any) -> Fitted:
        """Return the same, with explanations for another class; decisions stay as they are."""
        return replace(self, outputs=self.outputs.towards(positive_class))

    @property
    def monotony(self) -> str:
        """What there is to say if the model decides alike for all rows; empty if it does not."""
        parts = (self.rows.training.P, self.rows.validation.P, self.rows.report.P)
        known = [P for P in parts if len(P)]
        return self.outputs.describe_monotony(np.concatenate(known)) if known else ""

    def as_frame(self, X: Any) -> Frame:
        """Return the user's rows as a frame with the fitted columns, in their order.

        A dict or a Series is one row, and a list of them is several.
        """
        rows = as_plain_rows(X)
        if rows is not None:
            return self.dtypes.from_rows(rows)
        frame = require_columns(as_frame(X), self.columns)
        if self.backend is not None and isinstance(frame, NumpyFrame):
            return self.dtypes.from_array(frame)  # the model was fitted on frames and knows columns by name
        return frame

    def open_source(self, X: Any) -> tuple[Any, Any]:
        """Return a source with the fitted columns, and a frame with the types that its rows should have."""
        source = open_rows(X)
        check_names(source.names, self.columns)
        like = None if self.pool is None or self.backend != "pandas" else self.pool.frame.native
        return source, like

    def iter_rows(self, X: Any, n_rows: int) -> Iterator[Any]:
        """Yield the user's rows piece by piece, in the library that the explainer was fitted with."""
        if not is_row_source(X):
            for _, piece in chunks(self.as_frame(X), n_rows):
                yield piece.native
            return
        source, like = self.open_source(X)
        yield from iter_batches(source, self.columns, n_rows, backend=self.backend or "numpy", like=like)

    def encode(self, frame: Frame) -> Encoded:
        """Return a frame's rows as numbers."""
        return self.encoding.transform(frame.select(self.schema.names))

    def row_values(self, frame: Frame) -> np.ndarray[Any, Any]:
        """Return the rows' values (n, n_features): the array itself where it is one of numbers."""
        names, numeric = self.schema.names, self.encoding.numeric
        if numeric.all() and isinstance(frame, NumpyFrame) and frame.array.dtype == np.float64:
            return frame.select(names).array
        data = np.empty((len(frame), len(names)), dtype=float if numeric.all() else object, order="F")
        block = frame.block([names[j] for j in np.flatnonzero(numeric)]) if numeric.any() else None
        if block is not None:
            data[:, numeric] = block.astype(np.float64, copy=False)
        for j in range(len(names)) if block is None else np.flatnonzero(~numeric):
            data[:, j] = frame.numbers(names[j]) if numeric[j] else frame.labels(names[j])
        return data

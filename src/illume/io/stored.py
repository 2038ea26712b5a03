"""What a file holds of a fitted explainer, as frozen values of numbers, texts and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.outputs import Outputs
from illume.data.schema import Schema
from illume.encoders.base import Head, IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder
from illume.encoders.forward import SoftBins
from illume.errors import SaveError
from illume.explanations.boxes import Layout
from illume.explanations.fitted import AnsweredFrame, ReportAnswers
from illume.explanations.places import Places
from illume.explanations.reference import Reference
from illume.explanations.rule_sample import Sample
from illume.explanations.tree_rules import PrecisionCurve
from illume.results.diagnostics import History
from illume.results.dictionary import DataDictionary
from illume.results.quality import Quality, RuleQuality, SurrogateQuality
from illume.surrogates.base import (
    FittedWeights,
    HeadSurrogate,
    LinearAdapter,
    LinearRegressionSurrogate,
    LogisticSurrogate,
)
from illume.surrogates.tree import DecisionTreeSurrogate, RegressionTreeSurrogate, TreeNodes
from illume.twin.exact import ExactTwin, Trees, TreeValues
from illume.twin.forest import Deep, ForestValues
from illume.twin.learned import LearnedTwin
from illume.twin.network_arrays import Codes
from illume.twin.read_linear import Linear, LinearValues

ENCODERS = (MetaEncoder, LinearEncoder, IdentityEncoder)
LINEAR = (FittedWeights, HeadSurrogate, LinearAdapter, LinearRegressionSurrogate, LogisticSurrogate)
TREES = (DecisionTreeSurrogate, RegressionTreeSurrogate, TreeNodes)
NO_CATEGORY = -1


def require_ours(value: Any, kinds: tuple[type[Any], ...], what: str, held: str) -> None:
    """Raise `SaveError` unless a part is of a kind that a file holds."""
    if type(value) not in kinds:
        raise SaveError(
            f"{what} {type(value).__name__} cannot be saved, because loading runs no code of others; a file "
            f"holds {held}"
        )


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Encoded rows with the model's answers P (n, c): numbers as they are, one code for each category."""

    numbers: FloatArray
    codes: IntArray
    P: FloatArray

    @classmethod
    def of(cls, encoding: Encoding, X: FloatArray, P: FloatArray) -> StoredRows:
        """Take encoded rows X (n, m) apart."""
        layout = Layout.of(encoding)
        own = layout.own(X)
        codes = np.full((len(X), len(layout.categorical)), NO_CATEGORY, dtype=np.int32)
        for f, inputs in enumerate(layout.categorical):
            has = own[:, inputs]
            codes[:, f] = np.where(has.any(1), has.argmax(1), NO_CATEGORY)
        found = cls(np.ascontiguousarray(X[:, layout.numbers]), codes, P)
        if not np.array_equal(found.encoded(encoding), X):
            raise SaveError("rows are not as the encoding makes them; fit again before saving")
        return found

    def __len__(self) -> int:
        return len(self.numbers)

    def encoded(self, encoding: Encoding) -> FloatArray:
        """Return the rows X (n, m), with the same bits as they were stored."""
        layout, X = Layout.of(encoding), np.empty((len(self), encoding.n_inputs))
        X[:, layout.numbers] = self.numbers
        for f, inputs in enumerate(layout.categorical):
            block = (self.codes[:, [f]] == np.arange(inputs.stop - inputs.start)).astype(np.float64)
            X[:, inputs] = (block - encoding.mean[inputs]) / encoding.scale[inputs]
        return X

    def sample(self, encoding: Encoding, outputs: Outputs) -> Sample:
        """Return the rows as those that rules are chosen or measured on."""
        return Sample(Layout.of(encoding), self.encoded(encoding), self.P, outputs.strata)


@dataclass(frozen=True, eq=False)
class StoredTables:
    """The tables of a forest: those of branches one after another, and patterns of leaves without one."""

    flat: FloatArray
    base: FloatArray
    patterns: tuple[IntArray, ...]
    shares: tuple[FloatArray, ...]

    @classmethod
    def of(cls, values: ForestValues) -> StoredTables:
        """Take the tables out."""
        patterns = tuple(deep.patterns.astype(np.int64) for deep in values.deep)
        return cls(values.flat, values.base, patterns, tuple(deep.shares for deep in values.deep))

    def values(self, trees: Trees) -> TreeValues:
        """Put the tables back."""
        found = ForestValues(trees.forest, None)
        shapes = found.flat.shape, found.base.shape, len(found.large)
        if shapes != (self.flat.shape, self.base.shape, len(self.patterns)):
            raise ValueError("the tables are not those of the trees")
        found.flat[:], found.base[:] = self.flat, self.base
        found.deep = [Deep(*pair) for pair in zip(self.patterns, self.shares, strict=True)]
        return TreeValues(trees, found, None)


@dataclass(frozen=True, eq=False)
class StoredExact:
    """A sum that was read: of trees with background rows or, without rows, tables; of terms with means."""

    parts: Trees | Linear
    centred: bool
    background: IntArray | None
    tables: StoredTables | None
    mean: FloatArray | None

    @classmethod
    def of(cls, twin: ExactTwin, rows: bool) -> StoredExact:
        """Take an exact twin apart."""
        parts: Any = twin.parts  # there is no other sum
        if isinstance(parts, Linear):
            return cls(parts, twin.centred, None, None, twin.against_background.mean)  # type: ignore[attr-defined]
        if rows and twin.background is not None:
            return cls(parts, twin.centred, twin.background, None, None)
        tables = StoredTables.of(twin.against_background.values)  # type: ignore[attr-defined]
        return cls(parts, twin.centred, None, tables, None)

    def twin(self) -> ExactTwin:
        """Return the twin."""
        stored: TreeValues | LinearValues | None = None
        if isinstance(self.parts, Linear):
            if self.mean is None:
                raise ValueError("a linear twin needs the means of its terms")
            stored = LinearValues(self.parts, self.mean)
        elif self.tables is not None:
            stored = self.tables.values(self.parts)
        elif self.background is None:
            raise ValueError("trees need background rows or tables")
        return ExactTwin(self.parts, self.centred, None if stored else self.background, stored)


def without_rows(twin: LearnedTwin) -> LearnedTwin:
    """Return a twin without its background rows."""
    m = twin.model.coding.n_features
    return LearnedTwin(twin.model, Codes(np.empty((0, m), np.int32), np.empty((0, m), np.float32)))


@dataclass(frozen=True, eq=False)
class StoredEncoder:
    """A fitted encoder: its parameters and weights."""

    encoder: MetaEncoder | LinearEncoder | IdentityEncoder
    weights: dict[str, FloatArray]
    alpha: int
    head: Head | None
    bins: SoftBins

    @classmethod
    def of(cls, encoder: Any) -> StoredEncoder:
        """Take an encoder apart."""
        require_ours(encoder, ENCODERS, "an encoder", "MetaEncoder, LinearEncoder and IdentityEncoder")
        if isinstance(encoder, IdentityEncoder):
            return cls(encoder, {}, encoder.n_features_in_, None, SoftBins.none())
        return cls(encoder, encoder.weights_, int(encoder.alpha_), encoder.head_, encoder.bins_)

    def fitted(self, n_inputs: int) -> Any:
        """Return the encoder with its weights."""
        if not isinstance(self.encoder, IdentityEncoder):
            return self.encoder.set_weights(self.weights, n_inputs, self.alpha, self.head, self.bins)
        self.encoder.n_features_in_ = n_inputs
        return self.encoder

    def n_latents(self, n_inputs: int) -> int:
        """Return how many latents it has."""
        return n_inputs if isinstance(self.encoder, IdentityEncoder) else int(self.encoder.n_latents)


@dataclass(frozen=True, eq=False)
class StoredNear:
    """Of the training rows: which are valid neighbours, and their latents, unless these are the inputs."""

    alike: BoolArray
    Z: FloatArray | None


@dataclass(frozen=True, eq=False)
class StoredLatent:
    """The latent surrogate; `near` and `answers` only beside rows."""

    encoder: StoredEncoder
    coef: FloatArray
    intercept: FloatArray
    quality: SurrogateQuality
    history: History | None
    near: StoredNear | None
    answers: ReportAnswers | None


@dataclass(frozen=True, eq=False)
class StoredIntervals:
    """The intervals that rules about numbers end in."""

    typical: FloatArray
    margins: FloatArray
    sample: StoredRows | None


@dataclass(frozen=True, eq=False)
class StoredRules:
    """The tree of the rules, with an encoder unless it shares that of the latent surrogate."""

    encoder: StoredEncoder | None
    tree: TreeNodes
    answers: FloatArray
    spread: FloatArray
    support: FloatArray
    curve: PrecisionCurve
    source: str
    reason: str
    quality: RuleQuality
    intervals: StoredIntervals | None
    near: StoredNear | None
    polishing: StoredRows | None
    known: StoredRows | None


@dataclass(frozen=True, eq=False)
class HeldRows:
    """The rows in a file: `position` (n,) says which fitted rows the training rows are."""

    training: StoredRows
    position: IntArray
    report: StoredRows
    places: Places
    pool: AnsweredFrame
    background: AnsweredFrame | None
    report_answers: tuple[FloatArray, FloatArray] | None


@dataclass(frozen=True, eq=False)
class Stored:
    """All that a file holds.

    `twin` is None where the latent surrogate is all there is, `latent` and `rules` where they were not
    trained, and `rows` in a file without rows.
    """

    libraries: dict[str, str]
    settings: dict[str, Any]
    schema: Schema
    outputs: Outputs
    encoding: Encoding
    columns: tuple[str, ...]
    backend: str | None
    missing: BoolArray
    kind: str
    facts: Quality
    dictionary: DataDictionary
    reference: Reference
    twin: StoredExact | LearnedTwin | None
    latent: StoredLatent | None
    rules: StoredRules | None
    rows: HeldRows | None

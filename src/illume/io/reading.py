"""The parts of an explainer, read from one file and checked; a file holds no code that could run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data import archive
from illume.data.archive import Archive
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader
from illume.data.stored_frames import read_frame
from illume.data.typed_json import expect, expect_fields, read
from illume.encoders.linear import IdentityEncoder
from illume.errors import FormatError, IllumeError, MissingExtraError
from illume.explanations.fitted import AnsweredFrame, AnsweredRows, Pair, Trial
from illume.explanations.neighbours import SEARCHES, Neighbours
from illume.explanations.options import SurrogateOptions
from illume.explanations.reference import Reference
from illume.explanations.rule_model import RuleModel
from illume.explanations.trust_map import TrustMap
from illume.io import parts
from illume.io.encoders import read_encoder
from illume.io.reference import read_reference
from illume.io.saving import BACKGROUND, MODEL, POOL, ROWS, WORDS
from illume.io.settings import read_settings
from illume.io.shapley import read_background, read_shapley
from illume.io.surrogates import read_tree, read_weights
from illume.results.history import History
from illume.results.quality import Quality, RuleQuality
from illume.shapley.shapley_model import ShapleyModel

NAMES = (
    *("backend", "classes", "columns", "encoders", "format", "history", "libraries", "members", "missing"),
    *("quality", "reference", "rows", "rules", "schema", "settings", "shapley", "transposed", "trials"),
    *("trust", "unknown", "version"),
)
BACKENDS = (None, "pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Stored:
    """All that a file holds of an explainer, in the explainer's own terms."""

    settings: dict[str, Any]
    schema: Schema
    columns: tuple[str, ...]
    backend: str | None
    class_names: tuple[str, ...]
    missing: BoolArray
    encoding: Encoding
    pair: Pair
    quality: Quality
    history: History | None
    trials: tuple[Trial, ...]
    training: AnsweredRows
    position: IntArray
    neighbours: Neighbours
    trust_map: TrustMap
    reference: Reference
    pool_frame: Frame | None
    pool_answers: FloatArray
    rule_model: RuleModel | None
    rule_quality: RuleQuality | None
    missing_words: tuple[str, ...] | None
    shapley: ShapleyModel | None
    background: AnsweredFrame | None


def load(path: str | os.PathLike[str], known: Mapping[str, Any]) -> Stored:
    """Read a file; `known` are the settings that an explainer has. Whatever is wrong is a `FormatError`."""
    found = archive.read(path)
    try:
        with np.errstate(over="raise", invalid="raise"):  # numbers that no fit ever made
            return _Reading(found).stored(known)
    except FormatError as error:
        raise FormatError(f"{os.path.basename(path)}: {error}") from error
    except MissingExtraError:
        raise
    except IllumeError as error:
        raise FormatError(
            f"{os.path.basename(path)}: what the file holds does not fit together ({error})"
        ) from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        MemoryError,
        RuntimeError,
    ) as error:
        raise FormatError(
            f"{os.path.basename(path)}: what the file holds does not fit together ({error})"
        ) from error


class _Reading:
    """One file on its way to parts."""

    def __init__(self, found: Archive) -> None:
        known = (MODEL, ROWS, POOL, BACKGROUND)
        if not {MODEL} <= set(found.members) <= set(known):
            raise FormatError(f"the members are {sorted(found.members)}, expected {', '.join(known)}")
        names = (*NAMES, WORDS) if WORDS in found.manifest else NAMES
        self.head = dict(zip(names, expect_fields(found.manifest, names, "manifest"), strict=True))
        transposed = read(dict[str, tuple[str, ...]], self.head["transposed"], "transposed")
        self.model = ArrayReader.from_bytes(found.members[MODEL], transposed.get(MODEL, ()), MODEL)
        self.has_rows = ROWS in found.members
        self.pool = self.background = None
        if self.has_rows:
            self.rows = ArrayReader.from_bytes(found.members[ROWS], transposed.get(ROWS, ()), ROWS)
            self.pool = archive.parse_json(found.members.get(POOL, b""), POOL)
            if self.head["shapley"] is not None:
                self.background = archive.parse_json(found.members.get(BACKGROUND, b""), BACKGROUND)
        else:
            self.rows = ArrayReader({}, ROWS)
        read(dict[str, str], self.head["libraries"], "libraries")
        self.schema = _schema(self.head["schema"])
        self.classes = read(tuple[str, ...], self.head["classes"], "classes")
        if len(self.classes) < 2:
            raise FormatError(f"there are {len(self.classes)} classes, expected two or more")
        self.columns = read(tuple[str, ...], self.head["columns"], "columns")
        if not set(self.schema.names) <= set(self.columns) or len(set(self.columns)) < len(self.columns):
            raise FormatError("the columns are not those of the schema")
        if self.head["backend"] not in BACKENDS:
            raise FormatError(f"backend is {self.head['backend']!r}, expected one of {BACKENDS}")
        self.encoding = parts.read_encoding(self.schema, self.model, self.head["unknown"])
        encoders = expect(list, self.head["encoders"], "encoders")
        self.encoders = [
            read_encoder(values, self.model, f"encoder.{i}", self.encoding.n_inputs)
            for i, values in enumerate(encoders)
        ]
        if not 1 <= len(self.encoders) <= 2:
            raise FormatError(f"there are {len(self.encoders)} encoders, expected one or two")

    def stored(self, known: Mapping[str, Any]) -> Stored:
        """Return all parts, once every array has been used."""
        settings = read_settings(self.head["settings"], known, "settings")
        options = settings.get("surrogate_options", SurrogateOptions())
        if not isinstance(options, SurrogateOptions):
            raise FormatError("settings.surrogate_options is not of that kind")
        search = options.search
        if search not in SEARCHES:
            raise FormatError(f"settings.search is {search!r}, expected one of {SEARCHES}")
        c = len(self.classes)
        pair = Pair(self.encoders[0], read_weights(self.model, c, self._n_latents(self.encoders[0])))
        training = self._training()
        pool_frame, answers = self._pool()
        missing = read(tuple[bool, ...], self.head["missing"], "missing")
        if len(missing) != len(self.schema):
            raise FormatError(f"missing has {len(missing)} entries, expected {len(self.schema)}")
        rules, rule_quality = self._rules(training.rows, search)
        trust_map = parts.read_trust(self.head["trust"], self.rows, self.encoding.n_inputs)
        found = Stored(
            settings=settings,
            schema=self.schema,
            columns=self.columns,
            backend=self.head["backend"],
            class_names=self.classes,
            missing=np.array(missing, dtype=bool),
            encoding=self.encoding,
            pair=pair,
            quality=read(Quality, self.head["quality"], "quality"),
            history=read(History | None, self.head["history"], "history"),
            trials=read(tuple[Trial, ...], self.head["trials"], "trials"),
            training=training.rows,
            position=training.position,
            neighbours=self._neighbours("pair", pair.encoder, training.rows, search),
            trust_map=trust_map,
            reference=read_reference(self.head["reference"], self.schema, self.model, self.rows),
            pool_frame=pool_frame,
            pool_answers=answers,
            rule_model=rules,
            rule_quality=rule_quality,
            missing_words=read(tuple[str, ...] | None, self.head.get(WORDS), WORDS),
            shapley=read_shapley(self.head["shapley"], self.model, self.encoding, c),
            background=self._background(),
        )
        self.model.finish()
        self.rows.finish()
        return found

    def _n_latents(self, encoder: Any) -> int:
        return self.encoding.n_inputs if isinstance(encoder, IdentityEncoder) else int(encoder.n_latents)

    def _training(self) -> parts.Training:
        held, of = (
            expect(int, each, "rows") for each in expect_fields(self.head["rows"], ("held", "of"), "rows")
        )
        if not self.has_rows:
            nothing = AnsweredRows(np.empty((0, self.encoding.n_inputs)), np.empty((0, len(self.classes))))
            training = parts.Training(nothing, np.empty(0, dtype=np.int64))
        else:
            training = parts.read_training(self.rows, self.encoding, len(self.classes))
        if len(training.rows) != held or not held <= of:
            raise FormatError(f"the file holds {len(training.rows)} rows, expected {held} of {of}")
        return training

    def _pool(self) -> tuple[Frame | None, FloatArray]:
        if not self.has_rows:
            return None, np.empty((0, len(self.classes)))
        frame = read_frame(self.pool, self.rows, self.columns)
        answers = parts.probabilities(self.rows, "pool.answers", (len(frame), len(self.classes)))
        self.encoding.transform(frame.select(self.schema.names))  # what cannot be encoded is refused here
        return frame, answers

    def _background(self) -> AnsweredFrame | None:
        if self.background is None:
            return None
        c = len(self.classes)
        return read_background(self.background, self.rows, self.columns, self.encoding, c)

    def _neighbours(self, name: str, encoder: Any, training: AnsweredRows, search: str) -> Neighbours:
        k = self._n_latents(encoder)
        if not self.has_rows:
            return parts.no_neighbours(self.encoding.n_inputs, k, len(self.classes))
        valid = self.rows.take(f"{name}.valid", bool, (len(training),))
        identity = isinstance(encoder, IdentityEncoder)
        Z = training.X if identity else self.rows.take(f"{name}.latents", np.float64, (len(training), k))
        return parts.read_neighbours(training, Z, valid, search)

    def _rules(self, training: AnsweredRows, search: str) -> tuple[RuleModel | None, RuleQuality | None]:
        if self.head["rules"] is None:
            return None, None
        names = ("encoder", "source", "reason", "quality")
        which, source, reason, quality = expect_fields(self.head["rules"], names, "rules")
        if expect(int, which, "rules.encoder") not in range(len(self.encoders)):
            raise FormatError(f"rules.encoder is {which}, and there are {len(self.encoders)} encoders")
        encoder, c = self.encoders[which], len(self.classes)
        tree = read_tree(self.model, c, self._n_latents(encoder))
        decisions = self.model.positions("tree.decisions", (len(tree.feature_),), 0, c)
        neighbours = self._neighbours("rules", encoder, training, search)
        model = RuleModel(
            rules=parts.read_tree_rules(encoder, tree, decisions, neighbours, self.encoding),
            bins=parts.read_bins(parts.read_sample(self.rows, "polishing", self.encoding, c)),
            report=parts.read_sample(self.rows, "report", self.encoding, c),
            curve=parts.read_curve(self.model),
            source=expect(str, source, "rules.source"),
            reason=expect(str, reason, "rules.reason"),
        )
        return model, read(RuleQuality, quality, "rules.quality")


def _schema(values: Any) -> Schema:
    schema: Schema = read(Schema, values, "schema")
    names = schema.names
    if not names or len(set(names)) < len(names):
        raise FormatError("the schema must name every feature once")
    for feature in schema.features:
        if len(set(feature.categories)) < len(feature.categories):
            raise FormatError(f"feature {feature.name!r} has a category twice")
    return schema

"""Loading a fitted explainer from a file; all of it is checked, and nothing in it is run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data import archive
from illume.data.black_box import BlackBox
from illume.data.encoding import Encoding
from illume.data.later import Later
from illume.data.sampling import Split, stratified
from illume.data.stored_arrays import ArrayReader
from illume.data.stored_frames import read_frame
from illume.data.typed_json import read
from illume.encoders.base import IdentityEncoder
from illume.errors import BlackBoxError, FormatError, LeftOutError, MissingExtraError, ModelChangedWarning
from illume.explanations.boxes import Layout, LeafBoxes
from illume.explanations.compare_answers import compare_answers
from illume.explanations.fitted import (
    AnsweredFrame,
    AnsweredRows,
    FitRows,
    Fitted,
    GrownRules,
    Latent,
    LatentTwin,
    Pair,
    TwinBlackBox,
)
from illume.explanations.neighbours import SEARCHES, Neighbours
from illume.explanations.options import OPTION_TYPES
from illume.explanations.rule_intervals import LEVELS, NARROWEST, IntervalModel
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.tree_rules import PrecisionCurve, RuleModel, TreeRules
from illume.io import fitted_parts as parts
from illume.io.save_explainer import (
    AS_THEY_ARE,
    BACKGROUND,
    MODEL,
    POOL,
    ROWS,
    LatentEntry,
    Manifest,
    RulesEntry,
)
from illume.io.settings import read_settings
from illume.io.twin_parts import read_twin

BACKENDS = (None, "pandas", "polars", "pyarrow")
CHECKED_ROWS = 256


def read_explainer(
    path: str | os.PathLike[str], known: Iterable[str], max_bytes: float | None = None
) -> tuple[dict[str, Any], Fitted]:
    """Return the parameters and all that was learned, with the surrogate in the place of the model.

    `known` are the names of parameters. Whatever is wrong with the file is a `FormatError`, and so is a file
    that would take more memory than `max_bytes`.
    """
    found = archive.read(path, max_bytes)
    try:
        with np.errstate(over="raise", invalid="raise"):  # no fit makes such numbers
            return _Reader(found, known).read()
    except MissingExtraError:
        raise
    except FormatError as error:
        raise FormatError(f"{os.path.basename(path)}: {error}") from error
    except Exception as error:
        raise FormatError(f"{os.path.basename(path)}: the parts do not fit together ({error})") from error


def attach_model(fitted: Fitted, model: Any) -> Fitted:
    """Return the same with a model; warn if it does not answer stored rows as the fitted one did."""
    black_box = BlackBox(model, outputs=fitted.outputs)
    attached = replace(fitted, black_box=black_box)
    if fitted.pool is None:
        return attached
    some = fitted.pool.take(stratified(fitted.outputs.strata.decide(fitted.pool.P), CHECKED_ROWS))
    try:
        change = compare_answers(black_box, some, fitted.facts.noise)
    except BlackBoxError as error:  # about rows of the file, not the user's
        raise BlackBoxError(
            f"asked about {len(some.P)} rows of the file, which the model that was explained has answered, "
            f"{error.message}"
        ) from error.__cause__
    finally:
        black_box.n_asked = 0
    if change.n_changed:
        warnings.warn(
            f"this model is not the one that was explained: on {change.n_changed} of {change.n_rows} "
            f"stored rows its answers differ, by up to {change.largest:.2g}, and {change.n_decisions} "
            f"are clearly different; fit an explainer of the new model",
            ModelChangedWarning,
            stacklevel=3,
        )
    return attached


class _Reader:
    """Reads the parts of one file."""

    def __init__(self, found: archive.Archive, known: Iterable[str]) -> None:
        self.members, self.budget = found.members, found.budget
        optional = {ROWS, f"{POOL}.json", f"{BACKGROUND}.json"}
        if not {MODEL} <= set(self.members) <= {MODEL, *optional}:
            raise FormatError(
                f"the members are {sorted(self.members)}, expected {sorted({MODEL, *optional})}"
            )
        own = {name: found.manifest[name] for name in found.manifest if name not in archive.FIELDS}
        self.head: Manifest = read(Manifest, own, "manifest")
        self.settings = read_settings(self.head.settings, known, "settings")
        self.has_rows, self.c = ROWS in self.members, len(self.head.outputs)
        self.model = self._arrays(MODEL)
        self.rows = self._arrays(ROWS) if self.has_rows else ArrayReader({}, ROWS, self.budget)
        self._require_sound()
        self.encoding: Encoding = parts.read_encoding(self.head.schema, self.model, self.head.unknown)
        self.encoders = [
            parts.read_encoder(entry, self.model, f"encoder.{i}", self.encoding.n_inputs)
            for i, entry in enumerate(self.head.encoders)
        ]

    def _arrays(self, name: str) -> ArrayReader:
        transposed = self.head.transposed.get(name, ())
        return ArrayReader.from_bytes(self.members[name], transposed, name, self.budget)

    def _require_sound(self) -> None:
        """Check the values of the manifest that types say nothing about."""
        head, names = self.head, self.head.schema.names
        options = {name: self.settings.get(name, kind()) for name, kind in OPTION_TYPES.items()}
        wrong = [name for name, kind in OPTION_TYPES.items() if type(options[name]) is not kind]
        twice = [
            each.name for each in head.schema.features if len(set(each.categories)) < len(each.categories)
        ]
        columns = set(head.columns)
        for sound, message in (
            (names and len(set(names)) == len(names), "the schema must name every feature once"),
            (not twice, f"features {twice[:5]} have a category twice"),
            (
                set(names) <= columns and len(columns) == len(head.columns),
                "the columns are not those of the schema",
            ),
            (head.backend in BACKENDS, f"backend is {head.backend!r}, expected one of {BACKENDS}"),
            (len(head.missing) == len(names), f"missing has {len(head.missing)} entries, not {len(names)}"),
            (set(head.dictionary.columns) <= set(names), "the dictionary labels what is no feature"),
            (len(head.encoders) <= 2, f"there are {len(head.encoders)} encoders, expected at most two"),
            (bool(head.encoders) == (head.latent is not None), "encoders and latent do not go together"),
            (head.rules is None or head.latent is not None, "there are rules without a latent surrogate"),
            (head.kind in ("shapley", "pullback"), f"kind is {head.kind!r}"),
            (head.latent is not None or head.twin.kind != "latent", "there is no twin"),
            (not wrong, f"settings.{wrong[:1]} is of a wrong kind"),
        ):
            if not sound:
                raise FormatError(message)
        self.search = options["surrogate_options"].search
        if self.search not in SEARCHES:
            raise FormatError(f"settings.search is {self.search!r}, expected one of {SEARCHES}")

    def read(self) -> tuple[dict[str, Any], Fitted]:
        """Return the parameters and all that was learned, once every array has been used."""
        head, none = self.head, np.empty(0, dtype=np.intp)
        training, position = self._training()
        report, polishing = self._sample("report"), self._sample("polishing")
        background = self._frame(BACKGROUND) if f"{BACKGROUND}.json" in self.members else None
        latent = Later.known(self._latent(training)) if head.latent is not None else Later(_no_latents)
        twin = read_twin(head.twin, self.model, self.encoding, head.outputs, background)
        twin = twin or LatentTwin(latent, self.encoding, head.outputs)
        rules = None
        if head.rules is not None:
            rules = GrownRules(self._rule_model(head.rules, training, report, polishing), head.rules.quality)
        fitted = Fitted(
            black_box=TwinBlackBox(self.encoding, head.outputs, twin),
            encoding=self.encoding,
            outputs=head.outputs,
            missing=np.array(head.missing, dtype=bool),
            split=Split(position, none, none),
            rows=FitRows.from_file(head.outputs, training, report=report, polishing=polishing),
            twin=twin,
            background=background,
            kind=head.kind,
            places=Later.known(parts.read_places(self.rows, self.encoding.n_inputs)),
            reference=Later.known(parts.read_reference(head.reference, head.schema, self.model)),
            pool=self._frame(POOL) if self.has_rows else None,
            queries=Later.known(AnsweredRows.empty()),
            latents=latent,
            rules=None if rules is None else Later.known(rules),  # type: ignore[arg-type]
            grow=_no_rules,
            report_answers=parts.read_pair(self.rows, "twin", head.outputs),
            **{name: getattr(head, name) for name in AS_THEY_ARE},
        )
        self.model.finish()
        self.rows.finish()
        return self.settings, fitted

    def _latent(self, training: AnsweredRows) -> Latent:
        outputs, encoder = self.head.outputs, self.encoders[0]
        entry = cast(LatentEntry, self.head.latent)
        pair = Pair(encoder, parts.read_weights(self.model, outputs, _n_latents(encoder)))
        answers = parts.read_report_answers(self.rows, outputs)
        neighbours = self._neighbours("pair", encoder, training)
        return Latent(pair, pair, neighbours, answers, entry.quality, entry.history)

    def _training(self) -> tuple[AnsweredRows, IntArray]:
        X: FloatArray = np.empty((0, self.encoding.n_inputs))
        P: FloatArray = np.empty((0, self.c))
        position: IntArray = np.empty(0, dtype=np.int64)
        if self.has_rows:
            X = parts.read_rows(self.rows, "training", self.encoding)
            P = parts.read_answers(self.rows, "training.answers", len(X), self.head.outputs)
            position = self.rows.positions("training.position", (len(X),), 0, 2**62)
        held, of = self.head.rows["held"], self.head.rows["of"]
        if len(X) != held or not held <= of:
            raise FormatError(f"the file holds {len(X)} rows, expected {held} of {of}")
        return AnsweredRows(X, P), position

    def _frame(self, name: str) -> AnsweredFrame:
        values = archive.parse_json(self.members.get(f"{name}.json", b""), f"{name}.json", self.budget)
        frame = read_frame(values, self.rows, self.head.columns, name)
        self.rows.require(len(frame) > 0, f"there are no {name} rows")
        self._spend(name, 2, len(frame), "rows", self.encoding.n_inputs, "inputs")
        self.encoding.transform(frame.select(self.head.schema.names))  # raises if it cannot be encoded
        P = parts.read_answers(self.rows, f"{name}.answers", len(frame), self.head.outputs)
        return AnsweredFrame(frame, P)

    def _spend(self, name: str, copies: int, *shape: Any) -> None:
        """Count copies of an array of float64 before it is made; `shape` is in numbers and words."""
        n, rows, m, columns = shape
        self.budget.spend(copies * 8 * n * m, f"{name}: {n:,} {rows} × {m:,} {columns}")

    def _neighbours(self, name: str, encoder: Any, training: AnsweredRows) -> Neighbours:
        X, P = training.X, training.P
        self._spend(name, 3, len(X), "rows", _n_latents(encoder), "latents")
        Z: FloatArray = np.empty((0, _n_latents(encoder)))
        valid = self.rows.take(f"{name}.valid", bool, (len(X),)) if self.has_rows else np.zeros(0, dtype=bool)
        if isinstance(encoder, IdentityEncoder):
            Z = X
        elif self.has_rows:
            Z = self.rows.take(f"{name}.latents", np.float64, (len(X), Z.shape[1]))
        return Neighbours.from_valid(X, Z, self.head.outputs.strata, (P, valid), self.search)

    def _rule_model(
        self, entry: RulesEntry, training: AnsweredRows, report: Sample, polishing: Sample
    ) -> RuleModel:
        if entry.encoder not in range(len(self.encoders)):
            raise FormatError(
                f"rules.encoder is {entry.encoder}, and there are {len(self.encoders)} encoders"
            )
        encoder, outputs, c = self.encoders[entry.encoder], self.head.outputs, self.c
        k = _n_latents(encoder)
        tree: Any = parts.read_tree(self.model, c, k)
        shape = (len(tree.feature_), c)
        figures = parts.take_fields(
            self.model, "tree", np.float64, answers=shape, spread=shape, support=shape[:1]
        )
        good = bool((figures["spread"] >= 0).all() and (figures["support"] >= 0).all())
        self.model.require(good, "tree holds negative spreads or numbers of rows")
        neighbours = self._neighbours("rules", encoder, training)
        self._spend("tree", 4, shape[0], "nodes", k, "latents")
        leaves, layout = LeafBoxes.of(tree, k), Layout.of(self.encoding)
        targets = self.model.take("curve.targets", np.float64, (None,))
        n = (len(targets),)
        curve = parts.take_fields(self.model, "curve", np.float64, nan=True, precision=n, coverage=n)
        return RuleModel(
            rules=TreeRules(
                encoder, tree, leaves, outputs.strata, **figures, neighbours=neighbours, layout=layout
            ),
            conditions=Conditions.of(polishing),
            known=self._sample("known"),
            report=report,
            curve=PrecisionCurve(targets, **curve),
            source=entry.source,
            reason=entry.reason,
            intervals=self._intervals() if outputs.strata.intervals else None,
        )

    def _sample(self, name: str) -> Sample:
        sample = parts.read_sample(self.rows, name, self.encoding, self.head.outputs)
        # conditions on rows: a byte for every category, and for some thresholds of every number
        self._spend(name, 5, len(sample), "rows", self.encoding.n_inputs, "inputs")
        return sample

    def _intervals(self) -> IntervalModel:
        c, take = self.c, parts.take_fields
        found = take(self.model, "intervals", np.float64, typical=(c,), margins=(c, len(LEVELS)))
        good = (found["typical"] >= 0).all() and (found["margins"] >= NARROWEST).all()
        self.model.require(bool(good), "intervals holds figures that are too small")
        return IntervalModel(self._sample("intervals"), **found)


def _no_latents() -> Latent:
    raise LeftOutError(
        "the explainer was saved before its latent surrogate was trained, which slopes, latents and rules "
        "need; save it with rules=True to have them"
    )


def _no_rules(fitted: Fitted) -> GrownRules:
    raise LeftOutError("rules are grown by an explainer; load the file with illume.load")


def _n_latents(encoder: Any) -> int:
    return len(encoder.get_feature_names_out())

"""Loading a fitted explainer from a file; all of it is checked, and nothing in it is run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from illume.data import archive
from illume.data.black_box import BlackBox
from illume.data.later import Later
from illume.data.sampling import Split, stratified
from illume.data.stored_arrays import ArrayReader
from illume.data.typed_json import expect
from illume.errors import BlackBoxError, FormatError, LeftOutError, MissingExtraError, ModelChangedWarning
from illume.explanations.boxes import Layout, LeafBoxes
from illume.explanations.compare_answers import compare_answers
from illume.explanations.fitted import (
    AnsweredRows,
    FitRows,
    Fitted,
    GrownRules,
    Latent,
    LatentTwin,
    Pair,
    TwinBlackBox,
)
from illume.explanations.neighbours import Neighbours
from illume.explanations.places import Places
from illume.explanations.rule_intervals import IntervalModel
from illume.explanations.rule_sample import Conditions, Sample
from illume.explanations.tree_rules import RuleModel, TreeRules
from illume.io.checks import MAY_BE_NAN, check, check_tree
from illume.io.codec import Reader
from illume.io.save_explainer import ARRAYS, AS_THEY_ARE
from illume.io.stored import Stored, StoredExact, StoredNear, StoredRows, StoredRules
from illume.surrogates.base import FittedWeights
from illume.twin.twin import Twin

CHECKED_ROWS = 256


def read_explainer(
    path: str | os.PathLike[str], known: Iterable[str], max_bytes: float | None = None
) -> tuple[dict[str, Any], Fitted]:
    """Return the parameters and all that was learned, with the twin in the place of the model.

    `known` are the names of parameters. Whatever is wrong with the file is a `FormatError`, and so is a file
    that would take more memory than `max_bytes`.
    """
    found = archive.read(path, max_bytes)
    try:
        with np.errstate(over="raise", invalid="raise"):  # no fit makes such numbers
            reader, stored = _read(found)
            unknown = sorted(set(stored.settings) - set(known))
            if unknown:
                raise FormatError(f"settings holds {unknown}, which are no settings")
            return stored.settings, _Maker(stored, reader).fitted()
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


def _read(found: archive.Archive) -> tuple[Reader, Stored]:
    """Read all values of a file; every array must be part of one."""
    if set(found.members) != {ARRAYS}:
        raise FormatError(f"the members are {sorted(found.members)}, expected {[ARRAYS]}")
    head = {name: each for name, each in found.manifest.items() if name not in archive.FIELDS}
    transposed = [
        expect(str, name, "transposed") for name in expect(list, head.pop("transposed", None), "transposed")
    ]
    arrays = ArrayReader.from_bytes(found.members[ARRAYS], transposed, ARRAYS, found.budget)
    reader = Reader(arrays, check, MAY_BE_NAN)
    stored = reader.read(Stored, head, "")
    arrays.finish()
    return reader, stored


class _Maker:
    """Makes what `fit` learned of the values of one file."""

    def __init__(self, stored: Stored, reader: Reader) -> None:
        self.stored, self.reader = stored, reader
        self.outputs, self.encoding, rows = stored.outputs, stored.encoding, stored.rows
        self.search = stored.settings["surrogate_options"].search
        self.training = AnsweredRows(*self._rows(None if rows is None else rows.training))
        self.encoder = None if stored.latent is None else stored.latent.encoder.fitted(self.encoding.n_inputs)

    def fitted(self) -> Fitted:
        """Return all that was learned."""
        stored, rows, none = self.stored, self.stored.rows, np.empty(0, dtype=np.intp)
        report = self._sample(None if rows is None else rows.report)
        polishing = self._sample(None if stored.rules is None else stored.rules.polishing)
        latents = Later(_no_latents) if stored.latent is None else Later.known(self._latent())
        twin: Twin = LatentTwin(latents, self.encoding, self.outputs)
        if stored.twin is not None:
            twin = stored.twin.twin() if isinstance(stored.twin, StoredExact) else stored.twin
        rules = None
        if stored.rules is not None:
            grown = GrownRules(self._rule_model(stored.rules, report, polishing), stored.rules.quality)
            rules = Later.known(grown)
        places = Places.unknown(self.encoding.n_inputs) if rows is None else rows.places
        return Fitted(
            black_box=TwinBlackBox(self.encoding, self.outputs, twin),
            encoding=self.encoding,
            outputs=self.outputs,
            split=Split(none if rows is None else rows.position, none, none),
            rows=FitRows.from_file(self.outputs, self.training, report=report, polishing=polishing),
            twin=twin,
            background=None if rows is None else rows.background,
            places=Later.known(places),
            reference=Later.known(stored.reference),
            pool=None if rows is None else rows.pool,
            queries=Later.known(AnsweredRows.empty()),
            latents=latents,
            rules=rules,  # type: ignore[arg-type]
            grow=_no_rules,
            report_answers=None if rows is None else rows.report_answers,
            **{name: getattr(stored, name) for name in AS_THEY_ARE},
        )

    def _rows(self, rows: StoredRows | None) -> tuple[Any, Any]:
        if rows is None:
            return np.empty((0, self.encoding.n_inputs)), np.empty((0, len(self.outputs)))
        return rows.encoded(self.encoding), rows.P

    def _sample(self, rows: StoredRows | None) -> Sample:
        return Sample(Layout.of(self.encoding), *self._rows(rows), self.outputs.strata)

    def _latent(self) -> Latent:
        latent: Any = self.stored.latent
        pair = Pair(self.encoder, FittedWeights(latent.coef, latent.intercept, self.outputs))
        near = self._neighbours(latent.near, self.encoder)
        return Latent(pair, pair, near, latent.answers, latent.quality, latent.history)

    def _neighbours(self, near: StoredNear | None, encoder: Any) -> Neighbours:
        X, P = self.training.X, self.training.P
        Z = np.empty((0, _n_latents(encoder))) if near is None else X if near.Z is None else near.Z
        valid = np.zeros(0, dtype=bool) if near is None else near.alike
        return Neighbours.from_valid(X, Z, self.outputs.strata, (P, valid), self.search)

    def _rule_model(self, rules: StoredRules, report: Sample, polishing: Sample) -> RuleModel:
        encoder = self.encoder
        if rules.encoder is not None:
            encoder = rules.encoder.fitted(self.encoding.n_inputs)
        k, found = _n_latents(encoder), rules.intervals
        check_tree(rules, k, self.reader)
        return RuleModel(
            rules=TreeRules(
                encoder=encoder,
                tree=rules.tree,
                leaves=LeafBoxes.of(rules.tree, k),
                question=self.outputs.strata,
                answers=rules.answers,
                spread=rules.spread,
                support=rules.support,
                neighbours=self._neighbours(rules.near, encoder),
                layout=Layout.of(self.encoding),
            ),
            conditions=Conditions.of(polishing),
            known=self._sample(rules.known),
            report=report,
            curve=rules.curve,
            source=rules.source,
            reason=rules.reason,
            intervals=None
            if found is None
            else IntervalModel(self._sample(found.sample), found.typical, found.margins),
        )


def _no_latents() -> Latent:
    raise LeftOutError(
        "the explainer was saved before its latent surrogate was trained, which slopes, latents and rules "
        "need; save it with rules=True to have them"
    )


def _no_rules(fitted: Fitted) -> GrownRules:
    raise LeftOutError("rules are grown by an explainer; load the file with illume.load")


def _n_latents(encoder: Any) -> int:
    return len(encoder.get_feature_names_out())

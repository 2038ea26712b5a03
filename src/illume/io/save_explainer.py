"""Saving a fitted explainer to one file: JSON and plain arrays in a zip, without code or pickle."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.data import archive
from illume.data.frames import as_frame
from illume.data.require import require_int
from illume.data.sampling import evenly_spaced, stratified
from illume.encoders.base import IdentityEncoder
from illume.explanations.fitted import AnsweredFrame, FitRows, Fitted, GrownRules, Latent
from illume.explanations.neighbours import Neighbours
from illume.explanations.rule_sample import REPORT_ROWS, Sample
from illume.io.codec import Described, Writer
from illume.io.stored import (
    LINEAR,
    TREES,
    HeldRows,
    Stored,
    StoredEncoder,
    StoredExact,
    StoredIntervals,
    StoredLatent,
    StoredNear,
    StoredRows,
    StoredRules,
    require_ours,
    without_rows,
)
from illume.twin.exact import ExactTwin
from illume.twin.learned import LearnedTwin
from illume.twin.twin import Twin

ARRAYS = "arrays.safetensors"
LOG = logging.getLogger(__name__)  # without a handler, nothing is shown
LIBRARIES = ("numpy", "safetensors", "scikit-learn", "torch")
NOT_STORED = ("model", "labels")  # parameters
HELD_ROWS = 20_000
MIN_PER_CLASS = 16  # rows of a rare decision that are kept, if there is room
AS_THEY_ARE = ("columns", "backend", "missing", "kind", "facts", "dictionary")


def save(
    fitted: Fitted,
    parameters: Mapping[str, Any],
    path: str | os.PathLike[str],
    rows: int | str,
    trained: bool,
) -> None:
    """Write a fitted explainer to a file, atomically; the same bytes for the same explainer.

    The latent surrogate and rules are part of it if they are there and `trained` is true.
    """
    kept, writer = _choose_rows(fitted.rows, rows), Writer()
    some = kept if len(kept) and fitted.pool is not None else None
    stored = _take_apart(fitted, parameters, some, trained)
    manifest = writer.dump(Stored, stored, "")
    manifest["transposed"] = writer.arrays.transposed
    archive.write(path, archive.pack(manifest, {ARRAYS: writer.arrays.to_bytes()}))
    twin = "the model as it was read" if fitted.twin.exact else "the twin"
    found = [twin, *["the latent surrogate"] * bool(stored.latent), *["rules"] * bool(stored.rules)]
    LOG.info("saved %s, and %d of %d training rows", ", ".join(found), len(kept), fitted.facts.n_training)


def _take_apart(
    fitted: Fitted, parameters: Mapping[str, Any], kept: IntArray | None, trained: bool
) -> Stored:
    needed = fitted.kind == "pullback"  # where the latent surrogate explains
    latent = fitted.latents() if needed or (trained and fitted.latents.ready) else None
    rules = fitted.rules() if trained and fitted.rules.ready else None
    versions = {"illume": import_module("illume").__version__, "python": platform.python_version()}
    return Stored(
        libraries=versions | archive.library_versions(LIBRARIES),
        settings=_stored_parameters(parameters),
        schema=fitted.schema,
        outputs=fitted.outputs,
        encoding=fitted.encoding,
        reference=fitted.reference(),
        twin=_stored_twin(fitted.twin, kept is not None),
        latent=None if latent is None else _stored_latent(latent, kept),
        rules=None if rules is None else _stored_rules(rules, fitted, kept),
        rows=None if kept is None or fitted.pool is None else _held_rows(fitted, fitted.pool, rules, kept),
        **{name: getattr(fitted, name) for name in AS_THEY_ARE},
    )


def _choose_rows(fit_rows: FitRows, rows: int | str) -> IntArray:
    """Return which training rows go into the file."""
    training, question = fit_rows.training, fit_rows.outputs.strata
    require_int("rows", rows, other=("all", "none"))
    if rows == "none":
        return np.empty(0, dtype=np.intp)
    if rows == "all":
        return np.arange(len(training))
    n, n_strata = int(rows), len(question.names)
    if len(training) <= n:
        return np.arange(len(training))
    least = min(MIN_PER_CLASS, n // (2 * n_strata))
    return stratified(question.decide(training.P), n - n_strata * least, least)


def _stored_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file holds; of background rows, only their number."""
    stored = {name: each for name, each in parameters.items() if name not in NOT_STORED}
    background = stored["background"]
    if background is not None and not isinstance(background, Described):
        stored["background"] = Described(f"a frame of {len(as_frame(background)):,} rows")
    return stored


def _stored_twin(twin: Twin, rows: bool) -> StoredExact | LearnedTwin | None:
    if isinstance(twin, LearnedTwin):
        return twin if rows else without_rows(twin)
    return StoredExact.of(twin, rows) if isinstance(twin, ExactTwin) else None


def _stored_latent(latent: Latent, kept: IntArray | None) -> StoredLatent:
    surrogate, encoder = latent.pair.surrogate, latent.pair.encoder
    held = "'logistic', the head of an encoder, and linear classifiers of scikit-learn"
    require_ours(surrogate, LINEAR, "a surrogate", held)
    return StoredLatent(
        encoder=StoredEncoder.of(encoder),
        coef=surrogate.coef_,
        intercept=surrogate.intercept_,
        quality=latent.quality,
        history=latent.history,
        near=_near(encoder, latent.neighbours, kept),
        answers=None if kept is None else latent.answers,
    )


def _near(encoder: Any, neighbours: Neighbours, kept: IntArray | None) -> StoredNear | None:
    if kept is None:
        return None
    Z = None if isinstance(encoder, IdentityEncoder) else neighbours.Z[kept]
    return StoredNear(neighbours.alike[kept], Z)


def _stored_rules(grown: GrownRules, fitted: Fitted, kept: IntArray | None) -> StoredRules | None:
    model, quality, intervals = grown.model, grown.quality, grown.model.intervals
    if quality is None:
        return None
    held = "'tree' and tree classifiers of scikit-learn; save with rules=False to leave it out"
    rules = model.rules
    require_ours(rules.tree, TREES, "a tree", held)

    def sample(rows: Sample) -> StoredRows | None:
        return None if kept is None else StoredRows.of(fitted.encoding, rows.X, rows.P)

    return StoredRules(
        encoder=None if rules.encoder is fitted.pair.encoder else StoredEncoder.of(rules.encoder),
        tree=rules.tree,
        answers=rules.answers,
        spread=rules.spread,
        support=rules.support,
        curve=model.curve,
        source=model.source,
        reason=model.reason,
        quality=quality,
        intervals=None
        if intervals is None
        else StoredIntervals(intervals.typical, intervals.margins, sample(intervals.sample)),
        near=_near(rules.encoder, rules.neighbours, kept),
        polishing=sample(model.conditions.sample),
        known=sample(model.known),
    )


def _held_rows(fitted: Fitted, pool: AnsweredFrame, rules: GrownRules | None, kept: IntArray) -> HeldRows:
    training, report, encoding = fitted.rows.training, fitted.rows.report, fitted.encoding
    some = evenly_spaced(len(report), REPORT_ROWS)
    measured = (report.X[some], report.P[some])  # for rules that are grown after loading
    if rules is not None:
        measured = (rules.model.report.X, rules.model.report.P)
    return HeldRows(
        training=StoredRows.of(encoding, training.X[kept], training.P[kept]),
        position=fitted.split.training[kept].astype(np.int64),
        report=StoredRows.of(encoding, *measured),
        places=fitted.places(),
        pool=pool,
        background=fitted.background,
        report_answers=fitted.report_answers,
    )

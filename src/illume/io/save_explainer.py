"""Saving a fitted explainer to one file: JSON and plain arrays in a zip, without code or pickle."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.data import archive
from illume.data.frames import as_frame
from illume.data.outputs import Outputs
from illume.data.require import require_int
from illume.data.sampling import evenly_spaced, stratified
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayWriter
from illume.data.stored_frames import dump_frame
from illume.data.typed_json import dump
from illume.encoders.base import IdentityEncoder
from illume.explanations.fitted import FitRows, Fitted, GrownRules, Latent
from illume.explanations.rule_sample import REPORT_ROWS
from illume.io import fitted_parts as parts
from illume.io.settings import Described, dump_setting
from illume.io.twin_parts import TwinEntry, dump_twin
from illume.results.diagnostics import History
from illume.results.dictionary import DataDictionary
from illume.results.quality import Quality, RuleQuality, SurrogateQuality

MODEL, ROWS = "model.safetensors", "rows.safetensors"
POOL, BACKGROUND = "pool", "background"
LIBRARIES = ("numpy", "safetensors", "scikit-learn", "torch")
NOT_STORED = ("model", "labels")  # parameters
HELD_ROWS = 20_000
MIN_PER_CLASS = 16  # rows of a rare decision that are kept, if there is room
AS_THEY_ARE = (
    "columns",
    "backend",
    "facts",
    "dictionary",
)  # fields of `Fitted`


@dataclass(frozen=True)
class RulesEntry:
    """The part of a rule model that is JSON; `encoder` is a position among the encoders."""

    encoder: int
    source: str
    reason: str
    quality: RuleQuality


@dataclass(frozen=True)
class LatentEntry:
    """The part of the latent surrogate that is JSON."""

    quality: SurrogateQuality
    history: History | None


@dataclass(frozen=True)
class Manifest:
    """All of a fitted explainer that is JSON, beside the frames.

    `reference` is the number of rows that distributions were taken from, `rows` holds numbers of rows;
    `latent` and `rules` are None where they were not trained.
    """

    libraries: dict[str, str]
    settings: object
    schema: Schema
    columns: tuple[str, ...]
    backend: str | None
    outputs: Outputs
    missing: tuple[bool, ...]
    missing_words: None  # no longer used, part of format 9
    unknown: str
    kind: str
    twin: TwinEntry
    encoders: tuple[parts.EncoderEntry, ...]
    facts: Quality
    dictionary: DataDictionary
    latent: LatentEntry | None
    rules: RulesEntry | None
    reference: int
    rows: dict[str, int]
    transposed: dict[str, tuple[str, ...]]


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
    kept = _choose_rows(fitted.rows, rows)
    model, data, members = ArrayWriter(), ArrayWriter(), {}
    needed = fitted.kind == "pullback"  # where the latent surrogate explains
    latent = fitted.latents() if needed or (trained and fitted.latents.ready) else None
    rules = fitted.rules() if trained and fitted.rules.ready else None
    encoders = [] if latent is None else [latent.pair.encoder]
    if rules is not None and rules.model.rules.encoder is not encoders[0]:
        encoders.append(rules.model.rules.encoder)
    has_rows = len(kept) > 0 and fitted.pool is not None
    if has_rows:
        _dump_rows(fitted, kept, data, latent, rules)
        for name, frame in ((POOL, fitted.pool), (BACKGROUND, fitted.background)):
            if frame is not None:
                data.add(f"{name}.answers", frame.P)
                members[f"{name}.json"] = archive.format_json(dump_frame(frame.frame, data, name))
    if rules is not None:
        found = rules.model
        parts.dump_tree(found.rules.tree, model)
        parts.add_fields(model, "tree", found.rules, "answers", "spread", "support")
        if found.intervals is not None:
            parts.add_fields(model, "intervals", found.intervals, "typical", "margins")
        parts.add_fields(model, "curve", found.curve, "targets", "precision", "coverage")
    parts.add_fields(model, "encoding", fitted.encoding, "mean", "scale")
    if latent is not None:
        parts.dump_weights(latent.pair.surrogate, model)
    reference = fitted.reference()
    parts.add_fields(model, "reference", reference, "knots", "below", "at_most", "missing", "shares")
    manifest = Manifest(
        libraries={
            "illume": import_module("illume").__version__,
            "python": platform.python_version(),
            **archive.library_versions(LIBRARIES),
        },
        settings={name: dump_setting(each) for name, each in _stored_parameters(parameters).items()},
        schema=fitted.schema,
        outputs=fitted.outputs,
        missing=tuple(fitted.missing.tolist()),
        unknown=fitted.encoding.unknown,
        kind=fitted.kind,
        twin=dump_twin(fitted.twin, model, has_rows),
        encoders=tuple(parts.dump_encoder(one, model, f"encoder.{i}") for i, one in enumerate(encoders)),
        latent=None if latent is None else LatentEntry(latent.quality, latent.history),
        rules=None
        if rules is None or rules.quality is None
        else RulesEntry(len(encoders) - 1, rules.model.source, rules.model.reason, rules.quality),
        reference=int(reference.n_rows),
        rows={"held": len(kept), "of": fitted.facts.n_training},
        transposed={MODEL: tuple(model.transposed), ROWS: tuple(data.transposed)},
        missing_words=None,
        **{name: getattr(fitted, name) for name in AS_THEY_ARE},
    )
    members |= {ROWS: data.to_bytes()} if has_rows else {}
    archive.write(path, archive.pack(dump(Manifest, manifest), {**members, MODEL: model.to_bytes()}))


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


def _dump_rows(
    fitted: Fitted, kept: IntArray, arrays: ArrayWriter, latent: Latent | None, rules: GrownRules | None
) -> None:
    training, encoding = fitted.rows.training, fitted.encoding
    parts.dump_rows(arrays, "training", encoding, training.X[kept])
    arrays.add("training.answers", training.P[kept])
    arrays.add("training.position", fitted.split.training[kept].astype(np.int64))
    parts.add_fields(arrays, "places", fitted.places(), "anchors", "distances")
    for name, array in zip("PQ", fitted.report_answers or (), strict=False):
        arrays.add(f"twin.{name}", array)
    if latent is not None and latent.answers is not None:
        parts.add_fields(arrays, "measured", latent.answers, "P", "Q", "B")
    searched = {} if latent is None else {"pair": (latent.pair.encoder, latent.neighbours)}
    if rules is not None:
        model = rules.model
        searched["rules"] = (model.rules.encoder, model.rules.neighbours)
        parts.dump_sample(arrays, "polishing", encoding, model.conditions.sample)
        parts.dump_sample(arrays, "known", encoding, model.known)
        parts.dump_sample(arrays, "report", encoding, model.report)
        if model.intervals is not None:
            parts.dump_sample(arrays, "intervals", encoding, model.intervals.sample)
    else:  # rules that are grown after loading are measured on these
        report = fitted.rows.report
        some = evenly_spaced(len(report), REPORT_ROWS)
        parts.dump_rows(arrays, "report", encoding, report.X[some])
        arrays.add("report.answers", report.P[some])
    for name, (encoder, neighbours) in searched.items():
        arrays.add(f"{name}.valid", neighbours.alike[kept])
        if not isinstance(encoder, IdentityEncoder):
            arrays.add(f"{name}.latents", neighbours.Z[kept])

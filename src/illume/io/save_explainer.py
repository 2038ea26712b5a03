"""Saving a fitted explainer to one file: JSON and plain arrays in a zip, without code or pickle."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.data import archive
from illume.data.frames import as_frame
from illume.data.outputs import Outputs
from illume.data.sampling import evenly_spaced, stratified
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayWriter
from illume.data.stored_frames import dump_frame
from illume.data.typed_json import dump
from illume.encoders.base import IdentityEncoder
from illume.explanations.fitted import FitRows, Fitted
from illume.explanations.rule_sample import REPORT_ROWS
from illume.explanations.trial import Trial
from illume.io import fitted_parts as parts
from illume.io.settings import Described, dump_setting
from illume.io.shapley_parts import dump_shapley
from illume.results.diagnostics import History
from illume.results.dictionary import DataDictionary
from illume.results.quality import Quality, RuleQuality

MODEL, ROWS = "model.safetensors", "rows.safetensors"
POOL, BACKGROUND = "pool", "background"
LIBRARIES = ("numpy", "safetensors", "scikit-learn", "torch")
NOT_STORED = ("model", "labels")  # parameters
HELD_ROWS = 20_000
MIN_PER_CLASS = 16  # rows of a rare decision that are kept, if there is room
AS_THEY_ARE = (
    "columns",
    "backend",
    "missing_words",
    "quality",
    "history",
    "trials",
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
class Manifest:
    """All of a fitted explainer that is JSON, beside the frames.

    `reference` is the number of rows that distributions were taken from, `rows` and `trust` hold numbers of
    rows, `shapley` is the least probability of log-odds.
    """

    libraries: dict[str, str]
    settings: object
    schema: Schema
    columns: tuple[str, ...]
    backend: str | None
    outputs: Outputs
    missing: tuple[bool, ...]
    missing_words: tuple[str, ...] | None
    unknown: str
    encoders: tuple[parts.EncoderEntry, ...]
    quality: Quality
    history: History | None
    trials: tuple[Trial, ...]
    dictionary: DataDictionary
    rules: RulesEntry | None
    reference: int
    rows: dict[str, int]
    trust: dict[str, int] | None
    shapley: float | None
    transposed: dict[str, tuple[str, ...]]


def save(
    fitted: Fitted, parameters: Mapping[str, Any], path: str | os.PathLike[str], rows: int | str
) -> None:
    """Write a fitted explainer to a file, atomically; the same bytes for the same explainer."""
    kept = _choose_rows(fitted.rows, rows)
    model, data, members = ArrayWriter(), ArrayWriter(), {}
    rules, encoders = fitted.rule_model, [fitted.pair.encoder]
    if rules is not None and rules.rules.encoder is not encoders[0]:
        encoders.append(rules.rules.encoder)
    has_rows = len(kept) > 0 and fitted.pool is not None
    if has_rows:
        _dump_rows(fitted, kept, data)
        for name, frame in ((POOL, fitted.pool), (BACKGROUND, fitted.background)):
            if frame is not None:
                data.add(f"{name}.answers", frame.P)
                members[f"{name}.json"] = archive.format_json(dump_frame(frame.frame, data, name))
    if rules is not None:
        parts.dump_tree(rules.rules.tree, model)
        parts.add_fields(model, "tree", rules.rules, "answers", "spread", "support")
        if rules.intervals is not None:
            parts.add_fields(model, "intervals", rules.intervals, "typical", "margins")
        parts.add_fields(model, "curve", rules.curve, "targets", "precision", "coverage")
    parts.add_fields(model, "encoding", fitted.encoding, "mean", "scale")
    parts.dump_weights(fitted.pair.surrogate, model)
    parts.add_fields(model, "reference", fitted.reference, "knots", "below", "at_most", "missing", "shares")
    trust = {"n_rows": int(fitted.trust_map.n_rows), "n_nearest": int(fitted.trust_map.n_nearest)}
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
        encoders=tuple(parts.dump_encoder(one, model, f"encoder.{i}") for i, one in enumerate(encoders)),
        rules=None
        if rules is None or fitted.rule_quality is None
        else RulesEntry(len(encoders) - 1, rules.source, rules.reason, fitted.rule_quality),
        reference=int(fitted.reference.n_rows),
        rows={"held": len(kept), "of": fitted.quality.n_training},
        trust=trust if has_rows else None,
        shapley=None if fitted.shapley is None else dump_shapley(fitted.shapley, model),
        transposed={MODEL: tuple(model.transposed), ROWS: tuple(data.transposed)},
        **{name: getattr(fitted, name) for name in AS_THEY_ARE},
    )
    members |= {ROWS: data.to_bytes()} if has_rows else {}
    archive.write(path, archive.pack(dump(Manifest, manifest), {**members, MODEL: model.to_bytes()}))


def _choose_rows(fit_rows: FitRows, rows: int | str) -> IntArray:
    """Return which training rows go into the file."""
    training, question = fit_rows.training, fit_rows.outputs.strata
    if rows == "none":
        return np.empty(0, dtype=np.intp)
    if rows == "all":
        return np.arange(len(training))
    if isinstance(rows, bool) or not (isinstance(rows, Integral) and int(rows) >= 1):
        raise ValueError(f"rows must be 'all', 'none' or a positive integer, found {rows!r}")
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


def _dump_rows(fitted: Fitted, kept: IntArray, arrays: ArrayWriter) -> None:
    training, encoding, rules = fitted.rows.training, fitted.encoding, fitted.rule_model
    parts.dump_rows(arrays, "training", encoding, training.X[kept])
    arrays.add("training.answers", training.P[kept])
    arrays.add("training.position", fitted.split.training[kept].astype(np.int64))
    arrays.add("reference.distances", fitted.reference.distances)
    parts.add_fields(arrays, "trust", fitted.trust_map, "anchors", "agreement", "error")
    if fitted.outputs.takes_threshold and fitted.report_answers is not None:
        parts.add_fields(arrays, "measured", fitted.report_answers, "P", "Q", "B")
        if fitted.trust_map.near is not None:
            arrays.add("trust.near", fitted.trust_map.near.astype(np.int64))
    searched = {"pair": (fitted.pair.encoder, fitted.neighbours)}
    if rules is not None:
        searched["rules"] = (rules.rules.encoder, rules.rules.neighbours)
        parts.dump_sample(arrays, "polishing", encoding, rules.conditions.sample)
        parts.dump_sample(arrays, "known", encoding, rules.known)
        parts.dump_sample(arrays, "report", encoding, rules.report)
        if rules.intervals is not None:
            parts.dump_sample(arrays, "intervals", encoding, rules.intervals.sample)
    elif fitted.monotony:  # rules for a threshold that is set later are measured on these
        report = fitted.rows.report
        some = evenly_spaced(len(report), REPORT_ROWS)
        parts.dump_rows(arrays, "report", encoding, report.X[some])
        arrays.add("report.answers", report.P[some])
    for name, (encoder, neighbours) in searched.items():
        arrays.add(f"{name}.valid", neighbours.alike[kept])
        if not isinstance(encoder, IdentityEncoder):
            arrays.add(f"{name}.latents", neighbours.Z[kept])

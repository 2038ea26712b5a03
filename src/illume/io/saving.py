"""A fitted explainer's parts, written to one file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.data import archive
from illume.data.archive import library_versions
from illume.data.frames import as_frame
from illume.data.sampling import stratified
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayWriter
from illume.data.stored_frames import dump_frame
from illume.data.typed_json import dump
from illume.encoders.linear import IdentityEncoder
from illume.errors import SaveError
from illume.explanations.fitted import AnsweredRows, Fitted, Trial
from illume.io.encoders import dump_encoder
from illume.io.parts import Training, dump_curve, dump_sample, dump_training, dump_trust
from illume.io.reference import dump_reference
from illume.io.settings import Described, dump_settings
from illume.io.shapley import dump_background, dump_shapley
from illume.io.surrogates import dump_tree, dump_weights
from illume.results.history import History
from illume.results.quality import Quality, RuleQuality

MODEL, ROWS = "model.safetensors", "rows.safetensors"
POOL, BACKGROUND = "pool.json", "background.json"
LIBRARIES = ("numpy", "safetensors", "scikit-learn", "torch")
APART = ("model", "checkpoint_dir")  # settings that are of no use elsewhere
WORDS = "missing_words"  # in CSV, where the command line was told other ones than usual
HELD_ROWS = 20_000
LEAST = 16  # rows of a rare decision that are kept, where so many may be


def save(
    fitted: Fitted, parameters: Mapping[str, Any], path: str | os.PathLike[str], rows: int | str
) -> None:
    """Write a fitted explainer."""
    archive.write(path, content(fitted, parameters, rows))


def content(fitted: Fitted, parameters: Mapping[str, Any], rows: int | str) -> bytes:
    """Return the file of a fitted explainer, always the same bytes for the same one."""
    kept = _kept(fitted.rows.training, rows)
    model, data = ArrayWriter(), ArrayWriter()
    manifest = _described(fitted, parameters, model)
    members = {}
    manifest["rows"] = {"held": len(kept), "of": fitted.quality.n_training}
    manifest["trust"] = None
    if len(kept) and fitted.pool is not None:
        data.add("reference.distances", fitted.reference.distances)
        manifest["trust"] = dump_trust(data, fitted.trust_map)
        _dump_rows(fitted, kept, manifest["encoders"], data)
        data.add("pool.answers", fitted.pool.P)
        members[POOL] = archive.format_json(dump_frame(fitted.pool.frame, data))
        if fitted.background is not None:
            members[BACKGROUND] = archive.format_json(dump_background(fitted.background, data))
        members[ROWS] = data.to_bytes()
    members[MODEL] = model.to_bytes()
    manifest["transposed"] = {MODEL: model.transposed, ROWS: data.transposed}
    return archive.pack(manifest, members)


def _kept(training: AnsweredRows, rows: int | str) -> IntArray:
    """Return which training rows go into the file."""
    if rows == "none":
        return np.empty(0, dtype=np.intp)
    if rows == "all":
        return np.arange(len(training))
    if isinstance(rows, bool) or not (isinstance(rows, Integral) and int(rows) >= 1):
        raise ValueError(f"rows must be 'all', 'none' or a positive integer, found {rows!r}")
    n, n_classes = int(rows), training.P.shape[1]
    if len(training) <= n:
        return np.arange(len(training))
    least = min(LEAST, n // (2 * n_classes))
    return stratified(training.P.argmax(1), n - n_classes * least, least)


def _described(fitted: Fitted, parameters: Mapping[str, Any], arrays: ArrayWriter) -> dict[str, Any]:
    """Return all but the rows; arrays go into their own member."""
    rules = fitted.rule_model
    encoders = [fitted.pair.encoder]
    if rules is not None and rules.rules.encoder is not encoders[0]:
        encoders.append(rules.rules.encoder)
    arrays.add("encoding.mean", fitted.encoding.mean)
    arrays.add("encoding.scale", fitted.encoding.scale)
    dump_weights(fitted.pair.surrogate, arrays)
    dump_reference(fitted.reference, arrays)
    if not isinstance(fitted.history, History | None):
        raise SaveError(f"history_ is a {type(fitted.history).__name__}, expected a History")
    words = fitted.missing_words
    return ({} if words is None else {WORDS: list(words)}) | {
        "libraries": {
            "illume": import_module("illume").__version__,
            "python": platform.python_version(),
            **library_versions(LIBRARIES),
        },
        "settings": dump_settings(_settings(parameters)),
        "schema": dump(Schema, fitted.schema),
        "columns": list(fitted.columns),
        "backend": fitted.backend,
        "classes": list(fitted.class_names),
        "missing": [bool(each) for each in fitted.missing],
        "unknown": fitted.encoding.unknown,
        "encoders": [dump_encoder(one, arrays, f"encoder.{i}") for i, one in enumerate(encoders)],
        "reference": int(fitted.reference.n_rows),
        "quality": dump(Quality, fitted.quality),
        "history": dump(History, fitted.history) if fitted.history is not None else None,
        "trials": dump(tuple[Trial, ...], fitted.trials),
        "shapley": None if fitted.shapley is None else dump_shapley(fitted.shapley, arrays),
        "rules": None if rules is None else _dump_rule_model(fitted, rules, len(encoders) - 1, arrays),
    }


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a file holds; of background rows, only their number."""
    settings = {name: each for name, each in parameters.items() if name not in APART}
    background = settings["background"]
    if background is not None and not isinstance(background, Described):
        settings["background"] = Described(f"a frame of {len(as_frame(background)):,} rows")
    return settings


def _dump_rule_model(fitted: Fitted, model: Any, encoder: int, arrays: ArrayWriter) -> dict[str, Any]:
    dump_tree(model.rules.tree, arrays)
    arrays.add("tree.decisions", model.rules.decisions.astype(np.int64))
    dump_curve(arrays, model.curve)
    return {
        "encoder": encoder,
        "source": model.source,
        "reason": model.reason,
        "quality": dump(RuleQuality, fitted.rule_quality),
    }


def _dump_rows(fitted: Fitted, kept: IntArray, encoders: list[Any], arrays: ArrayWriter) -> None:
    training, encoding = fitted.rows.training, fitted.encoding
    rows = AnsweredRows(training.X[kept], training.P[kept])
    dump_training(arrays, encoding, Training(rows, fitted.split.training[kept]))
    rules = fitted.rule_model
    searched = {"pair": (fitted.pair.encoder, fitted.neighbours)}
    if rules is not None:
        searched["rules"] = (rules.rules.encoder, rules.rules.neighbours)
        dump_sample(arrays, "polishing", encoding, rules.bins.sample)
        dump_sample(arrays, "report", encoding, rules.report)
    for name, (encoder, neighbours) in searched.items():
        arrays.add(f"{name}.valid", neighbours.alike[kept])
        if not isinstance(encoder, IdentityEncoder):
            arrays.add(f"{name}.latents", neighbours.Z[kept])

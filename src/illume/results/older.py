"""Results of older format versions, with what they lack filled in as not known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from illume.errors import FormatError
from illume.results.apart import Apart

NAMES = {"Attributions": "labels.features", "Counterfactuals": "feature_names"}


def upgraded(apart: Apart, version: int) -> Apart:
    """Return a result as the newest version would hold it."""
    newer = _with_novelty(apart) if version == 1 else apart
    return _with_errors(newer) if version <= 2 else newer


def _with_errors(apart: Apart) -> Apart:
    """Up to version 2, contributions are the surrogate's, and their errors are not known."""
    values = apart.rows.get("values")
    if apart.kind != "Attributions" or values is None:
        return apart
    rows = dict(apart.rows)
    rows["standard_errors"] = np.full(values.shape, np.nan, dtype=np.float32)
    rows["trust.contribution_error"] = np.full(len(values), np.nan)
    return replace(apart, rows=rows, plain={"kind": "pullback", "fell_back": False} | apart.plain)


def _with_novelty(apart: Apart) -> Apart:
    """Version 1 says nothing of rows outside of what was fitted on."""
    rows, plain = dict(apart.rows), dict(apart.plain)
    if apart.kind == "Rules":
        return replace(apart, plain={**plain, "novelty": None})
    if apart.kind not in NAMES:
        return apart
    names, some = plain.get(NAMES[apart.kind]), rows.get("probabilities")
    if not isinstance(names, list) or some is None:
        raise FormatError("the features or the probabilities are missing")
    rows["novelty.features"] = np.zeros((len(some), len(names)), dtype=bool)
    rows["novelty.far"] = np.zeros(len(some), dtype=bool)
    plain |= {"novelty.names": names, "novelty.known": False}
    if apart.kind == "Attributions":
        rows["trust.distance"] = np.full(len(some), np.nan)
    else:
        plain["rules.novelty"] = None
    return replace(apart, rows=rows, plain=plain)

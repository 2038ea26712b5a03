"""Fitted encoders to JSON and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import expect, expect_fields
from illume.encoders.base import Head
from illume.encoders.linear import IdentityEncoder
from illume.encoders.soft_bins import SoftBins
from illume.errors import FormatError, SaveError
from illume.io.settings import ENCODERS, dump_settings, unfitted

NAMES = ("kind", "settings", "alpha", "head", "rank", "bins")
NOTHING = dict.fromkeys(("alpha", "head", "rank", "bins"))


def dump_encoder(encoder: Any, arrays: ArrayWriter, name: str) -> dict[str, Any]:
    """Store a fitted encoder."""
    kind = type(encoder).__name__
    if ENCODERS.get(kind) is not type(encoder):
        raise SaveError(
            f"an encoder {kind} cannot be saved, for loading runs no code of others; a file holds "
            f"{', '.join(sorted(ENCODERS))}"
        )
    settings = dump_settings(encoder.get_params(deep=False))
    if isinstance(encoder, IdentityEncoder):
        return {"kind": kind, "settings": settings} | NOTHING
    for part, array in encoder.weights_.items():
        arrays.add(f"{name}.maps.{part}", array)
    outputs = None
    if encoder.head_ is not None:
        outputs = len(encoder.head_.coef)
        arrays.add(f"{name}.head.coef", encoder.head_.coef)
        arrays.add(f"{name}.head.intercept", encoder.head_.intercept)
    return {
        "kind": kind,
        "settings": settings,
        "alpha": int(encoder.alpha_),
        "head": outputs,
        "rank": getattr(encoder, "rank_", None),
        "bins": _dump_bins(encoder.bins_, arrays, name),
    }


def read_encoder(values: Any, arrays: ArrayReader, name: str, n_inputs: int) -> Any:
    """Return the fitted encoder that JSON values and arrays stand for."""
    kind, settings, alpha, outputs, rank, n_bins = expect_fields(values, NAMES, name)
    if kind not in ENCODERS:
        raise FormatError(f"{name} is of kind {kind!r}, which is not known")
    encoder = unfitted(kind, settings, name)
    if isinstance(encoder, IdentityEncoder):
        if (alpha, outputs, rank, n_bins) != (None, None, None, None):
            raise FormatError(f"{name} has weights, which an identity encoder never has")
        encoder.n_features_in_ = n_inputs
        return encoder
    from illume.encoders.stored import restore_encoder, weight_shapes

    bins = _read_bins(n_bins, arrays, name, n_inputs)
    rank = None if rank is None else expect(int, rank, f"{name}.rank")
    try:
        shapes = weight_shapes(encoder, n_inputs, rank, len(bins))
    except ValueError as error:
        raise FormatError(f"{name}: {error}") from error
    weights = {part: arrays.take(f"{name}.maps.{part}", np.float32, shape) for part, shape in shapes.items()}
    if not 1 <= expect(int, alpha, f"{name}.alpha") <= n_inputs:
        raise FormatError(f"{name}.alpha is {alpha}, expected 1 to {n_inputs}")
    head = None
    if outputs is not None:
        size = expect(int, outputs, f"{name}.head")
        coef = arrays.take(f"{name}.head.coef", np.float32, (size, encoder.n_latents))
        head = Head(coef, arrays.take(f"{name}.head.intercept", np.float32, (size,)))
    return restore_encoder(encoder, n_inputs, weights, alpha, head, bins=bins)


def _dump_bins(bins: SoftBins, arrays: ArrayWriter, name: str) -> int | None:
    """Store where bins begin and how steep they are; return how many there are, None for none."""
    if not len(bins):
        return None
    arrays.add(f"{name}.bins.column", bins.column.astype(np.int64))
    arrays.add(f"{name}.bins.low", bins.low)
    arrays.add(f"{name}.bins.steepness", bins.steepness)
    return len(bins)


def _read_bins(n_bins: Any, arrays: ArrayReader, name: str, n_inputs: int) -> SoftBins:
    """Return the bins of an encoder, of which there are so many."""
    if n_bins is None:
        return SoftBins.none()
    shape = (expect(int, n_bins, f"{name}.bins"),)
    column = arrays.positions(f"{name}.bins.column", shape, 0, n_inputs).astype(np.intp)
    low, steepness = (arrays.take(f"{name}.bins.{part}", np.float32, shape) for part in ("low", "steepness"))
    arrays.require(bool((steepness > 0).all()), f"{name}.bins.steepness must be above 0")
    return SoftBins(column, low, steepness)

"""New rows as a whole against the fitted ones: distances, agreement, and all that is said of them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoding
from illume.data.frames import Frame, chunks
from illume.data.load_rows import RowLimit, sample_frame
from illume.data.row_sources import open_rows
from illume.data.schema import check_names
from illume.drift.features import check_features
from illume.drift.wording import warnings_of
from illume.errors import BlackBoxError, rows_after
from illume.explanations.fitted import Fitted
from illume.explanations.reference import MEASURED_ROWS, UNUSUAL, Reference
from illume.metrics.fidelity import wilson
from illume.results.check import Check, Distances, SampleAgreement

MOST_ROWS = 200_000  # of a source; of so many, shares are known to .003
DRAWN = "the rows drawn"
OLD = "distributions of features, for the file was written by a version of illume that did not keep them"
NO_ROWS = "how far rows are from the fitted ones, for the explainer was saved with rows='none'"
NO_MODEL = "agreement with the black box, for the explainer was loaded without it"
FAILED = (
    "agreement with the black box, for it fails on a sample of these rows; explain some of them to see why"
)


def compare_source(fitted: Fitted, data: Any, sample: int, verbose: bool | None) -> Check:
    """Compare rows that are read piece by piece, all or so many drawn from them."""
    source = open_rows(data)
    check_names(source.names, fitted.columns)
    pool = fitted.pool
    like = pool.frame.native if pool is not None and fitted.backend == "pandas" else None
    drawing = RowLimit(MOST_ROWS, seed=0, backend=fitted.backend or "numpy", verbose=verbose)
    frame, n_rows = sample_frame(source.only(fitted.columns), drawing, like)
    with rows_after(0, DRAWN if len(frame) < n_rows else ""):
        found = compare(fitted, fitted.as_frame(frame), sample)
    return found if found.n_rows == n_rows else replace(found, n_source=n_rows)


def compare(fitted: Fitted, frame: Frame, sample: int) -> Check:
    """Compare the rows of a frame with those that an explainer was fitted on."""
    if isinstance(sample, bool) or not (isinstance(sample, Integral) and int(sample) >= 0):
        raise ValueError(f"sample must be a whole number, 0 or more, found {sample!r}")
    encoding = replace(fitted.encoding, unknown="ignore")
    features = frame.select(encoding.schema.names)
    reference = fitted.reference
    distance, outside, strange = _looked_at(fitted, encoding, features)
    n_training = min(fitted.quality.n_training, MEASURED_ROWS)
    distances = _distances(distance, reference, n_training)
    some = _sampled(len(frame), int(sample), strange & (fitted.encoding.unknown == "error"))
    agreement, off = _agreement(fitted, encoding, frame, some)
    found = Check(
        features=check_features(encoding, features, reference),
        distances=distances,
        agreement=agreement,
        outside_share=float(outside.mean()) if len(outside) else 0.0,
        n_rows=len(frame),
        n_fitted=reference.n_rows,
        warnings=(),
        off=tuple(
            reason
            for reason, holds in (
                (OLD, not reference.n_rows),
                (NO_ROWS, not len(reference.distances)),
                (off, bool(off)),
            )
            if holds
        ),
    )
    return replace(found, warnings=tuple(warnings_of(found, fitted.encoding.unknown, off == FAILED)))


def _looked_at(fitted: Fitted, encoding: Encoding, frame: Frame) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return the rows' distances, which are outside, and which have a category that was never seen."""
    familiar = fitted.familiar
    distance, outside = np.full(len(frame), np.nan), np.zeros(len(frame), dtype=bool)
    strange = np.zeros(len(frame), dtype=bool)
    category = np.array([not feature.numeric for feature in encoding.schema.features], dtype=bool)
    for rows, piece in chunks(frame, BATCH_ROWS):
        with rows_after(rows.start):
            encoded = encoding.transform(piece)
        distance[rows] = fitted.trust_map(encoded.X).distance
        outside[rows] = familiar(encoded, distance[rows]).outside
        strange[rows] = encoded.odd[:, category].any(1)
    return distance, outside, strange


def _distances(distance: FloatArray, reference: Reference, n_training: int) -> Distances | None:
    usual = reference.distances
    if not len(distance) or not len(usual) or np.isnan(distance).any():
        return None
    return Distances(
        unusual_share=float((distance > usual[UNUSUAL]).mean()),
        far_share=float((distance > reference.limit).mean()),
        median=float(np.median(distance)),
        fitted_median=float(usual[0]),
        n_training=n_training,
    )


def _sampled(n: int, most: int, refused: BoolArray) -> IntArray:
    """Return rows that can be explained, drawn at random but always the same."""
    rows = np.flatnonzero(~refused)
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(n).choice(rows, most, replace=False))


def _agreement(
    fitted: Fitted, encoding: Encoding, frame: Frame, some: IntArray
) -> tuple[SampleAgreement | None, str]:
    """Return the agreement on some rows, or why it cannot be had."""
    if not fitted.has_model:
        return None, NO_MODEL
    if not len(some):
        return None, "agreement with the black box, for it was asked about no row"
    rows = frame.take(some)
    try:
        P = fitted.black_box(rows)
    except BlackBoxError:  # its words may hold values of rows
        return None, FAILED
    X = encoding.transform(rows.select(encoding.schema.names)).X
    agreed = float((fitted.pair.probabilities(X).argmax(1) == P.argmax(1)).mean())
    low, high = wilson(agreed, len(some))
    report = fitted.quality.report
    return SampleAgreement(agreed, low, high, len(some), report.agreement, *report.interval), ""

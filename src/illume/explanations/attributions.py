"""From a frame's rows to their attributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoded
from illume.data.frames import Frame
from illume.data.threads import RowChunks, in_chunks, row_chunks
from illume.errors import BlackBoxError, LeftOutError, rows_after
from illume.explanations.fitted import AnsweredFrame, Fitted
from illume.explanations.local_attributions import LocalAttributions, attribute_locally
from illume.results.attributions import Attributions
from illume.results.interactions import Interactions
from illume.results.lazy import Deferred, Source
from illume.results.trust import Novelty, Trust, typical_errors
from illume.shapley.refiner import ShapleyRefiner
from illume.shapley.shapley_model import ShapleyModel
from illume.shapley.walks import interaction_values

VALUES_AT_ONCE = 1_024  # rows, whose numbers then stay in the cache of a core
REFINED_AT_ONCE = 512


def attribute(fitted: Fitted, X: Any, refine: int = 0) -> Attributions:
    """Explain the user's rows; with `refine`, the model is asked this often more for each row."""
    frame = fitted.as_frame(X)
    _require_refinable(fitted, refine)
    return _attribute(fitted, frame, int(refine))


def _require_refinable(fitted: Fitted, refine: Any) -> None:
    if isinstance(refine, bool) or not (isinstance(refine, Integral) and int(refine) >= 0):
        raise ValueError(f"refine must be an integer, 0 or more, found {refine!r}")
    if not refine:
        return
    if fitted.shapley is None:
        raise ValueError("only Shapley values can be refined; fit with contributions='shapley' and queries")
    if not fitted.has_model:
        raise BlackBoxError(
            "refining asks the model, and the explainer was loaded without it; use illume.load(path, model=…)"
        )
    if fitted.background is None:
        raise LeftOutError(
            "refining mixes rows with background rows, and the explainer was saved with rows='none'; save it "
            "with rows to refine"
        )


def _attribute(fitted: Fitted, frame: Frame, refine: int) -> Attributions:
    """Explain the rows of a frame.

    Every batch is checked before the black box is asked about it. Beside the result itself, memory is needed
    for one batch only.
    """
    n, f, c = len(frame), len(fitted.schema), len(fitted.outputs)
    outputs = len(fitted.outputs.explained)
    X, P = np.empty((n, fitted.encoding.n_inputs), dtype=np.float32), np.empty((n, c))
    imputed, odd = np.zeros((2, n, f), dtype=bool)
    values: FloatArray = np.empty((n, f, outputs))
    errors: FloatArray = np.empty((n, f, outputs), dtype=np.float32)
    shapley, fill_values = fitted.shapley, _make_fill(fitted, refine)
    local: dict[int, LocalAttributions] = {}  # by the first row of each batch
    batches = RowChunks(n, BATCH_ROWS)
    for at in batches:
        with batches:
            piece = frame.slice(at.start, at.stop)
            with rows_after(at.start):
                encoded = fitted.encode(piece)
                if fitted.has_model:
                    P[at] = fitted.black_box(piece)
            X[at], imputed[at] = encoded.X, encoded.imputed
            odd[at] = encoded.odd | (encoded.imputed & ~fitted.missing)
            if shapley is None or not fitted.has_model:
                found = attribute_locally(fitted, encoded.X, P[at] if fitted.has_model else None)
                local[at.start] = found
                P[at] = P[at] if fitted.has_model else found.surrogate_predictions
            if fill_values is not None:
                fill_values(piece, encoded, P[at], values[at], errors[at])
    surrogate = LocalAttributions.join(list(local.values())) if local else None
    turn = fitted.outputs.turn
    if outputs == 1:
        values, errors = turn(values[..., 0]), errors[..., 0]
    base: FloatArray = fitted.pair.surrogate.intercept_
    offset: FloatArray = np.zeros((n, *values.shape[2:]))
    if shapley is not None:
        base = shapley.base_values
    elif surrogate is not None:
        values, offset = surrogate.values, surrogate.offset
        errors = np.broadcast_to(np.float32(np.nan), values.shape)
    return Attributions(
        values=values,
        base_values=np.broadcast_to(turn(base)[0] if outputs == 1 else base, offset.shape),
        offset=offset,
        rest=np.broadcast_to(0.0, offset.shape),
        data=fitted.row_values(frame),
        predictions=P,
        imputed=imputed,
        standard_errors=errors,
        labels=fitted.labels,
        origin=frame.origin,
        kind="pullback" if shapley is None else "shapley",
        stand_in=not fitted.has_model,
        fell_back=fitted.quality.fell_back,
        **_deferred_fields(fitted, X, P, errors=errors, odd=odd, local=surrogate),
    )


Fill = Callable[[Frame, Encoded, FloatArray, FloatArray, FloatArray], None]


def _make_fill(fitted: Fitted, n_queries: int) -> Fill | None:
    """Return a function that writes rows' values and standard errors into two arrays.

    They come from the networks alone, or with `n_queries` from asking the model too.
    """
    shapley, background = fitted.shapley, fitted.background
    if shapley is None:
        return None
    if n_queries and background is not None:
        return _make_refining_fill(shapley, fitted, background, n_queries)

    def fill(_: Frame, encoded: Encoded, P: FloatArray, values: FloatArray, errors: FloatArray) -> None:
        def fill_some(rows: slice) -> None:
            found = shapley(encoded.X[rows], encoded.imputed[rows], P[rows])
            values[rows], errors[rows] = found.values, found.errors

        in_chunks(fill_some, len(P), VALUES_AT_ONCE)

    return fill


def _make_refining_fill(
    shapley: ShapleyModel, fitted: Fitted, background: AnsweredFrame, n_queries: int
) -> Fill:
    others = fitted.encode(background.frame)
    refiner = ShapleyRefiner(
        shapley,
        background.frame,
        shapley.coding.codes(others.X, others.imputed),
        shapley.scale(background.P),
        fitted.schema.names,
    )

    def fill(piece: Frame, encoded: Encoded, P: FloatArray, values: FloatArray, errors: FloatArray) -> None:
        for rows in row_chunks(len(P), REFINED_AT_ONCE):
            codes = shapley.coding.codes(encoded.X[rows], encoded.imputed[rows])
            some, scores = piece.slice(rows.start, rows.stop), shapley.scale(P[rows])
            found = refiner(codes, some, scores, fitted.black_box, n_queries)
            values[rows], errors[rows] = found.values, found.errors

    return fill


class _Around(NamedTuple):
    trust: Trust
    novelty: Novelty


def _deferred_fields(
    fitted: Fitted,
    X: FloatArray,
    P: FloatArray,
    *,
    errors: FloatArray,
    odd: BoolArray,
    local: LocalAttributions | None,
) -> dict[str, Any]:
    """Return the fields that few users read; all that is not known yet is computed when it is read."""

    def look_around(X: FloatArray, errors: FloatArray, odd: BoolArray) -> _Around:
        trust = replace(
            fitted.trust_map(X), contribution_error=typical_errors(errors / fitted.outputs.common_unit)
        )
        return _Around(trust, fitted.novelty_detector.find(odd, trust.distance))

    around = Source(look_around, X, errors, odd)
    fields: dict[str, Any] = {name: Deferred(around, name) for name in _Around._fields}
    source = Source(lambda X, P: attribute_locally(fitted, X, P), X, P)
    for name in ("slopes", "surrogate_predictions", "refinement"):
        fields[name] = Deferred(source, name) if local is None else getattr(local, name)
    return fields


def explain_interactions(fitted: Fitted, X: Any, max_features: int, n_samples: int) -> Interactions:
    """Return pairwise interaction values of the features with the largest contributions."""
    for name, value, least in (("max_features", max_features, 2), ("n_samples", n_samples, 1)):
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be an integer, {least} or more, found {value!r}")
    frame, model = fitted.as_frame(X), fitted.shapley
    if model is None:
        raise ValueError("only Shapley values have interactions; fit with contributions='shapley'")
    if fitted.background is None:
        raise LeftOutError(
            "interactions compare rows with background rows, and the explainer was saved with rows='none'; "
            "save it with rows to have them"
        )
    attributions = attribute(fitted, frame)
    rows, background = (
        model.coding.codes(encoded.X, encoded.imputed)
        for encoded in map(fitted.encode, (frame, fitted.background.frame))
    )
    coded = model.coding.features
    order = np.argsort(-attributions.strength[coded], kind="stable")[:max_features]
    found = interaction_values(model.network, rows, background, order, n_samples)
    values = fitted.outputs.turn(model.scale.unit * found / 2)
    mine = attributions.values[:, coded[order]]
    mine = mine[..., None] if mine.ndim == 2 else mine
    diagonal = np.arange(len(order))
    values[:, diagonal, diagonal] = mine - values.sum(2)
    names = tuple(attributions.feature_names[j] for j in coded[order])
    flat = values[..., 0] if attributions.values.ndim == 2 else values
    return Interactions(flat, names, attributions.labels, attributions.origin)

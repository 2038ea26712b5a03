"""From a frame's rows to their attributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.encoding import Encoded
from illume.data.frames import Frame, as_frame
from illume.data.require import require_int
from illume.data.schema import require_columns
from illume.data.threads import row_chunks
from illume.errors import BlackBoxError, LeftOutError, SchemaError, Setting, TwinWarning, rows_after, warn
from illume.explanations.asked import Asked
from illume.explanations.fitted import AnsweredFrame, Fitted
from illume.explanations.local_attributions import LocalAttributions, attribute_locally
from illume.results.attributions import Attributions
from illume.results.interactions import Interactions
from illume.results.lazy import Deferred, Source
from illume.results.levels import HIGH
from illume.results.trust import Novelty, Trust
from illume.twin.twin import Contributions, Mixing

DIFFERENT = 1e-3  # of what counts as a large difference between the answers of model and twin


def attribute(fitted: Fitted, asked: Asked, refine: int = 0) -> Attributions:
    """Explain rows; with `refine`, the model is asked this often more for each row."""
    require_refinable(fitted, refine)
    return _pull_back(fitted, asked) if fitted.kind == "pullback" else _attribute(fitted, asked, int(refine))


def against(fitted: Fitted, background: Any) -> Fitted:
    """Return what was learned, but with values against other rows, which the model is asked about once."""
    if background is None:
        return fitted
    if fitted.kind == "pullback":
        raise ValueError("only Shapley values have a background; fit with contributions='shapley'")
    frame = require_columns(as_frame(background), fitted.columns)
    if not len(frame):
        raise SchemaError("background has no rows; give at least one, or leave it out")
    asked = Asked.about(fitted, frame)
    twin = fitted.twin.against(frame.select(fitted.schema.names), asked.encoded, asked.P)
    facts = replace(fitted.facts, n_background=len(frame))
    return replace(fitted, twin=twin, background=AnsweredFrame(frame, asked.P), facts=facts)


def require_refinable(fitted: Fitted, refine: Any) -> None:
    """Raise unless contributions can be refined, by this many questions for each row."""
    require_int("refine", refine, least=0)
    if refine and fitted.twin.exact:
        warn(f"contributions are exact: refine={refine} is not needed")
    if not refine or fitted.twin.exact:
        return
    if fitted.kind == "pullback":
        raise ValueError("only Shapley values can be refined; fit with contributions='shapley' and queries")
    if not fitted.has_model:
        raise BlackBoxError(
            "refining asks the model, and the explainer was loaded without it; use illume.load(path, model=…)"
        )
    if fitted.background is None:
        raise LeftOutError(
            "refining mixes rows with background rows, and the explainer was saved with ",
            Setting("rows", "none"),
            "; save it with rows to refine",
        )


def _attribute(fitted: Fitted, asked: Asked, refine: int) -> Attributions:
    """Return Shapley values; beside the result itself, memory is needed for one batch only."""
    n, f, twin = len(asked), len(fitted.schema), fitted.twin
    s = len(fitted.outputs.explained)
    values: FloatArray = np.empty((n, f, s))
    errors: FloatArray = np.empty((n, f, s), dtype=np.float32)
    for at in row_chunks(n, BATCH_ROWS):
        with rows_after(at.start):
            piece = asked.frame.slice(at.start, at.stop)
            rows = twin.read(piece, asked.encoded[at])
            values[at], errors[at] = _values(fitted, (rows, piece), asked.P[at], refine)
            if twin.exact and fitted.has_model:
                _compare(fitted, asked.P[at], twin.base_values + values[at].sum(1), at.start)
    turn = fitted.outputs.turn
    base, single = twin.base_values, s == 1
    if single:
        values, errors = turn(values[..., 0]), errors[..., 0]
        base = fitted.outputs.turn_total(base)[0]
    nothing = np.zeros((n, *values.shape[2:]))
    return Attributions(
        values=values,
        base_values=np.broadcast_to(base, nothing.shape),
        offset=nothing,
        rest=np.broadcast_to(0.0, nothing.shape),
        data=fitted.row_values(asked.frame),
        predictions=asked.P,
        imputed=asked.encoded.imputed,
        standard_errors=errors,
        labels=fitted.labels,
        origin=asked.frame.origin,
        kind="shapley",
        stand_in=not fitted.has_model,
        **_deferred_fields(fitted, asked, values, errors, most=HIGH if refine else fitted.facts.word),
    )


def _compare(fitted: Fitted, P: FloatArray, scores: FloatArray, first: int) -> None:
    """Warn where the model's answers P (n, c) are not those of scores (n, s) that were read from it."""
    off = (np.abs(P - fitted.outputs.answers_of(scores)) / fitted.outputs.unit).max(1)
    different = np.flatnonzero(off > DIFFERENT)
    if len(different):
        warn(
            f"for {len(different)} of {len(P)} rows the model's answers differ from what was read from it, "
            f"by up to {off.max():.2g}, first for row {first + different[0]}; their contributions add up to "
            "what was read. Fit again if the model has changed, or with twin='learned'",
            TwinWarning,
        )


def _values(fitted: Fitted, read: tuple[Any, Frame], P: FloatArray, refine: int) -> Contributions:
    rows, piece = read
    if not refine or fitted.background is None:
        return fitted.twin.values(rows, P)
    names, background = fitted.schema.names, fitted.background
    return fitted.twin.refine(
        rows, piece, P, Mixing(background.frame, background.P, names, fitted.black_box, refine)
    )


def _pull_back(fitted: Fitted, asked: Asked) -> Attributions:
    """Explain rows by the latent surrogate's slopes, as in the paper."""
    P = asked.P if fitted.has_model else None
    found = attribute_locally(fitted, asked.X, P)
    single = found.values.ndim == 2
    base = np.asarray(fitted.pair.surrogate.intercept_)
    base = fitted.outputs.turn(base)[0] if single else base
    errors = np.full(found.values.shape, np.nan, dtype=np.float32)
    return Attributions(
        values=found.values,
        base_values=np.broadcast_to(base, found.offset.shape),
        offset=found.offset,
        rest=np.broadcast_to(0.0, found.offset.shape),
        slopes=found.slopes,
        data=fitted.row_values(asked.frame),
        predictions=found.surrogate_predictions if P is None else P,
        surrogate_predictions=found.surrogate_predictions,
        imputed=asked.encoded.imputed,
        trust=Trust.of(found.values, errors),
        refinement=found.refinement,
        novelty=asked.novelty(fitted),
        labels=fitted.labels,
        origin=asked.frame.origin,
        stand_in=not fitted.has_model,
        standard_errors=errors,
        kind="pullback",
        fell_back=fitted.latents().quality.fell_back,
    )


class _Around(NamedTuple):
    trust: Trust
    novelty: Novelty


def _deferred_fields(
    fitted: Fitted, asked: Asked, values: FloatArray, errors: FloatArray, most: str
) -> dict[str, Any]:
    """Return the fields that few users read; they are computed when they are read.

    No row is trusted more than `most`; errors of refined rows are their own.
    """
    unit, encoded = fitted.outputs.common_unit, asked.encoded

    def look_around(
        values: FloatArray, errors: FloatArray, X: FloatArray, imputed: BoolArray, odd: BoolArray
    ) -> _Around:
        trust = Trust.of(values / unit, errors / unit, fitted.usual_square, most)
        return _Around(trust, fitted.novelty_detector(Encoded(X, imputed, odd)))

    def locally(X: FloatArray, P: FloatArray) -> LocalAttributions:
        return attribute_locally(fitted, X, P)

    around = Source(look_around, values, errors, encoded.X, encoded.imputed, encoded.odd)
    local = Source(locally, encoded.X, asked.P, costly=True)
    fields = {name: Deferred(around, name) for name in _Around._fields}
    return fields | {
        name: Deferred(local, name) for name in ("slopes", "surrogate_predictions", "refinement")
    }


def explain_interactions(fitted: Fitted, X: Any, max_features: int | None = None) -> Interactions:
    """Return pairwise interaction values, of all features or of those with the largest contributions."""
    require_int("max_features", max_features, least=2, other=(None,))
    if fitted.kind == "pullback":
        raise ValueError("only Shapley values have interactions; fit with contributions='shapley'")
    if fitted.background is None:
        raise LeftOutError(
            "interactions compare rows with background rows, and the explainer was saved with rows='none'; "
            "save it with rows to have them"
        )
    frame = fitted.as_frame(X)
    if fitted.twin.exact:  # which does not need the model's answers
        asked = Asked(frame, fitted.encode(frame), np.empty((len(frame), 0)))
    else:
        asked = Asked.about(fitted, frame)
    found = fitted.twin.pairs(fitted.twin.read(frame, asked.encoded), asked.P, max_features)
    values, errors = fitted.outputs.turn(found.values), found.errors
    if values.shape[-1] == 1:
        values, errors = values[..., 0], errors[..., 0]
    names = tuple(fitted.schema.names[j] for j in found.features)
    return Interactions(values, names, fitted.labels, asked.frame.origin, errors)

"""From a frame's rows to their attributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BATCH_ROWS
from illume.data.frames import Frame
from illume.data.threads import RowChunks, in_chunks, single_blas_thread
from illume.errors import BlackBoxError, LeftOutError, rows_after
from illume.explanations.encode_rows import fitted_labels, row_values
from illume.explanations.fitted import Fitted
from illume.explanations.local_attributions import LocalArrays, attribute_locally
from illume.results.attributions import Attributions
from illume.results.interactions import Interactions
from illume.results.lazy import Deferred, Source
from illume.results.trust import Novelty, Trust, typical_errors
from illume.shapley.refiner import ShapleyRefiner
from illume.shapley.shapley_model import Contributions, ShapleyModel
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


@dataclass(frozen=True, eq=False)
class _Rows:
    """Arrays that are filled in batch by batch: encoded rows in single precision, answers, contributions."""

    X: FloatArray
    P: FloatArray
    imputed: BoolArray
    odd: BoolArray
    values: FloatArray
    errors: FloatArray

    @classmethod
    def empty(cls, fitted: Fitted, n: int) -> _Rows:
        f, c = len(fitted.schema), len(fitted.class_names)
        outputs = 1 if c == 2 else c
        return cls(
            np.empty((n, fitted.encoding.n_inputs), dtype=np.float32),
            np.empty((n, c)),
            np.zeros((n, f), dtype=bool),
            np.zeros((n, f), dtype=bool),
            np.empty((n, f, outputs)),
            np.empty((n, f, outputs), dtype=np.float32),
        )


def _attribute(fitted: Fitted, frame: Frame, refine: int) -> Attributions:
    """Explain the rows of a frame.

    Every batch is checked before the black box is asked about it. Beside the result itself, memory is needed
    for one batch only.
    """
    n, shapley, stand_in = len(frame), fitted.shapley, not fitted.has_model
    rows, refiner = _Rows.empty(fitted, n), _make_refiner(fitted) if refine else None
    local = []
    batches = RowChunks(n, BATCH_ROWS)
    for at in batches:
        with batches:
            piece = frame.slice(at.start, at.stop)
            with rows_after(at.start):
                X = _encode(fitted, piece, rows, at)
                if not stand_in:
                    rows.P[at] = fitted.black_box(piece)
            if shapley is None or stand_in:
                local.append(attribute_locally(fitted, X, None if stand_in else rows.P[at]))
                rows.P[at] = local[-1].surrogate_probabilities if stand_in else rows.P[at]
            if shapley is not None:
                _fill_values(shapley, rows, X, at)
                if refiner is not None:
                    _refine_values(fitted, refiner, rows, piece=piece, X=X, at=at, refine=refine)
    return _build(fitted, frame, rows, LocalArrays.join(local))


def _encode(fitted: Fitted, piece: Frame, rows: _Rows, at: slice) -> FloatArray:
    encoded = fitted.encoding.transform(piece.select(fitted.schema.names))
    rows.X[at], rows.imputed[at] = encoded.X, encoded.imputed
    rows.odd[at] = encoded.odd | (encoded.imputed & ~fitted.missing)
    return encoded.X


def _fill_values(shapley: ShapleyModel, rows: _Rows, X: FloatArray, at: slice) -> None:
    def fill(part: slice) -> None:
        here = slice(at.start + part.start, at.start + part.stop)
        found = shapley(X[part], rows.imputed[here], rows.P[here])
        rows.values[here], rows.errors[here] = found.values, found.errors

    with single_blas_thread(len(X)):
        in_chunks(fill, len(X), VALUES_AT_ONCE)


def _refine_values(
    fitted: Fitted,
    refiner: ShapleyRefiner,
    rows: _Rows,
    *,
    piece: Frame,
    X: FloatArray,
    at: slice,
    refine: int,
) -> None:
    for start in range(0, len(X), REFINED_AT_ONCE):
        part = slice(start, min(start + REFINED_AT_ONCE, len(X)))
        here = slice(at.start + part.start, at.start + part.stop)
        codes = refiner.model.coding.codes(X[part], rows.imputed[here])
        log_odds = refiner.model.log_odds(rows.P[here])
        some = piece.slice(part.start, part.stop)
        found: Contributions = refiner(codes, some, log_odds, fitted.black_box, refine)
        rows.values[here], rows.errors[here] = found.values, found.errors


def _make_refiner(fitted: Fitted) -> ShapleyRefiner | None:
    model, background = fitted.shapley, fitted.background
    if model is None or background is None:
        return None
    encoded = fitted.encoding.transform(background.frame.select(fitted.schema.names))
    codes = model.coding.codes(encoded.X, encoded.imputed)
    return ShapleyRefiner(model, background.frame, codes, model.log_odds(background.P), fitted.schema.names)


def _build(fitted: Fitted, frame: Frame, rows: _Rows, local: LocalArrays | None) -> Attributions:
    """Build the result from finished arrays; what few users read is computed when it is read."""
    labels, n = fitted_labels(fitted), len(rows.P)
    flat = len(labels.outputs) == 1
    outputs = () if flat else (len(labels.outputs),)
    base = fitted.pair.surrogate.intercept_ if fitted.shapley is None else fitted.shapley.base
    if fitted.shapley is None and local is not None:
        values, offset = local.values, local.offset
        errors = np.broadcast_to(np.float32(np.nan), values.shape)
    else:
        values, offset, errors = rows.values, np.zeros((n, len(labels.outputs))), rows.errors
    values, errors, offset = (array[..., 0] if flat else array for array in (values, errors, offset))
    if local is None:
        source = Source(lambda X, P: _shape(attribute_locally(fitted, X, P), flat), rows.X, rows.P)
        later: Any = {name: Deferred(source, name) for name in _Local._fields}
    else:
        later = _shape(local, flat)._asdict()
    around = Source(lambda X, errors, odd: _look_around(fitted, X, errors, odd), rows.X, errors, rows.odd)
    later |= {name: Deferred(around, name) for name in _Around._fields}
    return Attributions(
        values=values,
        base_values=np.broadcast_to(base[0] if flat else base, (n, *outputs)),
        offset=offset,
        rest=np.broadcast_to(np.zeros(outputs), (n, *outputs)),
        data=row_values(fitted.encoding, frame),
        probabilities=rows.P,
        imputed=rows.imputed,
        standard_errors=errors,
        labels=labels,
        origin=frame.origin,
        kind="pullback" if fitted.shapley is None else "shapley",
        stand_in=not fitted.has_model,
        fell_back=fitted.quality.fell_back,
        **later,
    )


class _Local(NamedTuple):
    slopes: FloatArray
    surrogate_probabilities: FloatArray
    refinement: Any


def _shape(local: LocalArrays, flat: bool) -> _Local:
    slopes = local.slopes[..., 0] if flat else local.slopes
    return _Local(slopes, local.surrogate_probabilities, local.refinement)


class _Around(NamedTuple):
    trust: Trust
    novelty: Novelty


def _look_around(fitted: Fitted, X: FloatArray, errors: FloatArray, odd: BoolArray) -> _Around:
    """Return how the surrogate does around rows, and which rows are unlike the fitted ones."""
    trust = replace(fitted.trust_map(X), contribution_error=typical_errors(errors))
    return _Around(trust, fitted.novelty_detector.find(odd, trust.distance))


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
        for encoded in (
            fitted.encoding.transform(each.select(fitted.schema.names))
            for each in (frame, fitted.background.frame)
        )
    )
    coded = model.coding.features
    order = np.argsort(-attributions.strength[coded], kind="stable")[:max_features]
    found = interaction_values(model.network, rows, background, order, n_samples)
    values = found / 2
    mine = attributions.values[:, coded[order]]
    mine = mine[..., None] if mine.ndim == 2 else mine
    diagonal = np.arange(len(order))
    values[:, diagonal, diagonal] = mine - values.sum(2)
    names = tuple(attributions.feature_names[j] for j in coded[order])
    flat = values[..., 0] if attributions.values.ndim == 2 else values
    return Interactions(flat, names, attributions.labels, attributions.origin)

"""From a frame's rows to their attributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.black_box import BATCH_ROWS, predict_piece
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame, Origin
from illume.data.threads import RowChunks, in_chunks, single_blas_thread
from illume.errors import BlackBoxError, LeftOutError
from illume.explanations.encode_rows import fitted_labels, row_values
from illume.explanations.fitted import Fitted, Pair
from illume.explanations.lazy import FieldSource, LazyAttributions
from illume.explanations.pullback import contributions
from illume.explanations.refine_attributions import Refining, ToRefine
from illume.results.attributions import Attributions
from illume.results.predictions import decisions_of
from illume.results.trust import Novelty, Refinement, Trust, typical_errors
from illume.shapley.refiner import Refiner
from illume.surrogates.base import probabilities_of
from illume.surrogates.logistic import Weighted

VALUES_AT_ONCE = 1_024  # rows whose numbers stay in the cache of a core
REFINED_AT_ONCE = 512
AT_ONCE = 4_096  # rows that a thread takes: with many more, one waits long for the other's last


def attribute(fitted: Fitted, X: Any, refine: int = 0) -> Attributions:
    """Explain the user's rows; with `refine`, the model is asked this often more for each row."""
    frame = fitted.as_frame(X)
    _require_refinable(fitted, refine)
    with fitted.naming_rows(frame):
        refiner = _make_refiner(fitted) if refine else None
        return AttributionMaker(fitted, int(refine), refiner).attributions(frame)


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


def _make_refiner(fitted: Fitted) -> Refiner | None:
    model, background = fitted.shapley, fitted.background
    if model is None or background is None:
        return None
    encoded = fitted.encoding.transform(background.frame.select(fitted.schema.names))
    codes = model.coding.codes(encoded.X, encoded.imputed)
    return Refiner(model, background.frame, codes, model.log_odds(background.P), fitted.schema.names)


@dataclass(frozen=True, eq=False)
class Room:
    """What the rows of a piece are worked on in: encoded rows, latents, and rows in single precision.

    The latter are kept for the whole frame: trust is looked up by them when it is asked for.
    """

    X: FloatArray
    Z: FloatArray
    small: FloatArray


@dataclass(frozen=True, eq=False)
class AttributionMaker:
    """Attributes decisions on rows to features."""

    fitted: Fitted
    refine: int = 0
    refiner: Refiner | None = None

    @property
    def encoding(self) -> Encoding:
        """How rows become numbers."""
        return self.fitted.encoding

    @property
    def pair(self) -> Pair:
        """The encoder and the surrogate."""
        return self.fitted.pair

    def attributions(self, frame: Frame) -> Attributions:
        """Explain the rows of a frame.

        Every piece is checked before the black box is asked about it, in the thread that calls. Beside the
        result itself, memory is needed for one piece only.
        """
        stand_in = not self.fitted.has_model
        later = self.fitted.shapley is not None and not stand_in  # slopes, when they are asked for
        result, room = self._result(len(frame), frame.origin, stand_in), self._room(len(frame))
        pieces = RowChunks(len(frame), BATCH_ROWS)
        for rows in pieces:
            with pieces:
                piece = frame.slice(rows.start, rows.stop)
                self._read(result, room, rows, piece)
                if not later:
                    self._pull_back(result, room, rows)
                if self.fitted.shapley is not None:
                    self._value(result, room, rows, piece)
        result = replace(result, data=row_values(self.encoding, frame))
        trust = (room.small, result.standard_errors, result.novelty.features)
        sources = [FieldSource(("trust", "novelty"), trust, self._trust)]
        if later:
            names = ("slopes", "surrogate_probabilities", "refinement")
            sources.append(FieldSource(names, (room.small, result.probabilities), self._local))
        return LazyAttributions.of(result, *sources)

    def _trust(self, X: FloatArray, errors: FloatArray, odd: BoolArray) -> tuple[Trust, Novelty]:
        """Return trust and novelty of encoded rows."""
        trust = replace(self.fitted.trust_map(X), contribution_error=typical_errors(errors))
        return trust, self.fitted.novelty_detector.find(odd, trust.distance)

    def _local(self, X: FloatArray, P: FloatArray) -> tuple[FloatArray, FloatArray, Refinement]:
        """Return slopes, surrogate's answers and refinement of encoded rows; P are the model's answers."""
        plain = replace(self, fitted=replace(self.fitted, shapley=None), refine=0, refiner=None)
        result, room = plain._result(len(X), Origin(), False), plain._room(len(X))
        result.probabilities[:] = P
        pieces = RowChunks(len(X), BATCH_ROWS)
        for rows in pieces:
            with pieces:
                room.X[: rows.stop - rows.start] = X[rows]
                plain._pull_back(result, room, rows)
        return result.slopes, result.surrogate_probabilities, result.refinement

    def _result(self, n: int, origin: Origin, stand_in: bool) -> Attributions:
        """Return room for the attributions of n rows."""
        labels = fitted_labels(self.fitted)
        outputs = () if len(labels.outputs) == 1 else (len(labels.outputs),)
        return Attributions(
            values=np.empty((n, len(labels.features), *outputs)),
            base_values=np.broadcast_to(self._base(), (n, *outputs)),
            offset=np.zeros((n, *outputs)),
            rest=np.broadcast_to(np.zeros(outputs), (n, *outputs)),
            slopes=np.empty((n, len(labels.inputs), *outputs), dtype=np.float32),
            data=np.empty((n, 0)),  # when all rows are known to be good
            probabilities=np.empty((n, len(labels.classes))),
            surrogate_probabilities=np.empty((n, len(labels.classes))),
            imputed=np.zeros((n, len(labels.features)), dtype=bool),
            trust=Trust.unknown(0),  # when they are asked for
            novelty=Novelty.empty(n, labels.features),
            refinement=Refinement.empty(n, off=not len(self.fitted.neighbours.X)),
            labels=labels,
            origin=origin,
            stand_in=stand_in,
            standard_errors=self._errors(n, len(labels.features), outputs),
            kind="pullback" if self.fitted.shapley is None else "shapley",
            fell_back=self.fitted.quality.fell_back,
        )

    def _errors(self, n: int, f: int, outputs: tuple[int, ...]) -> FloatArray:
        """Return room for standard errors; those of pulled-back contributions are not known."""
        shape = (n, f, *outputs)
        if self.fitted.shapley is None:
            return np.broadcast_to(np.float32(np.nan), shape)
        return np.empty(shape, dtype=np.float32)

    def _value(self, result: Attributions, room: Room, rows: slice, piece: Frame) -> None:
        """Fill in Shapley values, refined by asking the model where that is wanted, and their errors."""
        n, flat, shapley = rows.stop - rows.start, result.values.ndim == 2, self.fitted.shapley
        if shapley is None:
            return
        result.offset[rows] = 0.0

        def value(part: slice) -> None:
            here = slice(rows.start + part.start, rows.start + part.stop)
            P = result.probabilities[here]
            found = shapley(room.X[part], result.imputed[here], P)
            result.values[here] = found.values[..., 0] if flat else found.values
            result.standard_errors[here] = found.errors[..., 0] if flat else found.errors

        if self.refiner is None:
            with single_blas_thread(n):
                in_chunks(value, n, VALUES_AT_ONCE)
            return
        for start in range(0, n, REFINED_AT_ONCE):
            part = slice(start, min(start + REFINED_AT_ONCE, n))
            here = slice(rows.start + part.start, rows.start + part.stop)
            codes = shapley.coding.codes(room.X[part], result.imputed[here])
            log_odds = shapley.log_odds(result.probabilities[here])
            found = self.refiner(
                codes, piece.slice(part.start, part.stop), log_odds, self.fitted.black_box, self.refine
            )
            result.values[here] = found.values[..., 0] if flat else found.values
            result.standard_errors[here] = found.errors[..., 0] if flat else found.errors

    def _base(self) -> Any:
        if self.fitted.shapley is None:
            return self._intercept()
        base = self.fitted.shapley.base
        return base[0] if len(base) == 1 else base

    def _room(self, n: int) -> Room:
        at_once, m = min(n, BATCH_ROWS), self.encoding.n_inputs
        Z = np.empty((at_once, self.pair.n_latents))
        return Room(np.empty((at_once, m)), Z, np.empty((n, m), dtype=np.float32))

    def _read(self, result: Attributions, room: Room, rows: slice, piece: Frame) -> None:
        """Encode a piece and ask about it."""
        X, odd = room.X[: rows.stop - rows.start], result.novelty.features[rows]
        imputed = result.imputed[rows]
        self.encoding.fill(piece.select(self.encoding.schema.names), Encoded(X, imputed, odd))
        if imputed.any():
            odd |= imputed & ~self.fitted.missing
        if not result.stand_in:
            result.probabilities[rows] = predict_piece(self.fitted.black_box, piece, rows.start)
        room.small[rows] = X

    def _pull_back(self, result: Attributions, room: Room, rows: slice) -> None:
        """Fill in the surrogate's explanations of a piece that was read."""
        n = rows.stop - rows.start
        X, Z = room.X[:n], room.Z[:n]

        def attribute(part: slice) -> None:
            at = slice(rows.start + part.start, rows.start + part.stop)
            self._attribute(result, room, at, part)

        with single_blas_thread(n):
            in_chunks(attribute, n, AT_ONCE, self._parallel)
            others = np.flatnonzero(~result.refinement.agreed[rows])
            if len(others) and not result.refinement.off:
                wanted = decisions_of(result.probabilities[rows][others])
                to_refine = ToRefine(rows.start + others, X[others], Z[others], wanted)
                refine = Refining(
                    self.encoding,
                    self.pair,
                    self.fitted.neighbours,
                    self.fitted.split.training,
                    self._parallel,
                )
                refine(result, to_refine)

    def _attribute(self, result: Attributions, room: Room, at: slice, part: slice) -> None:
        """Fill in slopes, contributions, the surrogate's answers, and the latents of rows to refine."""
        X, surrogate = room.X[part], self.pair.surrogate
        pulled = self.pair.encoder.pull_back(X, surrogate.coef_)
        room.Z[part] = pulled.Z
        logits = self._contribute(result, at, pulled.slopes, X)
        if getattr(type(surrogate), "probabilities", None) is Weighted.probabilities:
            Q = probabilities_of(logits)
        else:
            Q = surrogate.probabilities(pulled.Z)
        result.surrogate_probabilities[at] = Q
        if result.stand_in:
            result.probabilities[at] = Q
        result.refinement.agreed[at] = decisions_of(Q) == decisions_of(result.probabilities[at])

    def _contribute(self, result: Attributions, here: slice, slopes: FloatArray, X: FloatArray) -> FloatArray:
        """Fill in slopes and contributions of some rows; return the log-odds (n, c) that they add up to."""
        intercept = self.pair.surrogate.intercept_
        if result.values.ndim == 2 and self.encoding.one_to_one:
            result.slopes[here] = slopes[:, 0]
            values = np.multiply(slopes[:, 0], X, out=result.values[here])
            return (values @ np.ones(X.shape[1]))[:, None] + intercept
        each = contributions(slopes, X)
        values = self.encoding.gather(each)
        flat = result.values.ndim == 2
        result.slopes[here] = slopes[:, 0] if flat else np.swapaxes(slopes, 1, 2)
        result.values[here] = values[:, 0] if flat else np.swapaxes(values, 1, 2)
        return each @ np.ones(X.shape[1]) + intercept

    @property
    def _parallel(self) -> bool:
        """Whether chunks of rows may be explained in several threads: not by parts that a user wrote."""
        thread_safe = getattr(self.pair.encoder, "thread_safe", False)
        return bool(thread_safe) and isinstance(self.pair.surrogate, Weighted)

    def _intercept(self) -> Any:
        intercept = self.pair.surrogate.intercept_
        return intercept[0] if len(intercept) == 1 else intercept

r"""Attributions of the local surrogate: slopes :math:`\psi = \beta W(x)` times centred inputs, then refined.

Where the surrogate decides otherwise than the black box, the row's explanation is moved towards that of the
nearest training row which both decide like the row. Numbers are reached exactly, by a constant instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.threads import CHUNK_ROWS, in_chunks, single_blas_thread
from illume.explanations.fitted import Fitted
from illume.explanations.refinement import LinearRegions, Refiner
from illume.results.trust import Refinement
from illume.surrogates.base import WeightedSurrogate

AT_ONCE = 4_096  # rows per thread: with many more, one thread waits long for the last of another


@dataclass(frozen=True, eq=False)
class LocalAttributions:
    """Attributions by the local surrogate, without the last axis where there is one output.

    Contributions are (n, f, c), slopes (n, m, c), offsets (n, c).
    """

    values: FloatArray
    slopes: FloatArray
    offset: FloatArray
    surrogate_predictions: FloatArray
    refinement: Refinement

    @classmethod
    def join(cls, parts: list[LocalAttributions]) -> LocalAttributions:
        """Join parts one after the other."""

        def concatenate(items: Iterable[Any], names: tuple[str, ...]) -> dict[str, Any]:
            return {name: np.concatenate([getattr(item, name) for item in items]) for name in names}

        found = [part.refinement for part in parts]
        arrays = concatenate(parts, ("values", "slopes", "offset", "surrogate_predictions"))
        steps = concatenate(found, Refinement.PER_ROW)
        return cls(**arrays, refinement=replace(found[0], **steps))


def attribute_locally(fitted: Fitted, X: FloatArray, P: FloatArray | None) -> LocalAttributions:
    """Return the surrogate's attributions of encoded rows X (n, m) that the black box answers with P (n, c).

    Without P, the surrogate's own decisions are taken as the black box's.
    """
    (n, m), neighbours = X.shape, fitted.neighbours
    encoder, surrogate, coef = fitted.pair.encoder, fitted.pair.surrogate, fitted.pair.surrogate.coef_
    # Encoders and surrogates that a user wrote may not be thread-safe.
    parallel = getattr(encoder, "thread_safe", False) and isinstance(surrogate, WeightedSurrogate)
    values = np.empty((n, len(fitted.schema), len(coef)))
    slopes = np.empty((n, m, len(coef)), dtype=np.float32)
    Z, Q = np.empty((n, fitted.pair.n_latents)), np.empty((n, len(fitted.outputs)))
    offset, refinement = np.zeros((n, len(coef))), Refinement.empty(n, off=not len(neighbours.X))

    def fill(rows: slice) -> None:
        x = X[rows].astype(np.float64, copy=False)
        pulled = encoder.pull_back(x, coef)
        each = fitted.encoding.gather(pulled.slopes * x[:, None])
        values[rows], slopes[rows] = np.swapaxes(each, 1, 2), np.swapaxes(pulled.slopes, 1, 2)
        Z[rows], Q[rows] = pulled.Z, surrogate.answers(pulled.Z)
        offset[rows] = _level_offset(encoder, pulled.Z, coef, values[rows])

    with single_blas_thread():
        in_chunks(fill, n, AT_ONCE, parallel)
        answers = Q if P is None else P
        refinement.agreed[:] = fitted.outputs.alike(answers, Q)
        others = np.flatnonzero(~refinement.agreed)
        if fitted.outputs.takes_offset:  # a number is reached exactly, by what is left
            offset += fitted.outputs.scores(answers) - fitted.outputs.scores(Q)
            refinement = replace(refinement, exact=True)
        elif len(others) and not refinement.off:
            wanted = fitted.outputs.strata.decide(answers)
            near = neighbours.nearest(Z[others], wanted[others])
            refiner = Refiner(encoder, LinearRegions(surrogate, fitted.outputs.strata), neighbours, coef)

            def refine(part: slice) -> None:
                rows, x = others[part], X[others[part]].astype(np.float64, copy=False)
                refined = refiner(x, Z[rows], wanted[rows], near[part])
                theirs = fitted.encoding.gather(refined.slopes * x[:, None])
                mixed = refined.mix(values[rows], np.swapaxes(theirs, 1, 2))
                slopes[rows] = refined.mix(slopes[rows], np.swapaxes(refined.slopes, 1, 2))
                offset[rows] = _level_offset(encoder, refined.Z - refined.offset, coef, mixed)
                values[rows], offset[rows] = mixed, offset[rows] + refined.offset @ coef.T
                refinement[rows] = refined.refinement

            in_chunks(refine, len(others), CHUNK_ROWS, parallel)
    refinement = refinement.locate_neighbours(fitted.split.training)
    if len(coef) == 1:
        values, slopes, offset = _single(fitted, values, slopes, offset)
    return LocalAttributions(values, slopes, offset, Q, refinement)


def _level_offset(encoder: Any, Z: FloatArray, coef: FloatArray, values: FloatArray) -> FloatArray:
    """Return what the rows' own levels add to scores (n, c), which no feature's contribution holds."""
    if not getattr(encoder, "has_levels", False):
        return np.zeros((len(Z), len(coef)))
    return np.asarray(Z @ coef.T - values.sum(1))


def _single(fitted: Fitted, *arrays: FloatArray) -> Any:
    """Return the only output of arrays, in the direction of the positive class."""
    return [fitted.outputs.turn(array[..., 0]) for array in arrays]

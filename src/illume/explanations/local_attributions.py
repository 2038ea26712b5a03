r"""Attributions of the local surrogate: slopes :math:`\psi = \beta W(x)` times centred inputs, then refined.

Where the surrogate decides otherwise than the black box, the row's explanation is moved towards that of the
nearest training row which both decide like the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.threads import CHUNK_ROWS, in_chunks, row_chunks, single_blas_thread
from illume.explanations.fitted import Fitted
from illume.explanations.step_search import LatentRefiner, LinearRegions, Refined, carrier, refine_scores
from illume.results.trust import Refinement
from illume.surrogates.base import WeightedSurrogate, scores

AT_ONCE = 4_096  # rows per thread: with many more, one thread waits long for the last of another
ENTRIES = 2**24  # of neighbours' slopes at once


@dataclass(frozen=True, eq=False)
class LocalArrays:
    """Contributions (n, f, c), slopes (n, m, c), offset (n, c), probabilities, and how rows were refined."""

    values: FloatArray
    slopes: FloatArray
    offset: FloatArray
    surrogate_probabilities: FloatArray
    refinement: Refinement

    @classmethod
    def join(cls, parts: list[LocalArrays]) -> LocalArrays | None:
        """Join parts one after the other; None without any."""
        if len(parts) < 2:
            return parts[0] if parts else None
        names = ("values", "slopes", "offset", "surrogate_probabilities")
        arrays: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        refined = [part.refinement for part in parts]
        steps: Any = {
            name: np.concatenate([getattr(r, name) for r in refined]) for name in Refinement.PER_ROW
        }
        return cls(**arrays, refinement=Refinement(**steps, off=refined[0].off))


def attribute_locally(fitted: Fitted, X: FloatArray, P: FloatArray | None) -> LocalArrays:
    """Return the surrogate's attributions of encoded rows X (n, m) that the black box answers with P (n, c).

    Without P, its own decisions are taken as the black box's.
    """
    (n, m), pair = X.shape, fitted.pair
    coef, surrogate = pair.surrogate.coef_, pair.surrogate
    values = np.empty((n, len(fitted.schema), len(coef)))
    slopes = np.empty((n, m, len(coef)), dtype=np.float32)
    Z, Q = np.empty((n, pair.n_latents)), np.empty((n, len(fitted.class_names)))

    def fill(rows: slice) -> None:
        x = X[rows].astype(np.float64, copy=False)
        pulled = pair.encoder.pull_back(x, coef)
        each = fitted.encoding.gather(pulled.slopes * x[:, None])
        values[rows], slopes[rows] = np.swapaxes(each, 1, 2), np.swapaxes(pulled.slopes, 1, 2)
        Z[rows], Q[rows] = pulled.Z, surrogate.probabilities(pulled.Z)

    refinement = Refinement.empty(n, off=not len(fitted.neighbours.X))
    offset = np.zeros((n, len(coef)))
    with single_blas_thread(n):
        in_chunks(fill, n, AT_ONCE, _thread_safe(fitted))
        if P is not None:
            refinement.agreed[:] = Q.argmax(1) == P.argmax(1)
            others = np.flatnonzero(~refinement.agreed)
            if len(others) and not refinement.off:
                rows = _RowsToRefine(others, X[others].astype(np.float64), Z[others], P[others].argmax(1))
                refine = _refine_scores if isinstance(surrogate, WeightedSurrogate) else _refine_latents
                refine(fitted, LocalArrays(values, slopes, offset, Q, refinement), rows)
    return LocalArrays(values, slopes, offset, Q, refinement)


def _thread_safe(fitted: Fitted) -> bool:
    """Whether rows may be explained in several threads: not by parts that a user wrote."""
    thread_safe = getattr(fitted.pair.encoder, "thread_safe", False)
    return bool(thread_safe) and isinstance(fitted.pair.surrogate, WeightedSurrogate)


class _RowsToRefine(NamedTuple):
    """Positions (n,), encoded rows (n, m), latents (n, k) and the black box's decisions (n,)."""

    at: IntArray
    X: FloatArray
    Z: FloatArray
    wanted: IntArray

    def take(self, rows: slice | IntArray) -> _RowsToRefine:
        return _RowsToRefine(self.at[rows], self.X[rows], self.Z[rows], self.wanted[rows])


def _refine_scores(fitted: Fitted, found: LocalArrays, rows: _RowsToRefine) -> None:
    """Refine by log-odds, in arrays not yet handed out; only neighbours' slopes are needed."""
    pair, near_rows = fitted.pair, fitted.neighbours
    coef, parallel = pair.surrogate.coef_, _thread_safe(fitted)
    for part in row_chunks(len(rows.at), max(CHUNK_ROWS, ENTRIES // max(len(coef) * rows.X.shape[1], 1))):
        some = rows.take(part)
        near = near_rows.nearest(some.Z, some.wanted)
        if (near < 0).any():
            some, near = some.take(np.flatnonzero(near >= 0)), near[near >= 0]
        which, each = np.unique(near, return_inverse=True)
        slopes = np.empty((len(which), len(coef), rows.X.shape[1]))

        def pull_back(p: slice, slopes: FloatArray = slopes, which: IntArray = which) -> None:
            slopes[p] = pair.encoder.pull_back(near_rows.X[which[p]], coef).slopes

        in_chunks(pull_back, len(which), parallel=parallel)
        own = scores(pair.surrogate, near_rows.Z[which])
        for p in row_chunks(len(some.at), CHUNK_ROWS):
            _mix(fitted, found, some.take(p), slopes[each[p]], own[each[p]], near[p])


def _mix(  # noqa: PLR0917
    fitted: Fitted,
    found: LocalArrays,
    rows: _RowsToRefine,
    slopes: FloatArray,
    own: FloatArray,
    near: IntArray,
) -> None:
    """Mix the explanations of rows with those that their neighbours' slopes give them."""
    at, intercept = rows.at, fitted.pair.surrogate.intercept_
    theirs = fitted.encoding.gather(slopes * rows.X[:, None])
    values, mine = np.swapaxes(theirs, 1, 2), found.values[at]
    refined = refine_scores(mine.sum(1) + intercept, theirs.sum(2) + intercept, own, rows.wanted)
    step = refined.steps.gamma_w[:, None, None]
    old = found.slopes[at]
    found.values[at] = mine + step * (values - mine)
    found.slopes[at] = old + step * (np.swapaxes(slopes, 1, 2) - old)
    found.offset[at] = refined.offset
    neighbour = np.where(refined.agrees, near, -1)
    refinement = Refinement(*refined.steps, neighbour, np.zeros(len(at), dtype=bool))
    found.refinement[at] = refinement.locate_neighbours(fitted.split.training)


def _refine_latents(fitted: Fitted, found: LocalArrays, rows: _RowsToRefine) -> None:
    """Refine under a surrogate whose decisions do not follow from its weights alone."""
    pair, neighbours = fitted.pair, fitted.neighbours
    coef, regions = pair.surrogate.coef_, LinearRegions(pair.surrogate)

    def decide(Z: FloatArray) -> IntArray:
        return pair.surrogate.probabilities(Z).argmax(1)

    carry = carrier(pair.encoder, pair.n_latents)
    refined: Refined = LatentRefiner(carry, decide, regions, neighbours)(rows.X, rows.Z, rows.wanted)
    found.offset[rows.at] = refined.offset @ coef.T
    found.refinement[rows.at] = refined.refinement.locate_neighbours(fitted.split.training)
    for part in row_chunks(len(rows.at), CHUNK_ROWS):
        some, steps = rows.take(part), refined[part]
        near = np.where(steps.neighbour >= 0, steps.neighbour, 0)  # has no effect where there is none
        mine, theirs = (pair.encoder.pull_back(each, coef).slopes for each in (some.X, neighbours.X[near]))
        slopes = steps.mixed(mine, theirs)
        values = fitted.encoding.gather(slopes * some.X[:, None])
        found.slopes[some.at], found.values[some.at] = np.swapaxes(slopes, 1, 2), np.swapaxes(values, 1, 2)

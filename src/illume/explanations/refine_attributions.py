"""Explanations that decide otherwise than the black box, moved towards a neighbour's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.threads import CHUNK_ROWS, in_chunks, row_chunks
from illume.explanations.decision_regions import LinearRegions
from illume.explanations.fitted import Pair
from illume.explanations.neighbours import Neighbours
from illume.explanations.pullback import contributions
from illume.explanations.step_search import Refined, Refiner, carrier, refined_scores
from illume.results.attributions import Attributions
from illume.results.predictions import decisions_of
from illume.results.trust import Refinement
from illume.surrogates.base import scores
from illume.surrogates.logistic import Weighted

ENTRIES = 2**24  # of neighbours' slopes at once


@dataclass(frozen=True, eq=False)
class ToRefine:
    """Rows of a result that the surrogate decides otherwise.

    Parameters
    ----------
    at
        Where they stand in the result, (n,).
    X, Z, wanted
        The encoded rows (n, m), their latents (n, k), and what the black box decides (n,).
    """

    at: IntArray
    X: FloatArray
    Z: FloatArray
    wanted: IntArray

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, rows: Any) -> ToRefine:
        return ToRefine(self.at[rows], self.X[rows], self.Z[rows], self.wanted[rows])


@dataclass(frozen=True, eq=False)
class Refining:
    """Changes explanations in a result; `training` says where training rows stand among the fitted ones."""

    encoding: Encoding
    pair: Pair
    neighbours: Neighbours
    training: IntArray
    parallel: bool

    def __call__(self, result: Attributions, rows: ToRefine) -> None:
        """Refine some rows of a result, whose slopes and contributions are the rows' own so far."""
        if not isinstance(self.pair.surrogate, Weighted):
            self._by_latents(result, rows)
            return
        at_once = max(CHUNK_ROWS, ENTRIES // max(self.pair.surrogate.coef_.shape[0] * rows.X.shape[1], 1))
        for part in row_chunks(len(rows), at_once):
            self._by_scores(result, rows[part])

    def _by_scores(self, result: Attributions, rows: ToRefine) -> None:
        """Refine by log-odds: beside the rows' own explanations, this takes their neighbours' slopes only."""
        near = self.neighbours.nearest(rows.Z, rows.wanted)
        if (near < 0).any():
            some = np.flatnonzero(near >= 0)
            rows, near = rows[some], near[some]
        which, each = np.unique(near, return_inverse=True)
        slopes = self._slopes(which)
        own = scores(self.pair.surrogate, self.neighbours.Z[which])

        def write(part: slice) -> None:
            self._write(result, rows[part], slopes[each[part]], own[each[part]], near[part])

        in_chunks(write, len(rows), parallel=self.parallel)

    def _slopes(self, neighbours: IntArray) -> FloatArray:
        """Return the slopes (n, c, m) of some training rows."""
        coef = self.pair.surrogate.coef_
        slopes = np.empty((len(neighbours), len(coef), self.encoding.n_inputs))

        def pull_back(part: slice) -> None:
            slopes[part] = self.pair.encoder.pull_back(self.neighbours.X[neighbours[part]], coef).slopes

        in_chunks(pull_back, len(neighbours), parallel=self.parallel)
        return slopes

    def _write(
        self, result: Attributions, rows: ToRefine, slopes: FloatArray, own: FloatArray, near: IntArray
    ) -> None:
        """Mix the explanations of rows with those that their neighbours' slopes give them."""
        at, flat, intercept = rows.at, result.values.ndim == 2, self.pair.surrogate.intercept_
        theirs = self.encoding.gather(contributions(slopes, rows.X))
        carried = theirs.sum(2) + intercept
        if flat:
            slopes, theirs = slopes[:, 0], theirs[:, 0]
        else:
            slopes, theirs = np.swapaxes(slopes, 1, 2), np.swapaxes(theirs, 1, 2)
        values, old = result.values[at], result.slopes[at]
        mine = values.sum(1).reshape(len(at), -1) + intercept
        refined = refined_scores(mine, carried, own, rows.wanted)
        step = refined.steps.gamma_w.reshape(-1, *[1] * (values.ndim - 1))
        values += step * (theirs - values)
        old += step * (slopes - old)
        neighbour = np.where(refined.agrees, near, -1)
        none = np.zeros(len(at), dtype=bool)
        result.values[at], result.slopes[at] = values, old
        result.offset[at] = refined.offset[:, 0] if flat else refined.offset
        result.refinement[at] = Refinement(*refined.steps, neighbour, none).among(self.training)

    def _by_latents(self, result: Attributions, rows: ToRefine) -> None:
        """Refine under a surrogate that may read more off latents than its weights say."""
        carry = carrier(self.pair.encoder, self.pair.n_latents)
        regions = LinearRegions(self.pair.surrogate)
        refined = Refiner(carry, self._decide, regions, self.neighbours)(rows.X, rows.Z, rows.wanted)
        offset = refined.offset @ self.pair.surrogate.coef_.T
        result.offset[rows.at] = offset[:, 0] if result.values.ndim == 2 else offset
        result.refinement[rows.at] = refined.refinement.among(self.training)

        def write(part: slice) -> None:
            self._write_latents(result, rows[part], refined[part])

        in_chunks(write, len(rows), parallel=False)

    def _write_latents(self, result: Attributions, rows: ToRefine, refined: Refined) -> None:
        coef, flat = self.pair.surrogate.coef_, result.values.ndim == 2
        mine = self.pair.encoder.pull_back(rows.X, coef).slopes
        near = np.where(refined.neighbour >= 0, refined.neighbour, 0)  # of no consequence where there is none
        theirs = self.pair.encoder.pull_back(self.neighbours.X[near], coef).slopes
        slopes = refined.mixed(mine, theirs)
        values = self.encoding.gather(contributions(slopes, rows.X))
        result.slopes[rows.at] = slopes[:, 0] if flat else np.swapaxes(slopes, 1, 2)
        result.values[rows.at] = values[:, 0] if flat else np.swapaxes(values, 1, 2)

    def _decide(self, Z: FloatArray) -> IntArray:
        return decisions_of(self.pair.surrogate.probabilities(Z))

"""Shapley values made surer: a few walks of the model itself, with the network as control variate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.threads import single_blas_thread
from illume.twin.network_arrays import Codes
from illume.twin.shapley_model import ShapleyModel
from illume.twin.twin import Contributions
from illume.twin.walks import (
    MixedFrames,
    Mixtures,
    Walks,
    network_values,
    network_walks,
    row_keys,
    walk_changes,
)

NETWORK_WALKS = 32
KEPT_ROWS = 1_000  # background rows that values are refined against, of those that there are
SPREAD_ROWS = 500  # that tell how much walks differ by background row
CAUTION = 2.0  # by how much the variance at the start may be stated too high, or values would get worse
TINY = 1e-18  # a variance of 0, of a class that is never answered

Ask = Callable[[Frame], FloatArray]


@dataclass(frozen=True, eq=False)
class ShapleyRefiner:
    """Refines values by asking the model about rows mixed with background rows.

    Walks of a row are drawn by the row's own values, so that a row gets the same answer alone and in a batch.
    What walks measure is weighed against the start by the variances of both: the result is never worse
    than either in expectation, and its standard error follows.
    """

    model: ShapleyModel
    background: Frame
    background_codes: Codes
    background_scores: FloatArray
    names: tuple[str, ...]

    def __call__(
        self,
        codes: Codes,
        frame: Frame,
        scores: FloatArray,
        values: FloatArray,
        prior: FloatArray,
        *,
        ask: Ask,
        n_asks: int,
    ) -> Contributions:
        """Return values and standard errors (n, n_features, c), from at most `n_asks` questions a row.

        They start from `values` (n, m, c), whose errors have variances `prior`.
        """
        model = self.model
        n_walks, cuts = plan_walks(n_asks, model.coding.n_features)
        if (
            n_walks
            and len(codes)
            and np.isfinite(prior).all()
            and np.isfinite(model.errors.walk_variance).all()
        ):
            mixed = self._mixed_walks(codes, frame, ask, n_walks, cuts)
            with single_blas_thread():
                change, prior = self._measure(codes, scores, mixed, cuts, values=values, prior=prior)
            values = values + change
        return model.contributions(values, np.sqrt(prior))

    @cached_property
    def _left_out(self) -> FloatArray:
        """The variance of values for the background rows that were left out, (m, c); 0 where none were.

        It is that of walks, which differ by the background row, divided by the number of rows.
        """
        codes, network = self.background_codes, self.model.network
        n, m = codes.at.shape
        if n < KEPT_ROWS:
            return np.zeros((m, 1))
        rows, rng, main = codes[:SPREAD_ROWS], np.random.default_rng(0), network.table.look_up(codes)[0]
        walks = [Walks.draw(len(rows), m, n, rng) for _ in range(2)]
        found = [network_walks(network, rows, codes, walk) - main[walk.background] for walk in walks]
        return np.asarray(0.5 * np.square(found[0] - found[1]).mean(0) / n)

    def _mixed_walks(
        self, codes: Codes, frame: Frame, ask: Ask, n_walks: int, cuts: list[int]
    ) -> list[tuple[Walks, FloatArray]]:
        """Return walks, and by how much the network misses the model's scores at their points."""
        model, keys, rows = self.model, row_keys(codes), np.arange(len(codes))
        features, n_background = model.coding.features, len(self.background_codes)
        walks = [Walks.draw_by_row(keys, len(features), n_background, salt) for salt in range(n_walks)]
        mixtures = Mixtures.concatenate(
            [Mixtures.along_walks(rows, walk, cuts, features, model.n_features) for walk in walks]
        )
        P = MixedFrames.from_names(frame, self.background, self.names).answers(mixtures, ask)
        with single_blas_thread():
            missed = model.scale(P) - model.network(mixtures.codes(codes, self.background_codes, features))
        return list(zip(walks, np.split(missed, n_walks), strict=True))

    def _measure(
        self,
        codes: Codes,
        scores: FloatArray,
        walked: list[tuple[Walks, FloatArray]],
        cuts: list[int],
        *,
        values: FloatArray,
        prior: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return by how much values change, and the variances of their errors afterwards."""
        model, keys, (n_background, m) = self.model, row_keys(codes), self.background_codes.at.shape
        end = scores - model.network(codes)
        begin = self.background_scores - model.network(self.background_codes)
        own = (Walks.draw_by_row(keys, m, n_background, 1_000 + salt) for salt in range(NETWORK_WALKS))
        start, noise = network_values(model.network, codes, self.background_codes, own)
        growth = prior / np.maximum(model.errors.variance, TINY)
        by_walk = model.errors.walk_variance * np.clip(growth, 0.25, 4.0)
        precision, total = np.zeros_like(values), np.zeros_like(values)
        block_at = np.searchsorted(np.array(cuts), np.arange(m), side="right")
        for walk, points in walked:
            changes = walk_changes(points, begin[walk.background], end)
            block = block_at[walk.order.argsort(1)]
            found = _block_values(changes, block) + _block_sums(start - values, block, len(cuts) + 1)
            # the other features of a block are noise, too
            spread = np.maximum(_block_sums(prior + by_walk, block, len(cuts) + 1) - prior, TINY)
            precision += 1 / spread
            total += found / spread
        measured, uncertainty = total / precision, 1 / precision + noise + self._left_out + TINY
        weight = prior / (prior + CAUTION * uncertainty)
        change = weight * measured
        variance = np.maximum(prior * (1 - weight) ** 2 + uncertainty * weight**2, TINY**2)
        change -= change.sum(1, keepdims=True) * variance / variance.sum(1, keepdims=True)
        return change, variance


def plan_walks(n_asks: int, m: int) -> tuple[int, list[int]]:
    """Return how many walks to take, and after how many changes of features the model is asked on each.

    Every walk comes with its reverse. If there are too few questions, features change in blocks.

    >>> plan_walks(12, 4), plan_walks(4, 6), plan_walks(1, 6)
    ((2, [1, 2, 3]), (1, [2, 4]), (0, []))
    """
    if m < 2 or n_asks < 2:
        return 0, []
    if n_asks >= 2 * (m - 1):
        return n_asks // (2 * (m - 1)), list(range(1, m))
    return 1, np.round(np.linspace(0, m, n_asks // 2 + 2))[1:-1].astype(int).tolist()


def _block_values(per_block: FloatArray, block: IntArray) -> FloatArray:
    return np.take_along_axis(per_block, block[:, :, None], axis=1)


def _block_sums(values: FloatArray, block: IntArray, n_blocks: int) -> FloatArray:
    """Return for each feature the sum over the features of its block, (n, m, c)."""
    if n_blocks == values.shape[1]:
        return np.array(values)
    sums = np.stack([(values * (block == k)[:, :, None]).sum(1) for k in range(n_blocks)], 1)
    return _block_values(sums, block)

"""Shapley values made surer: a few walks of the model itself, with the network as control variate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.frames import Frame
from illume.shapley.codes import Codes
from illume.shapley.mixtures import MixedFrames, Mixtures
from illume.shapley.shapley_model import Contributions, ShapleyModel
from illume.shapley.walks import Walks, first_features, network_values, row_keys

NETWORK_WALKS = 32
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
    background_log_odds: FloatArray
    names: tuple[str, ...]

    def __call__(
        self, codes: Codes, frame: Frame, log_odds: FloatArray, ask: Ask, n_asks: int
    ) -> Contributions:
        """Return values and standard errors (n, n_features, c), from at most `n_asks` questions a row."""
        model = self.model
        values, remainder = model.start(codes, log_odds)
        prior = np.square(model.errors.errors(values, remainder))
        plan = _Plan.of(n_asks, model.coding.n_features)
        measured = np.isfinite(prior).all() and np.isfinite(model.errors.walk_variance).all()
        if plan is not None and len(codes) and measured:
            change, variance = self._measure(
                codes, frame, log_odds, ask, plan=plan, values=values, prior=prior
            )
            values, prior = values + change, variance
        return Contributions(model.spread(values), model.spread(np.sqrt(prior)))

    def _measure(
        self,
        codes: Codes,
        frame: Frame,
        log_odds: FloatArray,
        ask: Ask,
        *,
        plan: _Plan,
        values: FloatArray,
        prior: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return by how much values change, and the variances of their errors afterwards."""
        model, m = self.model, self.model.coding.n_features
        keys, n_background = row_keys(codes), len(self.background_codes)
        walks = [Walks.draw_by_row(keys, m, n_background, salt) for salt in range(plan.n_walks)]
        parts = [plan.mixtures(walk, model.coding.features, model.n_features) for walk in walks]
        mixtures = Mixtures.concatenate(parts)
        P = MixedFrames.of(frame, self.background, self.names).answers(mixtures, ask)
        mixed = mixtures.codes(codes, self.background_codes, model.coding.features)
        missed = model.log_odds(P) - model.network(mixed)
        end = log_odds - model.network(codes)
        begin = self.background_log_odds - model.network(self.background_codes)
        own = (Walks.draw_by_row(keys, m, n_background, 1_000 + salt) for salt in range(NETWORK_WALKS))
        start, noise = network_values(model.network, codes, self.background_codes, own)
        growth = prior / np.maximum(model.errors.variance, TINY)
        walked = model.errors.walk_variance * np.clip(growth, 0.25, 4.0)
        precision, total = np.zeros_like(values), np.zeros_like(values)
        for walk, points in zip(walks, np.split(missed, plan.n_walks), strict=True):
            changes = plan.changes(points, begin[walk.background], end)
            block = plan.blocks(walk.order)
            found = _block_values(changes, block) + _block_sums(start - values, block, plan.n_blocks)
            # the other features of a block are noise, too
            spread = np.maximum(_block_sums(prior + walked, block, plan.n_blocks) - prior, TINY)
            precision += 1 / spread
            total += found / spread
        measured, uncertainty = total / precision, 1 / precision + noise + TINY
        weight = prior / (prior + uncertainty)
        change = weight * measured
        variance = np.maximum(prior * (1 - weight), TINY**2)
        change -= change.sum(1, keepdims=True) * variance / variance.sum(1, keepdims=True)
        return change, variance


@dataclass(frozen=True)
class _Plan:
    """How many walks with how many points: features change in blocks where there are too few questions."""

    n_walks: int
    cuts: tuple[int, ...]
    m: int

    @classmethod
    def of(cls, n_asks: int, m: int) -> _Plan | None:
        """Plan walks, each with its reverse, of at most so many questions; None where there are too few."""
        if m < 2 or n_asks < 2:
            return None
        if n_asks >= 2 * (m - 1):
            return cls(n_asks // (2 * (m - 1)), tuple(range(1, m)), m)
        points = n_asks // 2
        return cls(1, tuple(int(cut) for cut in np.round(np.linspace(0, m, points + 2))[1:-1]), m)

    @property
    def n_blocks(self) -> int:
        return len(self.cuts) + 1

    def mixtures(self, walk: Walks, features: IntArray, n_features: int) -> Mixtures:
        """Return the points of a walk and of its reverse, cut by cut, for all rows."""
        n = len(walk.order)
        parts = []
        for cut in self.cuts:
            mask = np.zeros((n, n_features), dtype=bool)
            mask[:, features] = first_features(walk.order, cut)
            reverse = np.zeros_like(mask)
            reverse[:, features] = ~mask[:, features]
            parts += [Mixtures(np.arange(n), walk.background, each) for each in (mask, reverse)]
        return Mixtures.concatenate(parts)

    def changes(self, points: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Return the mean change that each block makes on a walk and on its reverse, (n, blocks, c)."""
        steps = points.reshape(len(self.cuts), 2, len(end), -1).transpose(2, 0, 1, 3)
        there = np.concatenate([begin[:, None], steps[:, :, 0], end[:, None]], 1)
        back = np.concatenate([end[:, None], steps[:, :, 1], begin[:, None]], 1)
        return 0.5 * np.diff(there - back, axis=1)

    def blocks(self, order: IntArray) -> IntArray:
        """Return in which block each feature changes, (n, m)."""
        by_place = np.searchsorted(np.array(self.cuts), np.arange(self.m), side="right")
        block = np.empty_like(order)
        np.put_along_axis(block, order, np.broadcast_to(by_place, order.shape), axis=1)
        return block


def _block_values(per_block: FloatArray, block: IntArray) -> FloatArray:
    return np.take_along_axis(per_block, block[:, :, None], axis=1)


def _block_sums(values: FloatArray, block: IntArray, n_blocks: int) -> FloatArray:
    """Return for each feature the sum over the features of its block, (n, m, c)."""
    if n_blocks == values.shape[1]:
        return np.array(values)
    sums = np.stack([(values * (block == k)[:, :, None]).sum(1) for k in range(n_blocks)], 1)
    return _block_values(sums, block)

"""The meta-encoder: a network gives every row a map of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.encoders.forward import LARGEST, DenseForward, Forward, Weights
from illume.encoders.low_rank import WIDTH, LowRankForward, resolved_rank
from illume.encoders.options import Objective, Training
from illume.encoders.soft_bins import SoftBins, resolved_bins
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch
    from torch import nn

N_BINS = 16
NARROWEST = 0.01  # bin, in standard deviations: what happens within a narrower one is no slope
QUANTILE_ROWS = 16_384  # of more rows, quantiles are no others


class MetaEncoder(TrainedEncoder):
    """Every row's map is the answer of a network to the row (the paper's ILLUME).

    Parameters
    ----------
    n_latents
        How many latent directions every row has, k.
    objective
        Which loss terms count; by default the paper's for attributions, `Objective.preset("co")`.
    training
        How to train; by default as in the paper.
    onehot
        Positions of the inputs that are one-hot columns; distances compare them as categories.
    rank
        None lets the network answer with whole maps, as in the paper: weights and time grow as m² k. With a
        number r, the map is a constant and a part of rank r that differs from row to row, and both grow
        as m. `auto` takes 32 for 500 inputs or more, and else whole maps.
    n_bins
        The network sees every number also through so many soft bins, steps between its quantiles, so that
        maps may differ from one range of a number to the next; the maps themselves act on the numbers.
        Wide data have fewer, 1,024 in all, and from 257 numbers on none. 0 is the paper's network, which
        sees the numbers alone.
    device
        `auto` takes a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical encoders.
    verbose
        Show a progress bar; None shows it only on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from illume import Training
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> encoder = MetaEncoder(2, training=Training(max_epochs=2)).fit(X, X[:, 0] > 0)
    >>> encoder.encode(X).W.shape
    (40, 2, 3)
    """

    def __init__(
        self,
        n_latents: int = 8,
        *,
        objective: Objective | None = None,
        training: Training | None = None,
        onehot: Sequence[int] = (),
        rank: int | str | None = "auto",
        n_bins: int = N_BINS,
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        super().__init__(
            n_latents,
            objective=objective,
            training=training,
            onehot=onehot,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.rank = rank
        self.n_bins = n_bins

    @property
    def rank_(self) -> int | None:
        """The rank of the maps' varying part, None where maps are whole."""
        return len(self.weights_["basis"]) if "basis" in self.weights_ else None

    def _bins(self, X: FloatArray) -> SoftBins:
        numeric = np.ones(X.shape[1], dtype=bool)
        numeric[list(self.onehot)] = False
        n_bins = resolved_bins(self.n_bins, int(numeric.sum()))
        some = X[:: -(-len(X) // QUANTILE_ROWS)]
        return SoftBins.fit(np.clip(some, -LARGEST, LARGEST), numeric, n_bins, narrowest=NARROWEST)

    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> nn.Module:
        from illume.encoders.networks import LowRankNetwork, MetaNetwork

        k, calm, width = self.n_latents, objective.calm, objective.width
        rank = resolved_rank(self.rank, n_inputs)
        if rank is None:
            return MetaNetwork(n_inputs, k, generator, calm=calm, width=width, bins=bins)
        width = max(width, WIDTH)
        return LowRankNetwork(n_inputs, k, generator, rank=rank, calm=calm, width=width, bins=bins)

    def _forward(self, weights: Weights, n_inputs: int, bins: SoftBins) -> Forward:
        if "basis" in weights:
            return LowRankForward.of(weights, bins)
        return DenseForward(weights, (self.n_latents, n_inputs), bins)

    @property
    def _constant(self) -> bool:
        return False

"""The meta-encoder: a network gives every row its own map."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.encoders.forward import LARGEST
from illume.encoders.options import Objective, Training, hidden_widths
from illume.encoders.soft_bins import SoftBins, resolve_n_bins
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch

    from illume.encoders.networks import MapNetwork

N_BINS = 16
NARROWEST = 0.01  # width of a bin in standard deviations
QUANTILE_ROWS = 16_384  # enough rows for quantiles

WIDE = 500
"""The number of inputs from which `rank="auto"` takes low-rank maps."""

RANK = 32
LOW_RANK_WIDTH = 256
"""Least width of the hidden layers of low-rank maps."""


class MetaEncoder(TrainedEncoder):
    """A network gives every row its own map (the paper's ILLUME).

    Parameters
    ----------
    n_latents
        Number of latent directions of every row, k.
    objective
        Weights of the loss terms; by default the paper's for attributions, `Objective.preset("co")`.
    training
        How to train; by default as in the paper.
    onehot
        Positions of the inputs that are one-hot columns; distances compare them as categories.
    rank
        None lets the network return whole maps, as in the paper: weights and time grow as m² k. With a
        number r, the map is a constant plus a part of rank r that differs from row to row, and both grow
        as m. `auto` takes 32 for 500 inputs or more, else whole maps.
    n_bins
        The network also sees every number through this many soft bins, steps between its quantiles, so that
        maps may differ between ranges of a number; the maps themselves act on the numbers. Wide data have
        fewer, 1,024 in all, and none from 257 numbers on. 0 is the paper's network, which sees only the
        numbers.
    device
        `auto` takes a CUDA device if there is one.
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
        """The rank of low-rank maps; None for whole maps."""
        return len(self.weights_["basis"]) if "basis" in self.weights_ else None

    def _bins(self, X: FloatArray) -> SoftBins:
        numeric = np.ones(X.shape[1], dtype=bool)
        numeric[list(self.onehot)] = False
        n_bins = resolve_n_bins(self.n_bins, int(numeric.sum()))
        some = X[:: -(-len(X) // QUANTILE_ROWS)]
        return SoftBins.fit(np.clip(some, -LARGEST, LARGEST), numeric, n_bins, narrowest=NARROWEST)

    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> MapNetwork:
        from illume.encoders.networks import MapNetwork

        rank = resolve_rank(self.rank, n_inputs)
        widths = map_widths(n_inputs, self.n_latents, objective.width, rank)
        return MapNetwork(
            n_inputs, self.n_latents, generator, widths=widths, rank=rank, calm=objective.calm, bins=bins
        )


def resolve_rank(rank: Any, n_inputs: int) -> int | None:
    """Return the rank of low-rank maps, or None for whole maps.

    >>> resolve_rank("auto", 30), resolve_rank("auto", 500), resolve_rank(8, 5), resolve_rank(None, 999)
    (None, 32, 5, None)
    """
    if isinstance(rank, str) and rank == "auto":
        return RANK if n_inputs >= WIDE else None
    if rank is None:
        return None
    if isinstance(rank, bool) or not (isinstance(rank, Integral) and int(rank) > 0):
        raise ValueError(f"rank must be 'auto', None (whole maps) or a positive integer, found {rank!r}")
    return min(int(rank), n_inputs)


def map_widths(n_inputs: int, n_latents: int, least: int, rank: int | None) -> tuple[int, int]:
    """Return the widths of the two hidden layers."""
    if rank is None:
        return hidden_widths(n_inputs, n_latents, least)
    width = max(least, LOW_RANK_WIDTH)
    return width, width

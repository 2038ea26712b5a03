"""The encoders: the identity, one trained map for all rows, and a network that gives every row its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray
from illume.encoders.base import Head, Latent, PulledBack
from illume.encoders.forward import LARGEST
from illume.encoders.options import Objective, Training
from illume.encoders.soft_bins import SoftBins, resolve_n_bins
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch

    from illume.encoders.networks import MapNetwork

MAX_SIZE = 2**20  # of latents and widths: a larger one is a damaged file
N_BINS = 16
NARROWEST = 0.01  # width of a bin in standard deviations
QUANTILE_ROWS = 16_384  # enough rows for quantiles

WIDE = 500
"""The number of inputs from which `rank="auto"` takes low-rank maps."""

RANK = 32
LOW_RANK_WIDTH = 256
"""Least width of the hidden layers of low-rank maps."""


class IdentityEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latents are the inputs, so that the surrogate on them is global (the paper's INP).

    >>> IdentityEncoder().fit([[1.0, 2.0]]).encode([[3.0, 4.0]]).Z
    array([[3., 4.]])
    """

    thread_safe = True

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Store the number of inputs."""
        validate_data(self, X, dtype=np.float64)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def encode(self, X: FloatArray) -> Latent:
        """Return identity maps (a view, not n matrices) and the rows themselves."""
        Z = self.transform(X)
        n, m = Z.shape
        return Latent(np.broadcast_to(np.eye(m), (n, m, m)), Z)

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return the weights themselves as slopes of every row."""
        return PulledBack(np.broadcast_to(coef, (len(X), *coef.shape)), X if at is None else at)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows themselves."""
        check_is_fitted(self, "n_features_in_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)


class LinearEncoder(TrainedEncoder):
    """All rows share one trained map (the paper's LIN)."""

    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> MapNetwork:
        from illume.encoders.networks import MapNetwork

        return MapNetwork(n_inputs, self.n_latents, generator, rank=0)


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
    """Return the widths of the two hidden layers: of whole maps, geometric between m and m * k.

    >>> map_widths(10, 8, 0, None), map_widths(10, 8, 32, None), map_widths(600, 8, 0, 32)
    ((20, 40), (32, 40), (256, 256))
    """
    if rank is None:
        ratio = n_latents ** (1 / 3)
        return max(least, round(n_inputs * ratio)), max(least, round(n_inputs * ratio**2))
    return max(least, LOW_RANK_WIDTH), max(least, LOW_RANK_WIDTH)


def weight_shapes(
    encoder: MetaEncoder | LinearEncoder, n_inputs: int, rank: int | None = None, n_bins: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of an encoder's weights.

    `rank` is that of low-rank maps, None for whole ones; `n_bins` counts the bins of all inputs.

    >>> weight_shapes(LinearEncoder(2), 3)
    {'base': (2, 3)}
    """
    k, m = encoder.n_latents, n_inputs
    if not 1 <= k <= MAX_SIZE:
        raise ValueError(f"n_latents is {k}")
    if rank is not None and not (isinstance(encoder, MetaEncoder) and 1 <= rank <= m):
        raise ValueError(f"the rank is {rank}")
    if isinstance(encoder, LinearEncoder):
        return {"base": (k, m)}
    width = (encoder.objective or Objective()).width
    if not width <= MAX_SIZE:
        raise ValueError(f"the width is {width}")
    first, second = map_widths(m, k, width, rank)
    shapes: dict[str, tuple[int, ...]] = {} if rank is None else {"base": (k, m), "basis": (rank, m)}
    for i, shape in ((0, (first, m + n_bins)), (2, (second, first)), (4, (k * (rank or m), second))):
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes


def restore_encoder(
    encoder: Any,
    n_inputs: int,
    weights: Mapping[str, FloatArray],
    alpha: int,
    head: Head | None,
    *,
    bins: SoftBins | None = None,
) -> Any:
    """Turn an unfitted encoder into the fitted one with these weights, which must have the right shapes."""
    encoder.n_features_in_ = n_inputs
    own = {name: np.array(array, dtype=np.float32) for name, array in weights.items()}
    return encoder.set_weights(own, alpha, head, bins or SoftBins.none())

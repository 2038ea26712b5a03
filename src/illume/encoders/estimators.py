"""The trained encoders: one map for all rows, or a network that gives every row its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray
from illume.data.require import require_int
from illume.data.threads import in_chunks
from illume.encoders.base import Head, Latent, PulledBack
from illume.encoders.forward import LARGEST, Forward, SoftBins, resolve_n_bins
from illume.encoders.options import Objective, PairObjective, Training
from illume.errors import import_extra
from illume.results.diagnostics import History

if TYPE_CHECKING:
    import torch

    from illume.encoders.networks import MapNetwork
    from illume.encoders.pair_training import PairTrainer
    from illume.encoders.pairs import Asked
    from illume.encoders.training import Trainer

MAX_SIZE = 2**20  # of latents and widths: a larger one is a damaged file
N_BINS = 16
NARROWEST = 0.01  # width of a bin in standard deviations
QUANTILE_ROWS = 16_384  # enough rows for quantiles
WIDE, RANK = 200, 32  # `rank="auto"` is RANK from WIDE inputs on
PAIR_CALM = 0.3  # of maps that learn from pairs
LOW_RANK_WIDTH = 256  # least width of the hidden layers of low-rank maps


class TrainedEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An encoder whose maps come from a network, trained by torch; once fitted, it holds plain arrays.

    Parameters are those of `MetaEncoder`, without `rank` and `n_bins`.
    """

    history_: History
    weights_: dict[str, FloatArray]
    forward_: Forward
    head_: Head | None
    alpha_: int
    bins_: SoftBins

    n_bins = 0
    thread_safe = True

    def __init__(
        self,
        n_latents: int = 8,
        *,
        objective: Objective | PairObjective | None = None,
        training: Training | None = None,
        task: str = "classification",
        onehot: Sequence[int] = (),
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.n_latents = n_latents
        self.objective = objective
        self.training = training
        self.task = task
        self.onehot = onehot
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: FloatArray,
        y: Any = None,
        *,
        validation: tuple[FloatArray, FloatArray] | None = None,
        asked: Asked | None = None,
    ) -> Self:
        """Train on rows X (n, m) and y: labels (n,), the black box's probabilities (n, c), or its numbers.

        Training stops early by the loss on `validation` rows (X, P), by default 15 % of the rows. With a
        `PairObjective` it takes a fixed number of steps, and learns from made-up rows that are `asked` about,
        by default from rows and their neighbours.
        """
        self._trainer(X, y, validation, asked).fit()
        return self

    def _trainer(
        self,
        X: FloatArray,
        y: Any,
        validation: tuple[FloatArray, FloatArray] | None,
        asked: Asked | None,
    ) -> Trainer | PairTrainer:
        import_extra("torch", "train")
        from illume.encoders.targets import find_targets
        from illume.encoders.training import Trainer
        from illume.encoders.training_data import TrainingData, read_rows

        require_int("n_latents", self.n_latents)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if len(self.onehot) and not 0 <= min(self.onehot) <= max(self.onehot) < X.shape[1]:
            raise ValueError(f"onehot must name inputs from 0 to {X.shape[1] - 1}, found {self.onehot!r}")
        rng = check_random_state(self.random_state)
        rows = read_rows(find_targets(self.task), X, y, validation, rng)
        objective, seed = self.objective or Objective(), int(rng.randint(2**31 - 1))
        if isinstance(objective, PairObjective):
            if y is None:
                raise ValueError("pairs of rows are learned by their scores; pass y, or another objective")
            from illume.encoders.pair_training import PairData, PairTrainer

            return PairTrainer(self, PairData.read(self, rows, asked, self._fit_bins(rows.X), seed))
        if y is None:
            objective = objective.without_predictions()
        training = self.training or Training()
        return Trainer(self, TrainingData(rows, objective, training, self._fit_bins(rows.X), seed))

    def _fit_bins(self, X: FloatArray) -> SoftBins:
        numeric = np.ones(X.shape[1], dtype=bool)
        numeric[list(self.onehot)] = False
        n_bins = resolve_n_bins(self.n_bins, int(numeric.sum()))
        some = X[:: -(-len(X) // QUANTILE_ROWS)]
        return SoftBins.fit(np.clip(some, -LARGEST, LARGEST), numeric, n_bins, narrowest=NARROWEST)

    def build_network(
        self, n_inputs: int, objective: Objective | PairObjective, generator: torch.Generator, bins: SoftBins
    ) -> MapNetwork:
        """Return the untrained network."""
        from illume.encoders.networks import MapNetwork

        k, rank = self.n_latents, self._map_rank(n_inputs)
        if isinstance(objective, PairObjective):
            widths, calm, level = (objective.width, objective.width), PAIR_CALM, True
        else:
            widths, calm, level = map_widths(n_inputs, k, objective.width, rank), objective.calm, False
        return MapNetwork(
            n_inputs, k, generator, widths=widths, rank=rank, calm=calm, bins=bins, level=level and rank != 0
        )

    def _map_rank(self, n_inputs: int) -> int | None:
        """Return the rank of the maps, None for whole ones."""
        return 0

    def set_weights(
        self,
        weights: Mapping[str, FloatArray],
        n_inputs: int,
        alpha: int,
        head: Head | None,
        bins: SoftBins,
    ) -> Self:
        """Set the fitted attributes."""
        self.weights_ = {name: np.array(array, dtype=np.float32) for name, array in weights.items()}
        self.n_features_in_, self.alpha_, self.head_, self.bins_ = n_inputs, alpha, head, bins
        self.forward_ = Forward(self.weights_, (self.n_latents, n_inputs), bins)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_latents

    @property
    def has_levels(self) -> bool:
        """Whether latents are `W x` and a level of the row's own, so that slopes leave an offset."""
        return self.forward_.level is not None

    def encode(self, X: FloatArray) -> Latent:
        """Return maps (n, k, m) and latents (n, k) of all rows at once."""
        X = self._check_rows(X)
        if self.forward_.constant:
            W = self.forward_.unit_maps(X, self.alpha_)
        else:
            W = np.empty((len(X), self.n_latents, X.shape[1]))

            def work(rows: slice) -> None:
                W[rows] = self.forward_.unit_maps(X[rows], self.alpha_)

            in_chunks(work, len(X), parallel=False)
        return Latent(W, self.pull_back(X, np.empty((0, self.n_latents))).Z)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the latents (n, k) in bounded memory."""
        X = self._check_rows(X)
        Z, no_weights = np.empty((len(X), self.n_latents)), np.empty((0, self.n_latents))

        def work(rows: slice) -> None:
            Z[rows] = self.pull_back(X[rows], no_weights).Z

        in_chunks(work, len(X), parallel=False)
        return Z

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return slopes (n, c, m) of weights (c, k) on the latents, and the latents (n, k)."""
        if not hasattr(self, "forward_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return PulledBack(*self.forward_.pull_back(X, coef, at, self.alpha_))

    def _check_rows(self, X: FloatArray) -> FloatArray:
        check_is_fitted(self, "forward_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)


class LinearEncoder(TrainedEncoder):
    """All rows share one trained map (the paper's LIN)."""


class MetaEncoder(TrainedEncoder):
    """A network gives every row its own map (the paper's ILLUME).

    Parameters
    ----------
    n_latents
        Number of latent directions of every row, k.
    objective
        Weights of the loss terms; by default the paper's for attributions, `Objective.preset("co")`. With a
        `PairObjective`, maps learn from pairs of rows.
    training
        How to train; by default as in the paper.
    task
        What `fit` learns from: `classification` takes labels or probabilities; `regression` takes one or
        several numbers in any units, which are standardised inside; the head answers in their units.
    onehot
        Positions of the inputs that are one-hot columns; distances compare them as categories.
    rank
        None lets the network return whole maps, as in the paper: weights and time grow as m² k. With a
        number r, the map is a constant plus a part of rank r that differs from row to row, and both grow
        as m. `auto` takes 32 for 200 inputs or more, else whole maps.
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
        objective: Objective | PairObjective | None = None,
        training: Training | None = None,
        task: str = "classification",
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
            task=task,
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

    def _map_rank(self, n_inputs: int) -> int | None:
        return resolve_rank(self.rank, n_inputs)


def resolve_rank(rank: Any, n_inputs: int) -> int | None:
    """Return the rank of low-rank maps, or None for whole maps.

    >>> resolve_rank("auto", 30), resolve_rank("auto", 200), resolve_rank(8, 5), resolve_rank(None, 999)
    (None, 32, 5, None)
    """
    require_int("rank", rank, other=("auto", None))
    if rank == "auto":
        return RANK if n_inputs >= WIDE else None
    return None if rank is None else min(int(rank), n_inputs)


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
    encoder: TrainedEncoder, n_inputs: int, rank: int | None = None, n_bins: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of an encoder's weights.

    `rank` is that of low-rank maps, None for whole ones; `n_bins` counts the bins of all inputs.

    >>> weight_shapes(LinearEncoder(2), 3)
    {'base': (2, 3)}
    """
    k, m, objective = encoder.n_latents, n_inputs, encoder.objective or Objective()
    width, pairs = objective.width, isinstance(objective, PairObjective)
    if not 1 <= k <= MAX_SIZE:
        raise ValueError(f"n_latents is {k}")
    if rank is not None and not (isinstance(encoder, MetaEncoder) and 1 <= rank <= m):
        raise ValueError(f"the rank is {rank}")
    if isinstance(encoder, LinearEncoder):
        return {"base": (k, m)}
    if not width <= MAX_SIZE:
        raise ValueError(f"the width is {width}")
    first, second = (width, width) if pairs else map_widths(m, k, width, rank)
    shapes: dict[str, tuple[int, ...]] = {} if rank is None else {"base": (k, m), "basis": (rank, m)}
    for i, shape in ((0, (first, m + n_bins)), (2, (second, first)), (4, (k * (rank or m), second))):
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes | ({"level.weight": (k, second), "level.bias": (k,)} if pairs else {})

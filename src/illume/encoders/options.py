"""Options of training: the weights of the loss terms, and how long to train."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from illume.data.require import require_int, require_number, require_share


@dataclass(frozen=True)
class Objective:
    """Weights of the loss terms; a term with weight 0 is not computed.

    Parameters
    ----------
    lambda_x, lambda_w
        Latents keep the neighbourhoods of the inputs; maps keep those of the latents.
    lambda_y
        Latents keep the neighbourhoods of the decisions (0 is the paper's `uc`).
    lambda_st
        Stability: a row's map is the Jacobian of its latents (0 is the paper's `us`).
    lambda_so, lambda_co
        Latent directions use distinct inputs; latents are uncorrelated.
    lambda_g
        Train a linear head on the latents jointly with the encoder; it becomes the surrogate.
    alpha
        The number of inputs that a latent direction may use; None is all.
    calm
        Factor on the last layer's initial weights: near 0, all rows start with the same map.
    width
        Least width of hidden layers; the paper's, geometric between m and m * k, are too narrow for data
        with few columns.
    """

    lambda_x: float = 1.0
    lambda_w: float = 1.0
    lambda_y: float = 1.0
    lambda_st: float = 1.0
    lambda_so: float = 0.0
    lambda_co: float = 1.0
    lambda_g: float = 0.0
    alpha: int | None = None
    calm: float = 1.0
    width: int = 0

    def __post_init__(self) -> None:
        """Raise if a weight is negative or infinite."""
        for name in (*(f"lambda_{name}" for name in self.weights), "calm"):
            require_number(name, getattr(self, name))
        require_int("alpha", self.alpha, other=(None,))
        require_int("width", self.width, least=0)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each loss term, by the name of the term in `History`."""
        names = [field.name for field in fields(self) if field.name.startswith("lambda_")]
        return {name.removeprefix("lambda_"): getattr(self, name) for name in names}

    @property
    def joint(self) -> bool:
        """Whether a linear head is trained jointly with the encoder."""
        return self.lambda_g > 0

    def without_predictions(self) -> Objective:
        """Return the objective without the terms that need the black box's predictions."""
        inputs = self.lambda_x or 1.0  # something must be left
        return replace(self, lambda_x=inputs, lambda_y=0.0, lambda_g=0.0)

    @classmethod
    def preset(cls, name: str) -> Objective:
        """Return a named objective.

        `co` and `so` are the paper's best for attributions and for rules (two inputs per latent); `joint`
        adds the head to `co`. `Explainer` uses another one by default, see `PairObjective`.

        >>> Objective.preset("so").alpha
        2
        """
        if name not in PRESETS:
            raise ValueError(f"objective {name!r} is not known; choose one of {sorted(PRESETS)}")
        return PRESETS[name]


PRESETS = {
    "co": Objective(),
    "so": Objective(lambda_co=0.0, lambda_so=1.0, alpha=2),
    "joint": Objective(lambda_g=1.0, width=128),
}


STEADINESS = 0.75


@dataclass(frozen=True)
class PairObjective:
    """What maps learn from pairs of rows, a row and another one near it, and the model's scores of both.

    PAPER: none of its divergences between neighbourhoods, which keep neighbourhoods, not the model's
    predictions; consistency is that of its property P3 for a finite step instead of a derivative, which is
    right for models made of steps too; and each row has one more input, the constant 1, so that levels can
    follow steps while slopes stay as they are.

    Parameters
    ----------
    lambda_d
        Local fidelity: the score changes along the step as the row's slopes say.
    lambda_st
        Consistency: the surrogate's own score changes along the step as the row's slopes say.
    steadiness
        How alike the slopes of neighbours shall be, from 0 to 1. Training weighs a term on slopes of
        neighbours more, or less, until the paper's robustness of slopes is this on validation rows.
    width
        Width of the hidden layers.
    """

    lambda_d: float = 0.3
    lambda_st: float = 0.03
    steadiness: float = STEADINESS
    width: int = 256

    def __post_init__(self) -> None:
        """Raise for weights below 0, or a steadiness that is no share."""
        require_number("lambda_d", self.lambda_d)
        require_number("lambda_st", self.lambda_st)
        require_share("steadiness", self.steadiness)
        require_int("width", self.width)


@dataclass(frozen=True)
class Training:
    """How to train.

    Parameters
    ----------
    max_epochs, max_steps
        Whichever is reached first ends training; a sparse objective trains twice, dense and then sparse.
    patience
        Epochs without a better validation loss before training ends.
    decay
        Decay the learning rate to 0 along a cosine instead of keeping it constant.
    sparsity_epochs
        Number of epochs in which the number of inputs per latent falls to its target.
    stability_rows
        Number of rows of each batch on which the stability term is estimated; None is all.
    epoch_rows, validation_rows
        The most rows per epoch, so that early stopping works on large data too.
    """

    batch_size: int = 1024
    learning_rate: float = 1e-3
    max_epochs: int = 1000
    max_steps: int = 1_000_000
    patience: int = 30
    decay: bool = False
    sparsity_epochs: int = 100
    stability_rows: int | None = None
    epoch_rows: int = 65_536
    validation_rows: int = 8_192

    def __post_init__(self) -> None:
        """Raise if an option is not positive."""
        for field in fields(self):
            if field.name not in ("learning_rate", "decay", "stability_rows"):
                require_int(field.name, getattr(self, field.name))
        require_int("stability_rows", self.stability_rows, other=(None,))
        require_number("learning_rate", self.learning_rate, above=True)

    def n_epochs(self, n_rows: int) -> int:
        """Return the number of epochs that the budget allows.

        >>> Training(batch_size=100, max_steps=50).n_epochs(1000)
        5
        """
        return max(1, min(self.max_epochs, self.max_steps // self.epoch_steps(n_rows)))

    def epoch_steps(self, n_rows: int) -> int:
        """Return the number of batches in an epoch."""
        return math.ceil(min(n_rows, self.epoch_rows) / self.batch_size)

    def scheduled_alpha(self, epoch: int, start: int, end: int) -> int:
        """Return how many inputs a latent may use at an epoch, falling evenly from `start` to `end`.

        >>> [Training(sparsity_epochs=3).scheduled_alpha(epoch, start=8, end=2) for epoch in range(5)]
        [8, 6, 4, 2, 2]
        """
        return round(start + min(epoch / self.sparsity_epochs, 1.0) * (end - start))

    def n_steps(self, n_rows: int) -> int:
        """Return the number of batches that the budget allows.

        >>> Training(batch_size=100, max_steps=50).n_steps(1000)
        50
        """
        return min(self.max_steps, self.max_epochs * self.epoch_steps(n_rows))


PAPER = Training()
QUICK = Training(
    batch_size=256,
    learning_rate=6e-3,
    max_epochs=60,
    max_steps=2500,
    patience=15,
    decay=True,
    sparsity_epochs=20,
    stability_rows=64,
)
PAIRS = Training(batch_size=256, learning_rate=6e-3, max_steps=1600)

"""Options of training: the weights of the loss terms, and how long to train."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace


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
    lambda_l
        The head's log-odds, or numbers, are close to the black box's by the Huber loss, so that log-odds of
        confident rows stay bounded.
    lambda_e, lambda_n
        Slopes keep the neighbourhoods of the decisions; nearest rows of the same decision share their slopes.
    lambda_py, lambda_pn
        The same two for contributions. These five need the head, `lambda_g > 0`.
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
    lambda_l: float = 0.0
    lambda_e: float = 0.0
    lambda_n: float = 0.0
    lambda_py: float = 0.0
    lambda_pn: float = 0.0
    alpha: int | None = None
    calm: float = 1.0
    width: int = 0

    def __post_init__(self) -> None:
        """Raise if a weight is negative or infinite, or terms need a head that there is none of."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "alpha" and not 0 <= value < float("inf"):
                raise ValueError(f"{field.name} must be a finite number >= 0, found {value!r}")
        if self.alpha is not None and self.alpha < 1:
            raise ValueError(f"alpha must be at least 1 input per latent, found {self.alpha!r}")
        if (self.aligns or self.lambda_l) and not self.joint:
            raise ValueError("lambda_l, lambda_e, lambda_n, lambda_py and lambda_pn need lambda_g > 0")

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each loss term, by the name of the term in `History`."""
        names = [field.name for field in fields(self) if field.name.startswith("lambda_")]
        return {name.removeprefix("lambda_"): getattr(self, name) for name in names}

    @property
    def joint(self) -> bool:
        """Whether a linear head is trained jointly with the encoder."""
        return self.lambda_g > 0

    @property
    def aligns(self) -> bool:
        """Whether slopes or contributions are part of the loss."""
        return any((self.lambda_e, self.lambda_n, self.lambda_py, self.lambda_pn))

    def without_predictions(self) -> Objective:
        """Return the objective without the terms that need the black box's predictions."""
        inputs = self.lambda_x or 1.0  # something must be left
        return replace(self.with_alignment(0.0), lambda_x=inputs, lambda_y=0.0, lambda_g=0.0, lambda_l=0.0)

    def with_alignment(self, alignment: float) -> Objective:
        """Return the objective with the four terms on slopes and contributions multiplied by `alignment`."""
        names = ("lambda_e", "lambda_n", "lambda_py", "lambda_pn")
        return replace(self, **{name: alignment * getattr(self, name) for name in names})

    @classmethod
    def preset(cls, name: str) -> Objective:
        """Return a named objective.

        `co` and `so` are the paper's best for attributions and for rules (two inputs per latent); `joint`
        adds the head to `co`. `aligned` is the default of `Explainer`: a head whose log-odds stay close to
        the black box's, stable maps, and the same slopes for neighbours of the same decision.

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
    # PAPER: no KL divergences between neighbourhoods (lambda_x, lambda_w, lambda_y) and no decorrelation of
    # latents. They keep neighbourhoods, not the model's predictions: without them slopes follow the model
    # more closely, and a step costs half as much. Terms that tie explanations to decisions (lambda_e,
    # lambda_py) are 0 for the same reason.
    "aligned": Objective(
        lambda_x=0.0,
        lambda_w=0.0,
        lambda_y=0.0,
        lambda_co=0.0,
        lambda_st=10.0,
        lambda_g=3.0,
        lambda_l=0.1,
        lambda_n=0.2,
        width=128,
    ),
}


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
        for name in ("batch_size", "learning_rate", "max_epochs", "max_steps", "patience", "epoch_rows"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, found {getattr(self, name)!r}")

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

    def trial_steps(self, n_rows: int) -> int:
        """Return the number of steps of a trial: 3 % of a whole training, or at least 32 up to 10 %.

        >>> [Training(1, max_epochs=1).trial_steps(n_steps) for n_steps in (2_400, 640, 100, 1)]
        [72, 32, 10, 1]
        """
        n_steps = self.n_epochs(n_rows) * self.epoch_steps(n_rows)
        return max(1, round(0.03 * n_steps), min(32, round(0.1 * n_steps)))


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

"""What a training is told: which loss terms count how much, and for how long it goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Objective:
    """Weights of the loss terms; 0 leaves a term out, and it is then not computed.

    Parameters
    ----------
    lambda_x, lambda_w
        Latents keep the structure of the inputs; maps keep the structure of the latents.
    lambda_y
        Latents keep the structure of the decisions (0 is the paper's `uc`).
    lambda_st
        A row's map is the derivative of its latents (0 is the paper's `us`).
    lambda_so, lambda_co
        Latent directions use distinct inputs; latents are uncorrelated.
    lambda_g
        A linear head on the latents is trained along with the encoder and becomes the surrogate.
    lambda_l
        The head's log-odds are as large as the black box's, so that sure rows do not run away.
    lambda_e, lambda_n
        Slopes are as close as decisions are; the nearest rows of one decision share their slopes.
    lambda_py, lambda_pn
        The same two for contributions. These five need the head, `lambda_g > 0`.
    alpha
        How many inputs a latent direction may use; None is all.
    calm
        Factor on the last layer at the start: near 0, the map starts global and bends where it must.
    width
        Hidden layers are at least so wide; the paper's, geometric between m and m * k, are too
        narrow for data of few columns.
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
        """Refuse weights that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "alpha" and not 0 <= value < float("inf"):
                raise ValueError(f"{field.name} must be a finite number >= 0, found {value!r}")
        if self.alpha is not None and self.alpha < 1:
            raise ValueError(f"alpha must be at least 1 input per latent, found {self.alpha!r}")
        if (self.aligns or self.lambda_l) and not self.joint:
            raise ValueError("lambda_l, lambda_e, lambda_n, lambda_py and lambda_pn need lambda_g > 0")

    @property
    def joint(self) -> bool:
        """Whether a linear head is trained along with the encoder."""
        return self.lambda_g > 0

    @property
    def aligns(self) -> bool:
        """Whether explanations themselves are part of the loss, which takes a head."""
        return any((self.lambda_e, self.lambda_n, self.lambda_py, self.lambda_pn))

    def unconditioned(self) -> Objective:
        """Return the same objective without the terms that need the black box's answers.

        Latents then keep at least the structure of the inputs.
        """
        return replace(
            self,
            lambda_x=self.lambda_x or 1.0,
            lambda_y=0.0,
            lambda_g=0.0,
            lambda_l=0.0,
            lambda_e=0.0,
            lambda_n=0.0,
            lambda_py=0.0,
            lambda_pn=0.0,
        )

    def softened(self, alignment: float) -> Objective:
        """Return the same objective with the four terms on explanations weighted by `alignment`."""
        return replace(
            self,
            lambda_e=alignment * self.lambda_e,
            lambda_n=alignment * self.lambda_n,
            lambda_py=alignment * self.lambda_py,
            lambda_pn=alignment * self.lambda_pn,
        )

    @classmethod
    def preset(cls, name: str) -> Objective:
        """Return a named objective.

        `co` and `so` are the paper's best for attributions and for rules (two inputs per latent);
        `joint` adds the head to `co`. `aligned`, the default, is the head, whose log-odds are kept
        to the size of the black box's, steady maps and, for neighbours of one decision, the same slopes,
        without the paper's terms on neighbourhoods: slopes then follow the model itself more closely, at
        half the cost of a step. Terms that tie
        explanations to decisions (`lambda_e`, `lambda_py`) are not part of it: they make contributions
        follow the decision at the cost of following the model.

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
        Whichever is reached first ends the training; a sparse objective is trained twice, dense and sparse.
    patience
        Epochs without a better validation loss before training ends.
    decay
        Let the learning rate fall to 0 along a cosine over the epochs, instead of keeping it.
    sparsity_epochs
        Over how many epochs the number of inputs per latent falls to its target.
    stability_rows
        The stability term is estimated on the first rows of each batch only; None is all of them.
    epoch_rows, validation_rows
        The most rows that one epoch trains on, and checks with, so that large data stop early too.
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
        """Refuse options that cannot work."""
        for name in ("batch_size", "learning_rate", "max_epochs", "max_steps", "patience", "epoch_rows"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, found {getattr(self, name)!r}")

    def n_epochs(self, n_rows: int) -> int:
        """Return how many epochs the budget allows for so many training rows.

        >>> Training(batch_size=100, max_steps=50).n_epochs(1000)
        5
        """
        steps = math.ceil(min(n_rows, self.epoch_rows) / self.batch_size)
        return max(1, min(self.max_epochs, self.max_steps // steps))


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


def hidden_widths(n_inputs: int, n_latents: int, least: int = 0) -> tuple[int, int]:
    """Two widths, geometric between m and m * k, but no less than `least`.

    >>> hidden_widths(10, 8), hidden_widths(10, 8, least=32)
    ((20, 40), (32, 40))
    """
    ratio = n_latents ** (1 / 3)
    return max(least, round(n_inputs * ratio)), max(least, round(n_inputs * ratio**2))

"""Training history of an encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """Losses of one epoch on training and validation rows; unweighted terms of the validation loss."""

    number: int
    alpha: int
    loss: float
    validation_loss: float
    terms: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class History:
    """All epochs of a training, the best one, whose weights were kept, and why it ended.

    >>> epochs = (Epoch(1, 4, 2.0, 2.5, {"x": 1.0}, 0.1), Epoch(2, 4, 1.5, 2.2, {"x": 0.9}, 0.2))
    >>> History(epochs, best=2, ended="all 2 epochs done")
    2 epochs in 0.2 s, best 2: all 2 epochs done
      epoch      loss  validation
          1   2.00000     2.50000
          2   1.50000     2.20000  kept
    """

    epochs: tuple[Epoch, ...]
    best: int
    ended: str
    interrupted: bool = False
    diverged: bool = False

    @property
    def learned(self) -> bool:
        """Whether any epoch's weights are usable."""
        return self.best > 0 or not self.diverged

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, i: int) -> Epoch:
        return self.epochs[i]

    def __repr__(self) -> str:
        if not self.epochs:
            return f"0 epochs: {self.ended}"
        step = max(1, len(self) // 10)
        shown = [e for e in self if e.number % step == 0 or e.number in (1, self.best, len(self))]
        head = f"{len(self)} epochs in {self.epochs[-1].seconds:.1f} s, best {self.best}: {self.ended}"
        lines = [
            f"  {e.number:>5}  {e.loss:>8.5f}  {e.validation_loss:>10.5f}{'  kept' * (e.number == self.best)}"
            for e in shown
        ]
        return "\n".join([head, "  epoch      loss  validation", *lines])

    def to_dict(self) -> dict[str, list[Any]]:
        """Return one list per quantity, ready for any data frame."""
        names = {"epoch": "number"} | {n: n for n in ("alpha", "loss", "validation_loss", "seconds")}
        terms = sorted({name for epoch in self for name in epoch.terms})
        table = {name: [getattr(e, attribute) for e in self] for name, attribute in names.items()}
        return table | {name: [e.terms.get(name) for e in self] for name in terms}

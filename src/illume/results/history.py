"""What happened in each epoch of a training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """One epoch: the loss on training and validation rows, and its terms, unweighted, on the latter."""

    number: int
    alpha: int
    loss: float
    validation_loss: float
    terms: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class History:
    """All epochs of a training, which of them was kept, and why it ended.

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
        """Whether there is any epoch whose weights are worth keeping."""
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
        lines = [
            f"  {e.number:>5}  {e.loss:>8.5f}  {e.validation_loss:>10.5f}{'  kept' * (e.number == self.best)}"
            for e in shown
        ]
        seconds = self.epochs[-1].seconds
        head = f"{len(self)} epochs in {seconds:.1f} s, best {self.best}: {self.ended}"
        return "\n".join([head, "  epoch      loss  validation", *lines])

    def to_dict(self) -> dict[str, list[Any]]:
        """Return one list per quantity, ready for any data frame."""
        names = sorted({name for epoch in self for name in epoch.terms})
        table: dict[str, list[Any]] = {
            "epoch": [e.number for e in self],
            "alpha": [e.alpha for e in self],
            "loss": [e.loss for e in self],
            "validation_loss": [e.validation_loss for e in self],
            "seconds": [e.seconds for e in self],
        }
        return table | {name: [e.terms.get(name) for e in self] for name in names}

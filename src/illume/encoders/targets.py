"""What an encoder learns, probabilities of classes or numbers: distances between them, and losses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from illume._typing import FloatArray
from illume.encoders.base import HEAD_TYPES, Head, as_probabilities, require_task
from illume.encoders.losses import cosine

CLIP = 1e-3  # probabilities are clipped to this distance from 0 and 1
QUARTILES = (-0.6745, 0.0, 0.6745)  # of the normal distribution
ROUNDING = 1e-14  # numbers that differ by less, relative to the largest, are constant


class Targets(Protocol):
    """What depends on the kind of answers P (n, c) that an encoder learns, chosen once by its task."""

    task: ClassVar[str]

    @staticmethod
    def read(y: Any) -> FloatArray:
        """Return what was passed to `fit` as answers (n, c); raise for what are none."""
        ...

    @classmethod
    def fit(cls, P: FloatArray) -> Self:
        """Measure the answers to the training rows."""
        ...

    @property
    def n_logits(self) -> int:
        """The number of outputs of a linear head, s."""
        ...

    def standardise(self, P: FloatArray) -> FloatArray:
        """Return answers (n, c) as training sees them, (n, c)."""
        ...

    def scores(self, P: FloatArray) -> FloatArray:
        """Return what a head should answer (n, s) to rows with standardised answers P (n, c)."""
        ...

    def head(self, weight: FloatArray, bias: FloatArray) -> Head:
        """Return the trained head in the units of the answers."""
        ...

    def mimicry(self, logits: Tensor, P: Tensor) -> Tensor:
        """Return how far the head (n, s) is from the answers, mean over rows."""
        ...

    def distances(self, P: Tensor) -> Tensor:
        """Return the distances between all pairs of answers, (n, c) to (n, n)."""
        ...

    def standardise_scores(self, S: FloatArray) -> FloatArray:
        """Return scores (n, s) on the scale of the answers as those that a head learns."""
        ...

    def answers(self, S: Tensor) -> Tensor:
        """Return the standardised answers (n, c) of scores (n, s)."""
        ...

    def decisions(self, P: Tensor) -> Tensor:
        """Return which answers count as the same decision, (n, c) to integers (n,)."""
        ...

    def leading(self, P: Tensor) -> Tensor:
        """Return the output of a head that explanations of each answer are about, integers (n,)."""
        ...

    def explained(self, coef: Tensor) -> Tensor:
        """Return the part of a head's weights (s, k) that explanations are about."""
        ...


@dataclass(frozen=True)
class ClassTargets:
    """Probabilities of classes; a head answers with log-odds."""

    n_classes: int
    task: ClassVar[str] = "classification"

    @staticmethod
    def read(y: Any) -> FloatArray:
        """Return labels (n,) or probabilities as probabilities (n, c)."""
        return as_probabilities(y)

    @classmethod
    def fit(cls, P: FloatArray) -> Self:
        """Count the classes."""
        return cls(P.shape[1])

    @property
    def n_logits(self) -> int:
        """The log-odds of the second of two classes, or one column per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def standardise(self, P: FloatArray) -> FloatArray:
        """Return the probabilities themselves."""
        return P

    def scores(self, P: FloatArray) -> FloatArray:
        """Return log-odds; probabilities are clipped to [0.001, 0.999]."""
        logs = np.log(np.clip(P, CLIP, 1 - CLIP))
        return logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)

    def head(self, weight: FloatArray, bias: FloatArray) -> Head:
        """Return the head as it is."""
        return Head(weight, bias)

    def mimicry(self, logits: Tensor, P: Tensor) -> Tensor:
        r"""Cross-entropy :math:`-\sum_c P_c \log \hat P_c` between head and black box, mean over rows.

        One column of logits is the log-odds of the second class; more are a softmax over classes.

        >>> ClassTargets(2).mimicry(torch.zeros(1, 1), torch.tensor([[0.5, 0.5]]))  # log 2
        tensor(0.6931)
        """
        if logits.shape[1] == 1:
            return functional.binary_cross_entropy_with_logits(logits[:, 0], P[:, 1])
        return functional.cross_entropy(logits, P)

    def distances(self, P: Tensor) -> Tensor:
        """Return cosine distances of probabilities."""
        return cosine(P)

    def standardise_scores(self, S: FloatArray) -> FloatArray:
        """Return them, centred over classes."""
        return S - S.mean(1, keepdims=True) if S.shape[1] > 1 else S

    def answers(self, S: Tensor) -> Tensor:
        """Return probabilities.

        >>> ClassTargets(2).answers(torch.zeros(1, 1))
        tensor([[0.5000, 0.5000]])
        """
        return (torch.cat([torch.zeros_like(S), S], 1) if S.shape[1] == 1 else S).softmax(1)

    def decisions(self, P: Tensor) -> Tensor:
        """Return the most likely classes."""
        return P.argmax(1)

    def leading(self, P: Tensor) -> Tensor:
        """Return the most likely classes, or the only output."""
        return P.argmax(1) if self.n_classes > 2 else torch.zeros(len(P), dtype=torch.int64, device=P.device)

    def explained(self, coef: Tensor) -> Tensor:
        """Centre weights over classes: softmax ignores what all classes share, and so do explanations."""
        return coef - coef.mean(0) if len(coef) > 1 else coef


@dataclass(frozen=True, eq=False)
class NumberTargets:
    """Numbers in any units, learned less their mean (q,) and in standard deviations (q,)."""

    mean: FloatArray
    scale: FloatArray
    task: ClassVar[str] = "regression"

    @staticmethod
    def read(y: Any) -> FloatArray:
        """Return finite numbers (n, q) from numbers (n,) or (n, q)."""
        P = np.asarray(y)
        with suppress(TypeError, ValueError):  # objects may be numbers, text is none
            P = P.astype(np.float64) if P.dtype.kind in "fiubO" else P
        P = P[:, None] if P.ndim == 1 else P
        if P.ndim != 2 or not P.shape[1] or P.dtype.kind != "f" or not np.isfinite(P).all():
            raise ValueError(
                f"with task='regression', y must hold finite numbers of shape (n,) or (n, outputs), found "
                f"{P.dtype} of shape {np.shape(y)}; for classes, use task='classification'"
            )
        return P

    @classmethod
    def fit(cls, P: FloatArray) -> Self:
        """Measure mean and standard deviation of each output; those of a constant one are itself and 1.

        >>> NumberTargets.fit(np.array([[1e5, 7.0], [3e5, 7.0]]))
        NumberTargets(mean=array([2.e+05, 7.e+00]), scale=array([1.e+05, 1.e+00]))
        """
        largest = np.abs(P).max(0)
        unit = np.where(largest > 0, largest, 1.0)  # so that squares do not overflow
        spread = (P / unit).std(0)
        return cls((P / unit).mean(0) * unit, np.where(spread > ROUNDING, spread * unit, 1.0))

    @property
    def n_logits(self) -> int:
        """All outputs."""
        return len(self.mean)

    def standardise(self, P: FloatArray) -> FloatArray:
        """Subtract the mean and divide by the standard deviation."""
        return np.asarray((P - self.mean) / self.scale)

    def scores(self, P: FloatArray) -> FloatArray:
        """Return the standardised numbers."""
        return P

    def head(self, weight: FloatArray, bias: FloatArray) -> Head:
        """Return the head in units: its weights times the standard deviations."""
        exact = HEAD_TYPES[self.task]
        return Head(weight.astype(exact) * self.scale[:, None], bias.astype(exact) * self.scale + self.mean)

    def mimicry(self, logits: Tensor, P: Tensor) -> Tensor:
        """Squared error, mean over rows and outputs.

        >>> NumberTargets.fit(np.eye(2)).mimicry(torch.tensor([[3.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(2.)
        """
        return functional.mse_loss(logits, P)

    def distances(self, P: Tensor) -> Tensor:
        """Return absolute differences, mean over outputs.

        >>> NumberTargets.fit(np.eye(2)).distances(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
        tensor([[0.0000, 1.5000],
                [1.5000, 0.0000]])
        """
        return torch.cdist(P, P, p=1.0) / P.shape[1]

    def standardise_scores(self, S: FloatArray) -> FloatArray:
        """Subtract the mean and divide by the standard deviation."""
        return self.standardise(S)

    def answers(self, S: Tensor) -> Tensor:
        """Return the scores themselves."""
        return S

    def leading(self, P: Tensor) -> Tensor:
        """Return the first output."""
        return torch.zeros(len(P), dtype=torch.int64, device=P.device)

    def decisions(self, P: Tensor) -> Tensor:
        """Return the quarter of the normal distribution that the first output is in.

        >>> NumberTargets.fit(np.ones((2, 1))).decisions(torch.tensor([[-2.0], [-0.1], [0.1], [2.0]]))
        tensor([0, 1, 2, 3])
        """
        above = [P[:, 0] > edge for edge in QUARTILES]
        return torch.stack(above).sum(0)

    def explained(self, coef: Tensor) -> Tensor:
        """Return all weights: each output is explained on its own."""
        return coef


KINDS: tuple[type[ClassTargets | NumberTargets], ...] = (ClassTargets, NumberTargets)


def find_targets(task: Any) -> type[ClassTargets | NumberTargets]:
    """Return the kind of targets that a task has.

    >>> find_targets("regression").__name__
    'NumberTargets'
    """
    require_task(task)
    return {kind.task: kind for kind in KINDS}[task]

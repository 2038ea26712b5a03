"""An explainer's forward pass as a torch module, for rows that lie in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from illume.data.threads import row_chunks
from illume.encoders.base import EPSILON
from illume.encoders.forward import LARGEST
from illume.encoders.networks import BinLayer
from illume.export.devices import CHUNK_ROWS, PRECISIONS, Precision
from illume.export.parts import Parts
from illume.export.values_module import ValuesModule


class Explained(NamedTuple):
    """Slopes (n, c, m) per input, contributions (n, c, features) and log-odds (n, c)."""

    slopes: Tensor
    contributions: Tensor
    log_odds: Tensor


class ExplainingModule(nn.Module):
    """From encoded rows X (n, m), float32, to their explanations, on the device that the module is on.

    NaN stands for a missing number. See `torch_module`.
    """

    coef: Tensor
    intercept: Tensor
    fixed: Tensor | None
    membership: Tensor | None

    def __init__(
        self, parts: Parts, precision: Precision = "float32", chunk_rows: int = CHUNK_ROWS, **compiling: Any
    ) -> None:
        super().__init__()
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, found {precision!r}")
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows must be at least 1, found {chunk_rows!r}")
        self.precision, self.chunk_rows = precision, chunk_rows
        self.shape, self.alpha, self.n_layers = parts.shape, parts.alpha, len(parts.layers)
        self.binned = BinLayer(parts.bins)
        half = torch.bfloat16 if precision == "bfloat16" else torch.float32
        for i, (weight, bias) in enumerate(parts.layers):  # the first, which sees the rows, is never halved
            kind = half if i else torch.float32
            self.register_buffer(f"weight_{i}", tensor(weight).to(kind))
            self.register_buffer(f"bias_{i}", tensor(bias).to(kind))
        self.register_buffer("coef", tensor(parts.coef))
        self.register_buffer("intercept", tensor(parts.intercept))
        fixed = None if parts.fixed is None else tensor(parts.coef @ parts.fixed)
        self.register_buffer("fixed", fixed)
        self.register_buffer("membership", tensor(parts.membership) if self._gathers(parts) else None)
        self.values = None if parts.shapley is None else ValuesModule(parts.shapley)
        self.n_values = self.shape[1] if parts.shapley is None else parts.n_features
        self._run: Callable[..., Any] = torch.compile(self._chunk, **compiling) if compiling else self._chunk

    @staticmethod
    def _gathers(parts: Parts) -> bool:
        """Whether contributions of inputs are summed into features; Shapley values are features' already."""
        return parts.shapley is None and parts.gathers

    @torch.inference_mode()
    def forward(self, X: Tensor, probabilities: Tensor | None = None) -> Explained:
        """Explain rows, a chunk at a time; beside the answer, memory is needed for one chunk only.

        Shapley values add up to the log-odds of the model's `probabilities` (n, classes), where they are
        given, else to those of the surrogate's.
        """
        if probabilities is not None:
            self._require_probabilities(probabilities, len(X))
        if X.ndim != 2 or X.shape[1] != self.shape[1]:
            raise ValueError(f"X has the shape {tuple(X.shape)}, expected (rows, {self.shape[1]})")
        n, c = len(X), len(self.coef)
        found = Explained(
            X.new_empty((n, c, self.shape[1])), X.new_empty((n, c, self.n_values)), X.new_empty((n, c))
        )
        with matmul_precision("highest" if self.precision == "float32" else "high"):
            for rows in row_chunks(n, self.chunk_rows):
                P = None if probabilities is None else probabilities[rows].to(X.dtype)
                self._run(X[rows], *(part[rows] for part in found), P)
        if self.membership is None:
            return found
        with matmul_precision("highest"):
            return found._replace(contributions=found.contributions @ self.membership)

    def _require_probabilities(self, P: Tensor, n: int) -> None:
        """Refuse probabilities that do not fit."""
        if self.values is None:
            raise ValueError(
                "only Shapley values can add up to the model's log-odds; leave probabilities out"
            )
        wanted = (n, max(2, len(self.coef)))
        if tuple(P.shape) != wanted:
            raise ValueError(f"probabilities has the shape {tuple(P.shape)}, expected {wanted}")

    def _chunk(
        self, given: Tensor, slopes: Tensor, contributions: Tensor, log_odds: Tensor, P: Tensor | None
    ) -> None:
        """Fill in the explanations of a chunk of rows."""
        X = torch.where(given.isnan(), 0.0, given)
        psi = self._slopes(X)
        phi = psi * X[:, None, :]
        logits = phi.sum(-1) + self.intercept
        slopes.copy_(psi)
        if self.values is None:
            contributions.copy_(phi)
            log_odds.copy_(logits)
            return
        found, total = self.values(given, self._probabilities(logits) if P is None else P)
        contributions.copy_(found)
        log_odds.copy_(total)

    @staticmethod
    def _probabilities(logits: Tensor) -> Tensor:
        both = logits if logits.shape[1] > 1 else torch.cat([torch.zeros_like(logits), logits], 1)
        return both.softmax(1)

    def _slopes(self, X: Tensor) -> Tensor:
        if self.fixed is not None:
            return self.fixed.expand(len(X), -1, -1)
        V = self._raw(X.clamp(-LARGEST, LARGEST)).unflatten(1, self.shape).float()
        if self.alpha < self.shape[1]:
            index = V.abs().topk(self.alpha, dim=-1).indices
            V = torch.zeros_like(V).scatter(-1, index, V.gather(-1, index))
        length = torch.linalg.vector_norm(V, dim=-1).clamp(min=EPSILON)
        share = self.coef / length[:, None, :]  # (n, c, k): the maps themselves are never scaled
        # Sums of products, not small matrix products: exact, and one pass over V when compiled.
        return torch.stack([(share[:, i, :, None] * V).sum(1) for i in range(share.shape[1])], 1)

    def _raw(self, X: Tensor) -> Tensor:
        h = self.binned(X)
        for i in range(self.n_layers):
            weight: Tensor = getattr(self, f"weight_{i}")
            h = linear(h.to(weight.dtype), weight, getattr(self, f"bias_{i}"))
            h = h.relu() if i < self.n_layers - 1 else h
        return h


def tensor(array: Any) -> Tensor:
    """Return an array as float32."""
    return torch.from_numpy(np.array(array, dtype=np.float32))


@contextmanager
def matmul_precision(wanted: str) -> Iterator[None]:
    """Let float32 matrix products be as precise as this, for a while."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(wanted)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)

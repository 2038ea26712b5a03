"""The forward pass of an explainer as torch modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from illume.data.scales import LOG_ODDS, PROBABILITY
from illume.data.threads import row_chunks
from illume.encoders.base import EPSILON
from illume.encoders.forward import LARGEST
from illume.encoders.networks import MapNetwork, keep_largest
from illume.explanations.forward_pass import ForwardPass
from illume.io.forward_pass import CHUNK_ROWS, NOT_SHAPLEY, Precision, shapley_arrays
from illume.twin.shapley_model import ShapleyModel


class Explained(NamedTuple):
    """Slopes (n, c, m) per input, contributions (n, c, features) and scores (n, c), such as log-odds.

    Scores are the base values, contributions and `offset` (n, c), the row's own level, in sum.
    """

    slopes: Tensor
    contributions: Tensor
    score: Tensor
    offset: Tensor

    @property
    def log_odds(self) -> Tensor:
        """The scores of a classifier."""
        return self.score


def _softmax(scores: Tensor) -> Tensor:
    one = scores.shape[1] == 1
    return (torch.cat([torch.zeros_like(scores), scores], 1) if one else scores).softmax(1)


def _log_odds(P: Tensor, least: float) -> Tensor:
    logs = torch.log(P.clamp(least, 1.0 - least))
    return logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdim=True)


def _shares(P: Tensor, _: float) -> Tensor:
    return P[:, 1:] if P.shape[1] == 2 else P


# Answers of scores, and scores of answers, by the link of the outputs
ANSWERS: dict[str, Callable[[Tensor], Tensor]] = {
    LOG_ODDS: _softmax,
    PROBABILITY: _softmax,  # the surrogate's own scores are log-odds
    "identity": lambda scores: scores,
    "log": torch.exp,
}
SCORES: dict[str, Callable[[Tensor, float], Tensor]] = {
    LOG_ODDS: _log_odds,
    PROBABILITY: _shares,
    "identity": lambda P, _: P,
    "log": lambda P, _: torch.log(P),
}


class ExplainingModule(nn.Module):
    """Explains encoded rows X (n, m), float32, NaN for missing numbers; see `torch_module`."""

    coef: Tensor
    intercept: Tensor
    membership: Tensor | None

    def __init__(
        self,
        parts: ForwardPass,
        precision: Precision = "float32",
        chunk_rows: int = CHUNK_ROWS,
        **compiling: Any,
    ) -> None:
        super().__init__()
        if precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {get_args(Precision)}, found {precision!r}")
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows must be at least 1, found {chunk_rows!r}")
        self.precision, self.chunk_rows = precision, chunk_rows
        self.shape, self.alpha = parts.shape, parts.alpha
        self.maps = MapNetwork.from_weights(parts.weights, parts.shape, parts.bins).requires_grad_(False)
        if precision == "bfloat16" and self.maps.rank != 0:
            self.maps.layers[1:].to(torch.bfloat16)  # not the first layer, which sees the rows
        self.register_buffer("coef", _tensor(parts.coef))
        self.register_buffer("intercept", _tensor(parts.intercept))
        membership = parts.membership
        self.register_buffer("membership", None if membership is None else _tensor(membership))
        self.link, self.n_outputs = parts.outputs.link, len(parts.outputs)
        self.sign, self.whole = parts.sign, parts.whole
        self.values = None if parts.shapley is None else ShapleyModule(parts.shapley, self.link)
        self._run: Callable[..., Any] = (
            torch.compile(self._explain, **compiling) if compiling else self._explain
        )

    @torch.inference_mode()
    def forward(self, X: Tensor, predictions: Tensor | None = None) -> Explained:
        """Explain rows, a chunk at a time.

        Shapley values add up to the scores of the model's `predictions`, its probabilities (n, classes) or
        numbers (n, outputs), by default to those of the surrogate's.
        """
        if predictions is not None and self.values is None:
            raise ValueError(NOT_SHAPLEY)
        wanted = (len(X), self.n_outputs)
        if predictions is not None and tuple(predictions.shape) != wanted:
            raise ValueError(f"predictions has the shape {tuple(predictions.shape)}, expected {wanted}")
        if X.ndim != 2 or X.shape[1] != self.shape[1]:
            raise ValueError(f"X has the shape {tuple(X.shape)}, expected (rows, {self.shape[1]})")
        n, c, m = len(X), len(self.coef), self.shape[1]
        n_values = m if self.values is None else self.values.n_features
        # Chunks are copied into one result: a list of chunks would need twice the memory at the end.
        sizes = ((n, c, m), (n, c, n_values), (n, c), (n, c))
        result = Explained(*map(X.new_empty, sizes))
        with matmul_precision("highest" if self.precision == "float32" else "high"):
            for rows in row_chunks(n, self.chunk_rows):
                P = None if predictions is None else predictions[rows].to(X.dtype)
                for whole, part in zip(result, self._run(X[rows], P), strict=True):
                    whole[rows] = part if self.sign > 0 else -part
                if self.sign < 0:
                    result.score[rows] += self.whole
        if self.membership is None:
            return result
        with matmul_precision("highest"):
            return result._replace(contributions=result.contributions @ self.membership)

    def _explain(self, given: Tensor, P: Tensor | None) -> tuple[Tensor, ...]:
        X = torch.where(given.isnan(), 0.0, given)
        slopes, offset = self._slopes(X)
        slopes = slopes.expand(len(X), -1, -1)
        values = slopes * X[:, None, :]
        scores = values.sum(-1) + offset + self.intercept
        if self.values is None:
            return slopes, values, scores, offset + torch.zeros_like(scores)
        found = self.values(given, ANSWERS[self.link](scores) if P is None else P)
        return slopes, *found, torch.zeros_like(scores)

    def _slopes(self, X: Tensor) -> tuple[Tensor, Tensor | float]:
        """Return slopes (n, c, m), of a single row if all rows share one map, and what is left (n, c)."""
        if self.maps.rank == 0:
            V, level = self.maps(X[:1]).float(), None
        else:
            A, level = self.maps.factors_and_level(X.clamp(-LARGEST, LARGEST))
            V = self.maps.whole(A).float()
        if self.alpha < self.shape[1]:
            V, _ = keep_largest(V, self.alpha)
        length = torch.linalg.vector_norm(V, dim=-1).clamp(min=EPSILON)
        share = self.coef / length[:, None, :]  # (n, c, k): the maps themselves are never scaled
        # Sums of products, not small matrix products: exact, and one pass over V when compiled.
        slopes = torch.stack([(share[:, i, :, None] * V).sum(1) for i in range(share.shape[1])], 1)
        return slopes, 0.0 if level is None else level.float() @ self.coef.mT


class ShapleyModule(nn.Module):
    """Shapley values of encoded rows X (n, m), NaN for missing numbers; see `shapley_arrays`."""

    def __init__(self, model: ShapleyModel, link: str) -> None:
        super().__init__()
        self.least, self.n_features, self.link = model.scale.least, model.n_features, link
        self.has_unit = bool((model.scale.unit != 1.0).any())
        self.n_main = model.values.table.n_main
        for name, array in shapley_arrays(model).items():
            self.register_buffer(name, _tensor(array))

    def __getattr__(self, name: str) -> Tensor:  # all buffers are tensors
        return super().__getattr__(name)  # type: ignore[return-value]

    def forward(self, X: Tensor, P: Tensor) -> tuple[Tensor, Tensor]:
        """Return values (n, c, features) and the scores (n, c) that they add up to with the base values."""
        values, scores = self._values(self._embed(X)), SCORES[self.link](P, self.least)
        if self.has_unit:
            values = values * self.unit
        remainder = scores - self.base - values.sum(1)
        values = (values + remainder[:, None] * self.share).transpose(1, 2)
        every = values.new_zeros((*values.shape[:2], self.n_features))
        return every.index_copy(2, self.features, values), scores

    def _embed(self, X: Tensor) -> Tensor:
        x = X[:, self.number_inputs]
        inside = ((x[..., None] - self.low) * self.steepness).clamp(0.0, 1.0)
        numbers = (inside.transpose(0, 1) @ self.rise).transpose(0, 1) + self.start
        numbers = torch.where(x.isnan()[..., None], self.number_missing, numbers)
        has = X[:, self.category_inputs] + self.category_mean > 0.5
        at = self.category_missing.expand(len(X), -1)
        at = at.index_add(1, self.category_owner, has * self.category_step)
        return torch.cat([numbers, self.nodes[at]], 1)[:, self.order]

    def _values(self, embedded: Tensor) -> Tensor:
        """Return values (n, m, c) before they are made to add up."""
        main, own = embedded[..., : self.n_main], embedded[..., self.n_main :]
        gate, value, rest = torch.addmm(self.first_bias, own.flatten(1), self.first).chunk(3, 1)
        context = torch.cat([silu(gate) * value, rest], 1)
        coefficients = torch.addmm(self.last_bias, context, self.last)
        coefficients = coefficients.unflatten(1, (*own.shape[1:], self.n_main))
        return main + self.constant + (coefficients * own[..., None]).sum(2)


def _tensor(array: Any) -> Tensor:
    """Return floats as float32, integers as int64."""
    array = np.asarray(array)
    return torch.from_numpy(array.astype(np.float32 if array.dtype.kind == "f" else np.int64))


@contextmanager
def matmul_precision(wanted: str) -> Iterator[None]:
    """Set the precision of float32 matrix products for the block."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(wanted)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)

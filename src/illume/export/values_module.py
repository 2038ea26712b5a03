"""Shapley values as a torch module, for rows that lie in the memory of a GPU."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, silu

from illume.export.places import Places
from illume.shapley.network_arrays import arrays_of
from illume.shapley.shapley_model import ShapleyModel


class ValuesModule(nn.Module):
    """From encoded rows X (n, m), NaN for missing numbers, and probabilities to Shapley values."""

    nodes: Tensor
    constant: Tensor
    first: Tensor
    first_bias: Tensor
    last: Tensor
    last_bias: Tensor
    base: Tensor
    share: Tensor
    features: Tensor

    def __init__(self, model: ShapleyModel) -> None:
        super().__init__()
        self.least, self.n_features = model.log_odds.least, model.n_features
        self.n_main = model.values.table.n_main
        self.places = _PlacesModule(Places.of(model.coding))
        found = {**arrays_of(model.values), "base": model.base, "share": model.errors.share}
        for name, array in found.items():
            self.register_buffer(name, torch.from_numpy(np.array(array, dtype=np.float32)))
        self.register_buffer("features", torch.from_numpy(model.coding.features.astype(np.int64)))

    def forward(self, X: Tensor, P: Tensor) -> tuple[Tensor, Tensor]:
        """Return values (n, c, features) and the log-odds (n, c) that they add up to with the base values."""
        values, log_odds = self._values(*self.places(X)), self.log_odds(P)
        remainder = log_odds - self.base - values.sum(1)
        values = (values + remainder[:, None] * self.share).transpose(1, 2)
        every = values.new_zeros((*values.shape[:2], self.n_features))
        return every.index_copy(2, self.features, values), log_odds

    def log_odds(self, P: Tensor) -> Tensor:
        """Return the log-odds of probabilities (n, classes), see `illume.shapley.shapley_model`."""
        clipped = P.clamp(self.least, 1.0 - self.least)
        if P.shape[1] == 2:
            return torch.log(clipped[:, 1:] / clipped[:, :1])
        logs = torch.log(clipped)
        return logs - logs.mean(1, keepdim=True)

    def _values(self, at: Tensor, part: Tensor) -> Tensor:
        """Return values (n, m, c) before they are made to add up."""
        low = embedding(at, self.nodes)
        found = low + part[..., None] * (embedding((at + 1).clamp(max=len(self.nodes) - 1), self.nodes) - low)
        main, own = found[..., : self.n_main], found[..., self.n_main :]
        hidden = torch.addmm(self.first_bias, own.flatten(1), self.first)
        gate, value, rest = hidden.chunk(3, 1)
        context = torch.cat([silu(gate) * value, rest], 1)
        coefficients = torch.addmm(self.last_bias, context, self.last)
        coefficients = coefficients.unflatten(1, (*own.shape[1:], self.n_main))
        return main + self.constant + (coefficients * own[..., None]).sum(2)


class _PlacesModule(nn.Module):
    """From encoded rows to places in the table, and how far it is to the next, (n, m) each."""

    number_inputs: Tensor
    number_starts: Tensor
    number_missing: Tensor
    inner: Tensor
    first: Tensor
    knots: Tensor
    last_bin: Tensor
    category_inputs: Tensor
    category_mean: Tensor
    category_step: Tensor
    category_owner: Tensor
    category_missing: Tensor
    order: Tensor

    def __init__(self, places: Places) -> None:
        super().__init__()
        for field in fields(places):
            array: Any = getattr(places, field.name)
            kind = np.float32 if array.dtype.kind == "f" else np.int64
            self.register_buffer(field.name, torch.from_numpy(np.array(array, dtype=kind)))

    def forward(self, X: Tensor) -> tuple[Tensor, Tensor]:
        x = X[:, self.number_inputs]
        missing = x.isnan()
        bins = torch.searchsorted(self.inner, x.T.contiguous(), right=True).T
        bins = torch.minimum(bins, self.last_bin)
        low, high = self.knots[self.first + bins], self.knots[self.first + bins + 1]
        part = ((x - low) / (high - low)).clamp(0.0, 1.0).masked_fill(missing, 0.0)
        numbers = torch.where(missing, self.number_missing, self.number_starts + bins)
        has = X[:, self.category_inputs] + self.category_mean > 0.5
        categories = self.category_missing.expand(len(X), -1).index_add(
            1, self.category_owner, has * self.category_step
        )
        at = torch.cat([numbers, categories], 1)[:, self.order]
        part = torch.cat([part, part.new_zeros(categories.shape)], 1)[:, self.order]
        return at, part

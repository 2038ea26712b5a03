"""Several models of different sizes trained as one: weights padded with zeros, stacked, stepped at once.

Not part of the library, for on a CPU it takes longer than training one after another.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from illume.encoders.batches import Model
from illume.encoders.distances import Columns
from illume.encoders.networks import MetaNetwork
from illume.encoders.objective import Batch, loss_terms
from illume.encoders.options import Objective


def padded(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Put a tensor into the first corner of a larger one of zeros.

    >>> padded(torch.ones(1, 2), (2, 3))
    tensor([[1., 1., 0.],
            [0., 0., 0.]])
    """
    found = tensor.new_zeros(*shape)
    found[tuple(slice(0, n) for n in tensor.shape)] = tensor
    return found


class Ensemble(nn.Module):
    """Meta-networks with heads, of several numbers of latents, on the same batches.

    Weights are padded with zeros to the largest, and stay zero: a hidden unit without weights is
    never above 0, and a latent without weights has no part in the head. What is learned is what each
    would have learned alone, up to rounding.
    """

    def __init__(self, models: Sequence[Model], objective: Objective) -> None:
        super().__init__()
        if not all(isinstance(model.maps, MetaNetwork) and model.head is not None for model in models):
            raise TypeError("only meta-networks with a head can be trained together")
        if objective.alpha is not None or objective.lambda_w or objective.lambda_so or objective.lambda_co:
            raise ValueError("padded latents would count in the terms w, so and co, and in sparse maps")
        named = [weights_of(model) for model in models]
        self.objective, self.n_inputs = objective, models[0].maps.shape[1]
        self.names = list(named[0])
        stacked = []
        for name in self.names:
            widest = torch.tensor([each[name].shape for each in named]).amax(0).tolist()
            stacked.append(torch.stack([padded(each[name].detach(), widest) for each in named]))
        self.stacked = nn.ParameterList(nn.Parameter(each) for each in stacked)
        latents = torch.tensor([model.maps.shape[0] for model in models])
        self.register_buffer("share", (latents.max() / latents).to(stacked[0]))

    def losses(self, batch: Batch, columns: Columns) -> Tensor:
        """Return every model's loss on one batch, (s,)."""

        def terms(*weights: Tensor) -> dict[str, Tensor]:
            model = _View(self, weights)
            return loss_terms(self.objective, model, batch, columns, self.n_inputs)

        found = torch.func.vmap(terms)(*self.stacked)
        found["st"] = found["st"] * self.share  # a mean over latents, the padded ones among them
        return torch.stack(
            [getattr(self.objective, f"lambda_{name}") * each for name, each in found.items()]
        ).sum(0)

    def release(self, models: Sequence[Model]) -> None:
        """Give every model the weights that it has now."""
        with torch.no_grad():
            for i, model in enumerate(models):
                for name, mine in weights_of(model).items():
                    tensor = self.stacked[self.names.index(name)][i]
                    mine.copy_(tensor[tuple(slice(0, n) for n in mine.shape)])


def weights_of(model: Model) -> dict[str, Tensor]:
    """Return all trained weights of a model by name."""
    return dict(nn.ModuleDict({"maps": model.maps, "head": model.head}).named_parameters())


class _View:
    """One model of an ensemble, as the objective wants it."""

    constant = False

    def __init__(self, ensemble: Ensemble, weights: Sequence[Tensor]) -> None:
        self.ensemble, self.named = ensemble, dict(zip(ensemble.names, weights, strict=True))
        self.head = _Head(self.named["head.weight"], self.named["head.bias"])

    def maps(self, X: Tensor) -> Tensor:
        hidden = X
        for i in (0, 2, 4):
            if i:
                hidden = hidden.relu()
            weight, bias = (self.named[f"maps.layers.{i}.{part}"] for part in ("weight", "bias"))
            hidden = nn.functional.linear(hidden, weight, bias)
        return hidden.unflatten(1, (-1, self.ensemble.n_inputs))


class _Head:
    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, Z: Tensor) -> Tensor:
        return nn.functional.linear(Z, self.weight, self.bias)

"""What the forward pass of an explainer consists of, in plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.encoders.forward import Forward
from illume.encoders.soft_bins import SoftBins
from illume.errors import ExportError
from illume.shapley.shapley_model import ShapleyModel

Layer = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Parts:
    """A forward pass: layers from rows to raw maps, or one map for all rows, and weights on the latents.

    Parameters
    ----------
    layers
        Weights (out, in) and biases (out,) of the network, ReLU between them; none where all rows
        share one map. The first layer reads a row's inputs and then its bins.
    fixed
        That map, scaled, (k, m); None where there is a network.
    alpha
        How many inputs a latent direction may use.
    coef, intercept
        The surrogate's weights (c, k) and base values (c,).
    owner
        Which feature each input belongs to, (m,).
    bins
        What the network sees beside the inputs.
    shapley
        What gives rows their Shapley values; None where contributions are slopes times inputs.
    """

    layers: tuple[Layer, ...]
    fixed: FloatArray | None
    alpha: int
    coef: FloatArray
    intercept: FloatArray
    owner: IntArray
    n_features: int
    bins: SoftBins = field(default_factory=SoftBins.none)
    shapley: ShapleyModel | None = None

    @property
    def base_values(self) -> FloatArray:
        """What contributions are added to, (c,)."""
        return self.intercept if self.shapley is None else self.shapley.base

    @property
    def shape(self) -> tuple[int, int]:
        """Latents and inputs, (k, m)."""
        return self.coef.shape[1], len(self.owner)

    @property
    def gathers(self) -> bool:
        """Whether inputs are summed into features."""
        return not np.array_equal(self.owner, np.arange(self.n_features))

    @property
    def membership(self) -> FloatArray:
        """Return the matrix (m, features) that sums inputs into features, float32."""
        return np.asarray(self.owner[:, None] == np.arange(self.n_features), dtype=np.float32)

    @classmethod
    def of(cls, explainer: Any) -> Parts:
        """Take a fitted explainer apart."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(explainer, "pair_")
        encoder, surrogate, encoding = (
            explainer.fitted_.pair.encoder,
            explainer.fitted_.pair.surrogate,
            explainer.fitted_.encoding,
        )
        m, fixed = encoding.n_inputs, None
        layers: tuple[Layer, ...] = ()
        forward: Any = getattr(encoder, "forward_", None)
        if isinstance(forward, Forward) and forward.constant:
            fixed = forward.unit_maps(np.zeros((1, m)), encoder.alpha_)[0]
        elif isinstance(forward, Forward) and forward.basis is None:
            layers = tuple((weight.T, bias) for weight, bias in forward.layers)
        elif forward is None and type(encoder).__name__ == "IdentityEncoder":
            fixed = np.eye(m)
        else:
            raise ExportError(f"a {type(encoder).__name__} cannot be exported; expected an encoder of illume")
        return cls(
            layers=layers,
            fixed=fixed,
            alpha=int(getattr(encoder, "alpha_", m)),
            coef=np.asarray(surrogate.coef_, dtype=np.float64),
            intercept=np.asarray(surrogate.intercept_, dtype=np.float64),
            owner=encoding.owner,
            n_features=len(encoding.schema),
            bins=getattr(forward, "bins", SoftBins.none()),
            shapley=explainer.fitted_.shapley,
        )

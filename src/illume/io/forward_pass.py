"""The forward pass of an explainer in plain arrays, to be run without Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.outputs import Outputs
from illume.encoders.base import IdentityEncoder
from illume.encoders.estimators import TrainedEncoder
from illume.encoders.forward import Forward, SoftBins
from illume.errors import ExportError, Setting
from illume.explanations.fitted import Fitted
from illume.twin.learned import LearnedTwin
from illume.twin.network_arrays import RowEmbedding, arrays_of
from illume.twin.shapley_model import ShapleyModel


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """The weights of an encoder and of the surrogate.

    `weights` are those of the encoder's `MapNetwork` by name, and `bins` what it sees beside the inputs. The
    surrogate has `coef` (c, k) and `intercept` (c,), `owner` (m,) is the feature that each input belongs
    to, and `outputs` what the model answers. Without a model of Shapley values, contributions are slopes
    times inputs.
    """

    weights: Mapping[str, FloatArray]
    alpha: int
    coef: FloatArray
    intercept: FloatArray
    owner: IntArray
    n_features: int
    outputs: Outputs
    bins: SoftBins = field(default_factory=SoftBins.none)
    shapley: ShapleyModel | None = None

    @property
    def forward(self) -> Forward:
        """The encoder in NumPy."""
        return Forward(self.weights, self.shape, self.bins)

    @property
    def base_values(self) -> FloatArray:
        """What contributions are added to, (c,)."""
        base = self.intercept if self.shapley is None else self.shapley.base_values
        return self.outputs.turn_total(base)

    @property
    def sign(self) -> float:
        """-1 where the first of two classes is explained: the other parts are about the second."""
        return float(self.outputs.turn(np.ones(1))[0])

    @property
    def whole(self) -> float:
        """What the scores of two classes add up to: 1 for probabilities, 0 for log-odds."""
        return float(self.outputs.turn_total(np.zeros(1))[0]) if self.sign < 0 else 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Latents and inputs, (k, m)."""
        return self.coef.shape[1], len(self.owner)

    @property
    def membership(self) -> FloatArray | None:
        """The matrix (m, features) that sums slopes times inputs into features; None if not needed."""
        if self.shapley is not None or np.array_equal(self.owner, np.arange(self.n_features)):
            return None
        return np.asarray(self.owner[:, None] == np.arange(self.n_features), dtype=np.float32)

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> ForwardPass:
        """Take the arrays of a fitted explainer."""
        shapley = _shapley(fitted)  # before the surrogate, which may have to be trained
        encoder, surrogate, encoding = fitted.pair.encoder, fitted.pair.surrogate, fitted.encoding
        m, bins = encoding.n_inputs, SoftBins.none()
        if isinstance(encoder, TrainedEncoder):
            weights, alpha, bins = encoder.weights_, encoder.alpha_, encoder.bins_
        elif type(encoder) is IdentityEncoder:
            weights, alpha = {"base": np.eye(m, dtype=np.float32)}, m
        else:
            raise ExportError(f"a {type(encoder).__name__} cannot be exported; expected an encoder of illume")
        return cls(
            weights=weights,
            alpha=int(alpha),
            coef=np.asarray(surrogate.coef_, dtype=np.float64),
            intercept=np.asarray(surrogate.intercept_, dtype=np.float64),
            owner=encoding.owner,
            n_features=len(encoding.schema),
            outputs=fitted.outputs,
            bins=bins,
            shapley=shapley,
        )


def _shapley(fitted: Fitted) -> ShapleyModel | None:
    """Return the networks behind contributions; None where they are pulled back."""
    if fitted.kind == "pullback":
        return None
    if isinstance(fitted.twin, LearnedTwin):
        return fitted.twin.model
    raise ExportError(
        "exact contributions are read from the model's trees or weights, and not exported; fit with ",
        Setting("twin", "learned"),
        " to export networks",
    )


def shapley_arrays(model: ShapleyModel) -> dict[str, Any]:
    """Return what embeds encoded rows and turns embeddings into Shapley values, by name.

    Numbers are embedded as `start + clip((x - low) * steepness, 0, 1) @ rise`, missing ones as
    `number_missing`. Categories are embedded as `nodes[category_missing + step]`, where `step` is the
    `category_step` of the indicator that is set, 0 if none is. `order` puts numbers and then categories into
    the order of the features. Values are multiplied by `unit` and then add up to scores less `base`.
    """
    coding, table = model.coding, model.values.table
    embedding, others = RowEmbedding.from_table(coding, table), np.flatnonzero(~coding.numeric)
    sizes, missing = coding.widths[others], coding.starts + coding.widths
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    inputs = np.repeat(coding.inputs[others], sizes) + within
    return {
        **arrays_of(model.values),
        "number_inputs": coding.inputs[embedding.numbers],
        "number_missing": table.nodes[missing[embedding.numbers]],
        "low": embedding.low,
        "steepness": embedding.steepness,
        "start": embedding.start,
        "rise": embedding.rise,
        "category_inputs": inputs,
        "category_mean": coding.mean[inputs],
        "category_missing": missing[others],
        "category_owner": np.repeat(np.arange(len(others)), sizes),
        "category_step": within - np.repeat(sizes, sizes),
        "order": np.argsort(np.concatenate([embedding.numbers, others])),
        "base": model.base_values,
        "unit": model.scale.unit,
        "share": model.errors.share,
        "features": coding.features,
    }

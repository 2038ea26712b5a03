"""What the torch module and ONNX share: options, and the arrays of Shapley values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from illume.errors import import_extra
from illume.explanations.fitted import Fitted
from illume.explanations.forward_pass import ForwardPass
from illume.twin.exact import ExactTwin
from illume.twin.network_arrays import RowEmbedding, arrays_of
from illume.twin.shapley_model import ShapleyModel

if TYPE_CHECKING:
    from illume.io.torch_modules import ExplainingModule
    from illume.io.torch_trees import TreeModule

Precision = Literal["float32", "tf32", "bfloat16"]
CHUNK_ROWS = 2**18
NOT_SHAPLEY = "only Shapley values can add up to what the model answers; leave its predictions out"


class FittedExplainer(Protocol):
    """An explainer, which is defined in a layer above."""

    fitted_: Fitted

    def _require_fitted(self) -> Fitted: ...


def torch_module(
    explainer: FittedExplainer,
    *,
    precision: Precision = "float32",
    chunk_rows: int = CHUNK_ROWS,
    compiling: dict[str, Any] | None = None,
) -> ExplainingModule | TreeModule:
    """Return the explainer's forward pass as a `torch.nn.Module`, for instance for a GPU.

    Of trees that were read, `module.to("cuda")(X)` takes rows X (n, features): numbers, NaN where missing,
    and the positions of categories. It returns exact contributions and the model's scores in double
    precision; the options below do not matter.

    Otherwise it takes encoded rows X (n, m) as float32, as `explainer.fitted_.encoding.transform`
    gives them, with NaN for missing numbers. It returns slopes, contributions per feature, and the scores
    that contributions and base values add up to: log-odds, with `scale="probability"` probabilities, or the
    numbers of a regressor, with `link="log"` their logarithms. Shapley values add up to the scores of the
    model's answers, `module(X, predictions)`, or by default to those of the surrogate. Other contributions
    are not refined, because that needs the black box.

    Parameters
    ----------
    precision
        Of the network's matrix products: `float32`, or, on the tensor cores of a GPU, `bfloat16`, which is
        off by about 0.3 % of a slope on average, and `tf32`, which has three bits more. Contributions always
        add up to the scores.
    chunk_rows
        How many rows are worked on at once.
    compiling
        Options of `torch.compile`, such as `{"mode": "max-autotune-no-cudagraphs"}`; None does not compile.
    """
    import_extra("torch", "train")
    from illume.io.torch_modules import ExplainingModule
    from illume.io.torch_trees import TreeModule

    fitted = require_fitted(explainer)
    if fitted.kind != "pullback" and isinstance(fitted.twin, ExactTwin):
        return TreeModule(fitted.twin)
    return ExplainingModule(ForwardPass.from_fitted(fitted), precision, chunk_rows, **(compiling or {}))


def require_fitted(explainer: FittedExplainer) -> Fitted:
    """Return all that an explainer learned; raise `NotFittedError` if it has learned nothing."""
    return explainer._require_fitted()


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

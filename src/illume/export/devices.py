"""The forward pass of an explainer on a device of torch's; torch is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from illume.export.parts import Parts

if TYPE_CHECKING:
    from illume.export.module import ExplainingModule

Precision = Literal["float32", "tf32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "tf32", "bfloat16")
CHUNK_ROWS = 2**18


def torch_module(
    explainer: Any,
    *,
    precision: Precision = "float32",
    chunk_rows: int = CHUNK_ROWS,
    compiling: dict[str, Any] | None = None,
) -> ExplainingModule:
    """Return the explainer's forward pass as a `torch.nn.Module`, to be moved to a GPU.

    `module.to("cuda")(X)` takes encoded rows X (n, m) as float32 (`explainer.fitted_.encoding.transform`
    gives them), with NaN for numbers that are missing, and returns slopes, contributions per feature and the
    log-odds that these add up to. Shapley values add up to the log-odds of the model's probabilities,
    `module(X, probabilities)`, or, where these are not given, of the surrogate's. Other contributions are
    those before refinement: without the black box it is not known which rows would need it.

    Parameters
    ----------
    precision
        Of the network's matrix products: `float32`, or, on a GPU's tensor cores, `bfloat16`, which is off
        by about 0.3 % of a slope on average, and `tf32`, which has three bits more. Contributions always
        add up to the log-odds.
    chunk_rows
        How many rows are worked on at once.
    compiling
        Options of `torch.compile`, such as `{"mode": "max-autotune-no-cudagraphs"}`; None does not compile.
    """
    from illume.encoders.trained import require_torch

    require_torch()
    from illume.export.module import ExplainingModule

    return ExplainingModule(Parts.of(explainer), precision, chunk_rows, **(compiling or {}))

"""Explain a Ray dataset with a pool of actors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from illume.distributed.packed_explainer import PackedExplainer, pack
from illume.distributed.partition import Keep, explain_partition
from illume.errors import import_extra

if TYPE_CHECKING:
    from illume.explainer import Explainer


def explain(
    dataset: Any,
    explainer: Explainer | str | os.PathLike[str],
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    workers: int = 2,
    batch_rows: int = 65_536,
    num_cpus: float = 1,
    num_gpus: float | None = None,
    **options: Any,
) -> Any:
    """Return a Ray dataset of explanations, computed when it is consumed.

    Rows go through `map_batches` with a pool of actors that load the explainer once. If an actor dies, Ray
    restarts it and explains its rows again. The progress bar is called `BatchExplainer`.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`, like all further options. Without types in `keep`, those of the dataset.
    workers
        How many actors.
    batch_rows
        How many rows an actor gets at once.
    num_cpus, num_gpus
        Resources of each actor; a GPU helps if the model runs on one.
    """
    strategy = import_extra("ray.data", "ray").ActorPoolStrategy(size=workers)
    packed = pack(explainer, model, trust_model, rules=kind != "attributions")
    if keep and not isinstance(keep, Mapping):
        schema = dataset.schema()
        types = dict(zip(schema.names, schema.types, strict=True))
        keep = {name: types[name] for name in keep} if set(keep) <= set(types) else keep
    return dataset.map_batches(
        BatchExplainer,
        fn_constructor_kwargs={"packed": packed, "options": {"kind": kind, "keep": keep, **options}},
        batch_format="pyarrow",
        batch_size=batch_rows,
        zero_copy_batch=True,
        compute=strategy,
        num_cpus=num_cpus,
        num_gpus=num_gpus,
    )


class BatchExplainer:
    """Actor that loads the explainer when it starts."""

    def __init__(self, packed: PackedExplainer, options: dict[str, Any]) -> None:
        self.explainer, self.options = packed.load(), options

    def __call__(self, batch: Any) -> Any:
        """Explain a batch."""
        return explain_partition(batch, self.explainer, **self.options)

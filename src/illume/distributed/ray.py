"""Explanations of a Ray dataset, by actors that load the explainer once."""

from __future__ import annotations

from typing import Any

from illume.distributed.packed import Packed
from illume.distributed.partition import Keep, explain_partition
from illume.errors import MissingExtraError


def explain(
    dataset: Any,
    explainer: Any,
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
    """Return a Ray dataset of explanations, to be computed when it is consumed.

    This is for rows that come out of other steps of Ray, or answers that go into some. Where rows are in
    Parquet files, and answers shall be, `explain_parquet(…, engine="ray")` costs much less.

    Rows go through `map_batches` with a pool of actors. An actor that dies is started again by Ray, and its
    rows are explained by another; Ray shows the progress, under the name `Explained`.

    Parameters
    ----------
    dataset
        A `ray.data.Dataset`.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`; further options, too. Without types in `keep`, the dataset is asked for
        them.
    workers
        How many actors.
    batch_rows
        How many rows an actor is given at once.
    num_cpus, num_gpus
        What each actor claims; a GPU is of use where the model runs on one.
    """
    try:
        from ray.data import ActorPoolStrategy
    except ImportError as error:
        raise MissingExtraError.of("ray", "ray") from error
    packed = Packed.of(explainer, model, trust_model, rules=kind != "attributions")
    if keep and not isinstance(keep, dict):
        schema = dataset.schema()
        types = dict(zip(schema.names, schema.types, strict=True))
        keep = {name: types[name] for name in keep if name in types} if set(keep) <= set(types) else keep
    return dataset.map_batches(
        Explained,
        fn_constructor_kwargs={"packed": packed, "options": {"kind": kind, "keep": keep, **options}},
        batch_format="pyarrow",
        batch_size=batch_rows,
        zero_copy_batch=True,
        compute=ActorPoolStrategy(size=workers),
        num_cpus=num_cpus,
        num_gpus=num_gpus,
    )


class Explained:
    """Explains batches, with an explainer that is loaded when the actor starts."""

    def __init__(self, packed: Packed, options: dict[str, Any]) -> None:
        self.explainer = packed.explainer()
        self.options = options

    def __call__(self, batch: Any) -> Any:
        """Return the explanations of a batch."""
        return explain_partition(batch, self.explainer, **self.options)

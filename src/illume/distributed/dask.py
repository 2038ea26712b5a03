"""Explain a Dask data frame partition by partition."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from illume.distributed.packed_explainer import pack
from illume.distributed.partition import Keep, explain_partition
from illume.errors import import_extra

if TYPE_CHECKING:
    from illume.explainer import Explainer


def explain(
    ddf: Any,
    explainer: Explainer | str | os.PathLike[str],
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    **options: Any,
) -> Any:
    """Return a Dask data frame of explanations, with the partitions and the index of the rows.

    Partitions go through `map_partitions`; each worker loads the explainer once. Dask repeats the partition
    of a worker that dies, as often as `distributed.scheduler.allowed-failures` says. The tasks are called
    `explain_partition`.

    Parameters
    ----------
    ddf
        A Dask data frame.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`, like all further options.
    """
    dask = import_extra("dask", "dask")
    packed = pack(explainer, model, trust_model, rules=kind != "attributions")
    settings = {"kind": kind, "keep": keep, **options}
    wanted = [*packed.load().fitted_.columns, *keep]
    if set(wanted) <= set(ddf.columns):
        ddf = ddf[list(dict.fromkeys(wanted))]
    meta = explain_partition(ddf._meta, packed, **settings)
    shared = dask.delayed(packed, name=f"illume-{packed.digest}-{packed.unknown}")  # one for all partitions
    return ddf.map_partitions(explain_partition, shared, meta=meta, **settings)

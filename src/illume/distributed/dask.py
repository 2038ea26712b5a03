"""Explanations of a Dask data frame, a partition at a time."""

from __future__ import annotations

from typing import Any

from illume.distributed.packed import Packed
from illume.distributed.partition import Keep, explain_partition
from illume.errors import MissingExtraError


def explain(
    ddf: Any,
    explainer: Any,
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    **options: Any,
) -> Any:
    """Return a Dask data frame of explanations, with the partitions and the index of its rows.

    This is for rows that come out of other steps of Dask, or answers that go into some. Where rows are in
    Parquet files, and answers shall be, `explain_parquet(…, engine="dask")` costs much less.

    Partitions go through `map_partitions`; a worker loads the explainer once. A partition whose worker dies
    is done again by Dask, as often as `distributed.scheduler.allowed-failures` says; Dask shows the progress,
    under the name `explain_partition`.

    Parameters
    ----------
    ddf
        A Dask data frame.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`; further options, too.
    """
    try:
        import dask
    except ImportError as error:
        raise MissingExtraError.of("dask", "dask") from error
    packed = Packed.of(explainer, model, trust_model, rules=kind != "attributions")
    settings = {"kind": kind, "keep": keep, **options}
    wanted = [*packed.explainer().fitted_.columns, *keep]
    if set(wanted) <= set(ddf.columns):
        ddf = ddf[list(dict.fromkeys(wanted))]
    meta = explain_partition(ddf._meta, packed, **settings)
    shared = dask.delayed(packed, name=f"illume-{packed.digest}-{packed.unknown}")  # one for all partitions
    return ddf.map_partitions(explain_partition, shared, meta=meta, **settings)

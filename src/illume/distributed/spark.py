"""Explain a Spark data frame in the Python processes of its executors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from illume.distributed.output_columns import pyarrow
from illume.distributed.packed_explainer import pack
from illume.distributed.partition import Keep, explain_partition, kept_columns
from illume.errors import import_extra

if TYPE_CHECKING:
    from illume.explainer import Explainer


def explain(
    df: Any,
    explainer: Explainer | str | os.PathLike[str],
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    **options: Any,
) -> Any:
    """Return a Spark data frame of explanations, computed when it is used.

    Rows go through `mapInArrow`; the explainer and the model are broadcast, and every Python process loads
    them once. Spark repeats the task of a process that dies, as often as `spark.task.maxFailures` says. Spark
    does not keep the order of rows: `keep` a key to join by.

    Parameters
    ----------
    df
        A Spark data frame.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`, like all further options. Kept columns keep their types.
    """
    import_extra("pyspark", "spark")
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructField, StructType

    packed = pack(explainer, model, trust_model, rules=kind != "attributions")
    loaded = packed.load()
    wanted = dict.fromkeys((*loaded.fitted_.columns, *keep))
    if set(wanted) <= set(df.columns):
        df = df.select(*(f"`{name}`" for name in wanted))
    empty = to_arrow_schema(df.schema).empty_table()
    types = {name: column.type for name, column in kept_columns(empty, keep).items()}
    settings = {"kind": kind, "keep": types, **options}
    answer = decode_dictionaries(explain_partition(empty, loaded, **settings)).schema
    kept = [StructField(answer.names[i], df.schema[name].dataType) for i, name in enumerate(keep)]
    own = from_arrow_schema(answer).fields[len(kept) :]
    shared = df.sparkSession.sparkContext.broadcast(packed)

    def explain_batches(batches: Iterator[Any]) -> Iterator[Any]:
        explainer = shared.value.load()
        for batch in batches:
            yield from decode_dictionaries(explain_partition(batch, explainer, **settings)).to_batches()

    return df.mapInArrow(explain_batches, StructType([*kept, *own]))


def decode_dictionaries(table: Any) -> Any:
    """Turn dictionary-encoded strings, which Spark does not know, into plain ones."""
    pa = pyarrow()
    types = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(zip(table.schema.names, types, strict=True)))

"""Explanations of a Spark data frame, in the Python processes of its executors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from illume.distributed.bounded import bounded
from illume.distributed.columns import DDL, plain_texts
from illume.distributed.packed import Packed
from illume.distributed.partition import Keep, explain_partition, output_schema
from illume.errors import MissingExtraError, SchemaError


def explain(
    df: Any,
    explainer: Any,
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    **options: Any,
) -> Any:
    """Return a Spark data frame of explanations, to be computed when it is used.

    This is for rows that come out of other steps of Spark, or answers that go into some. Where rows are in
    Parquet files, and answers shall be, `explain_parquet(…, engine="spark")` costs much less.

    Rows go through `mapInArrow`, the explainer's file and the model are broadcast, and every Python process
    loads them once. A task whose process dies is done again by Spark, as often as `spark.task.maxFailures`
    says; Spark shows the progress. Spark keeps no order: `keep` a key to join by.

    Parameters
    ----------
    df
        A Spark data frame.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`; further options, too. Kept columns have the types that `df` says.
    """
    try:
        from pyspark.sql.pandas.types import to_arrow_schema
    except ImportError as error:
        raise MissingExtraError.of("pyspark", "spark") from error
    packed = Packed.of(explainer, model, trust_model, rules=kind != "attributions")
    loaded = packed.explainer()
    missing = [name for name in (*loaded.fitted_.columns, *keep) if name not in df.columns]
    if missing and loaded.fitted_.backend is not None:
        raise SchemaError(f"the data frame has no column {missing[0]!r}; it has {', '.join(df.columns[:8])}")
    if not missing:
        df = df.select(*(f"`{name}`" for name in dict.fromkeys((*loaded.fitted_.columns, *keep))))
    there = to_arrow_schema(df.schema)
    types = {name: there.field(name).type for name in keep}
    names = ("classes", "float32", "standard_errors")
    laid_out = {name: options[name] for name in names if name in options}
    schema = output_schema(loaded, kind, keep=types, **laid_out)
    settings = {"kind": kind, "keep": types, **options}
    shared = df.sparkSession.sparkContext.broadcast(packed)

    def explained(batches: Iterator[Any]) -> Iterator[Any]:
        ready = shared.value.explainer()
        with bounded():
            for batch in batches:
                yield from plain_texts(explain_partition(batch, ready, **settings)).to_batches()

    return df.mapInArrow(explained, _fields(schema, df.schema, list(keep)))


def _fields(schema: Any, fields: Any, keep: list[str]) -> Any:
    """Return the output's columns as Spark knows them; kept ones, which stand first, as they were."""
    from pyspark.sql import types

    kinds: Mapping[str, Any] = {
        "boolean": types.BooleanType(),
        "double": types.DoubleType(),
        "float": types.FloatType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "string": types.StringType(),
    }
    made = [types.StructField(schema.names[i], fields[name].dataType) for i, name in enumerate(keep)]
    for field in list(schema)[len(keep) :]:
        kind = str(getattr(field.type, "value_type", field.type))
        made.append(types.StructField(field.name, kinds[DDL[kind]]))
    return types.StructType(made)

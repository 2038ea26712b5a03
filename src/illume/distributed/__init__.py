"""Explain more rows than one process holds.

`explain_partition` maps a frame of rows to a frame of explanations with fixed columns.
`illume.distributed.ray`, `.spark` and `.dask` map it over the partitions of these engines, and
`explain_parquet` over Parquet files with local processes.
"""

from illume.distributed.parquet import WorkerError, Written, explain_parquet
from illume.distributed.partition import explain_partition, output_schema

__all__ = ["WorkerError", "Written", "explain_parquet", "explain_partition", "output_schema"]

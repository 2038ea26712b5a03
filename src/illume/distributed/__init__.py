"""Explanations of more rows than one process holds: one function frame → frame, and engines that run it.

`explain_partition` explains a frame's rows into a frame of fixed columns; `explain_parquet` runs it over
Parquet files with processes of its own; `illume.distributed.ray`, `.spark` and `.dask` hand it to these
engines.
"""

from illume.distributed.parquet import explain_parquet
from illume.distributed.partition import explain_partition, output_schema
from illume.distributed.plan import Written
from illume.distributed.processes import WorkerError

__all__ = ["WorkerError", "Written", "explain_parquet", "explain_partition", "output_schema"]

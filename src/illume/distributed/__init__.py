"""Explanations of more rows than one process holds: one function frame → frame, and engines that run it.

`explain_partition` explains a frame's rows into a frame of fixed columns. `explain_parquet` runs it over
Parquet files, with processes of its own or with tasks of Ray, Spark or Dask that read and write the files
themselves. `illume.distributed.ray`, `.spark` and `.dask` put it into a flow of rows through these engines.
"""

from illume.distributed.dask_tasks import DaskTasks
from illume.distributed.parquet import explain_parquet
from illume.distributed.partition import explain_partition, output_schema
from illume.distributed.plan import Written
from illume.distributed.processes import WorkerError
from illume.distributed.ray_tasks import RayTasks
from illume.distributed.spark_tasks import SparkTasks

__all__ = [
    "DaskTasks",
    "RayTasks",
    "SparkTasks",
    "WorkerError",
    "Written",
    "explain_parquet",
    "explain_partition",
    "output_schema",
]

"""What `benchmarks.engines` measures: generated rows, a small explainer, and jobs of engines, in two ways.

`files`: the engine schedules parts of Parquet files, which illume reads and writes (`explain_parquet`).
`rows`: the engine reads rows, hands them to illume, takes its answers and writes them (`.ray.explain` …).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path("build/engines")
FEATURES, GROUP_ROWS, FILE_ROWS, FEW = 30, 65_536, 524_288, 2_000

Job = Callable[[Path, Path], Any]


class Formula:
    """A black box that costs next to nothing."""

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return probabilities from two columns."""
        p = 1 / (1 + np.exp(-4 * rows["x0"].to_numpy() * rows["x1"].to_numpy()))
        return np.column_stack([1 - p, p])


def generated(rows: int) -> Path:
    """Return a folder of Parquet files with so many rows; made once."""
    from pyarrow import parquet as pq

    folder = FOLDER / f"rows-{rows}"
    if (folder / "_SUCCESS").is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    size = FILE_ROWS if rows > FEW else rows // 2  # two workers, two files
    for number, first in enumerate(range(0, rows, size)):
        n = min(size, rows - first)
        path = folder / f"{number:05}.parquet"
        pq.write_table(_table(number, n), path, row_group_size=GROUP_ROWS, use_dictionary=False)
    (folder / "_SUCCESS").touch()
    return folder


def _table(seed: int, n: int) -> Any:
    import pyarrow as pa

    X = np.random.default_rng(seed).normal(size=(FEATURES, n))
    return pa.table({f"x{j}": X[j] for j in range(FEATURES)})


def explainer_file() -> Path:
    """Return the file of a small explainer; made once."""
    path = FOLDER / "formula.illume"
    if not path.is_file():
        import pandas as pd

        from illume import Explainer, Training

        short = Training(batch_size=256, learning_rate=3e-3, max_epochs=3, decay=True)
        X = np.random.default_rng(0).normal(size=(3_000, FEATURES))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)])
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = {"n_latents": 8, "queries": 2_000, "training": short, "verbose": False}
        Explainer(Formula(), **settings).fit(frame).save(path, rules=False)
    return path


def own_job(workers: int) -> Job:
    """Explain with processes of illume's own, or in this one."""
    return _scheduled(workers=workers)


def _scheduled(**engine: Any) -> Job:
    """Explain files whose parts somebody schedules."""
    from illume.distributed import explain_parquet

    return lambda source, target: explain_parquet(
        source, target, explainer_file(), model=_model(), verbose=False, **engine
    )


def ray_job(way: str) -> Job:
    """Explain with Ray, by two tasks at a time, or by two actors."""
    import ray

    cpus = {"files": 2, "rows": 4}[way]  # two explain; with rows, two more read and write
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    if way == "files":
        return _scheduled(engine="ray")
    from illume.distributed.ray import explain

    ray.data.DataContext.get_current().enable_progress_bars = False

    def job(source: Path, target: Path) -> None:
        rows = ray.data.read_parquet(str(source.resolve()))
        explain(rows, explainer_file(), model=_model(), workers=2).write_parquet(str(target.resolve()))

    return job


def spark_job(way: str) -> Job:
    """Explain with Spark, two cores."""
    session = _spark()
    if way == "files":
        return _scheduled(engine="spark")
    from illume.distributed.spark import explain

    def job(source: Path, target: Path) -> None:
        rows = session.read.parquet(str(source.resolve()))
        explain(rows, explainer_file(), model=_model()).write.parquet(str(target.resolve()))

    return job


def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(GROUP_ROWS),
        "spark.sql.parquet.compression.codec": "snappy",
    }
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def dask_job(way: str) -> Job:
    """Explain with Dask, two workers."""
    from distributed import Client

    Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    if way == "files":
        return _scheduled(engine="dask")
    import dask.dataframe as dd

    from illume.distributed.dask import explain

    def job(source: Path, target: Path) -> None:
        rows = dd.read_parquet(source.resolve(), split_row_groups=1)
        explain(rows, explainer_file(), model=_model()).to_parquet(target.resolve(), compression="snappy")

    return job


def _model() -> Any:
    """Return the model under the name that other processes find it by."""
    from benchmarks import engine_jobs

    return engine_jobs.Formula()


JOBS: dict[str, Callable[[], Job]] = {
    "streaming": lambda: own_job(0),
    "processes": lambda: own_job(2),
    "ray": lambda: ray_job("files"),
    "spark": lambda: spark_job("files"),
    "dask": lambda: dask_job("files"),
    "ray-rows": lambda: ray_job("rows"),
    "spark-rows": lambda: spark_job("rows"),
    "dask-rows": lambda: dask_job("rows"),
}

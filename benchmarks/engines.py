"""What engines cost beside explaining: Parquet to Parquet with two workers, 30 numeric columns, 8 latents.

Each engine runs in a process of its own: first a few rows, which starts it; then as few again, which is what
any job costs; then all. Seconds, and seconds of processors, are those of all rows less those of a few.
`streaming` is one process without any engine; the overhead of an engine is what it takes beyond `processes`,
illume's own two.

    python -m benchmarks.engines --rows 10000000
    python -m benchmarks.engines memory --rows 100000 1000000 10000000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ENGINES = ("streaming", "processes", "ray", "spark", "dask")
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


def _ready(*sizes: int) -> None:
    """Generate what is to be explained, and fit what explains, before anything is measured."""
    for rows in sizes:
        generated(rows)
    explainer_file()


def own_job(workers: int) -> Job:
    """Explain with processes of illume's own, or in this one."""
    from illume.distributed import explain_parquet

    return lambda source, target: explain_parquet(
        source, target, explainer_file(), model=_model(), workers=workers
    )


def ray_job() -> Job:
    """Explain with Ray, two actors."""
    import ray

    from illume.distributed.ray import explain

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)  # two explain, two read and write
    ray.data.DataContext.get_current().enable_progress_bars = False

    def job(source: Path, target: Path) -> None:
        rows = ray.data.read_parquet(str(source.resolve()))
        explain(rows, explainer_file(), model=_model(), workers=2).write_parquet(str(target.resolve()))

    return job


def spark_job() -> Job:
    """Explain with Spark, two cores."""
    from pyspark.sql import SparkSession

    from illume.distributed.spark import explain

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(GROUP_ROWS),
        "spark.sql.parquet.compression.codec": "zstd",
    }
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()

    def job(source: Path, target: Path) -> None:
        rows = session.read.parquet(str(source.resolve()))
        explain(rows, explainer_file(), model=_model()).write.parquet(str(target.resolve()))

    return job


def dask_job() -> Job:
    """Explain with Dask, two workers."""
    import dask.dataframe as dd

    from distributed import Client
    from illume.distributed.dask import explain

    Client(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def job(source: Path, target: Path) -> None:
        rows = dd.read_parquet(source.resolve(), split_row_groups=1)
        explain(rows, explainer_file(), model=_model()).to_parquet(target.resolve(), compression="zstd")

    return job


def _model() -> Any:
    """Return the model under the name that other processes find it by."""
    from benchmarks import engines

    return engines.Formula()


JOBS: dict[str, Callable[[], Job]] = {
    "streaming": lambda: own_job(0),
    "processes": lambda: own_job(2),
    "ray": ray_job,
    "spark": spark_job,
    "dask": dask_job,
}


def one(engine: str, rows: int) -> dict[str, float]:
    """Time an engine: until it has done a few rows, a few rows once more, and all."""
    few, many = generated(FEW), generated(rows)
    explainer_file()
    target = FOLDER / "explained" / f"{engine}-{os.getpid()}"
    seconds, start, spent = [], time.perf_counter(), _spent()
    job = JOBS[engine]()
    for source in (few, few, many):
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        job(source, target)
        seconds += [time.perf_counter() - start, _spent() - spent]
        start, spent = time.perf_counter(), _spent()
    from pyarrow import dataset

    found = dataset.dataset(target, format="parquet").count_rows()
    if found != rows:
        raise SystemExit(f"{engine} wrote {found} lines, expected {rows}")
    shutil.rmtree(target)
    names = ("cold", "cold_spent", "few", "few_spent", "many", "many_spent")
    return dict(zip(names, seconds, strict=True))


def _spent() -> float:
    """Return the processor seconds of this process and all it has started."""
    import psutil

    here = psutil.Process()
    total = 0.0
    for process in (here, *here.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])  # its own, and those of processes that have ended
        except psutil.Error:
            continue
    return total


def compare(engines: list[str], rows: int) -> None:
    """Time all engines, each in a process of its own, and record what they cost beyond `processes`."""
    from benchmarks import resident
    from benchmarks.records import record

    _ready(FEW, rows)
    net: dict[str, float] = {}
    spent: dict[str, float] = {}
    for engine in engines:
        found, seen, _ = resident.run(["benchmarks.engines", "one", "--engine", engine, "--rows", str(rows)])
        net[engine] = found["many"] - found["few"]
        spent[engine] = found["many_spent"] - found["few_spent"]
        record(
            "engines",
            engine=engine,
            rows=rows,
            features=FEATURES,
            latents=8,
            workers=0 if engine == "streaming" else 2,
            start_seconds=found["cold"],
            job_seconds=found["few"],
            seconds=net[engine],
            seconds_per_million=net[engine] / rows * 1e6,
            overhead=net[engine] / net["processes"] - 1 if "processes" in net else None,
            processor_seconds=spent[engine],
            processor_overhead=spent[engine] / spent["processes"] - 1 if "processes" in spent else None,
            resident_mb=seen.together,
        )


def memory(sizes: list[int]) -> None:
    """Record the most that illume's own processes hold, for several numbers of rows."""
    from benchmarks import resident
    from benchmarks.records import record

    for rows in sizes:
        _ready(FEW, rows)
        words = ["benchmarks.engines", "one", "--engine", "processes", "--rows", str(rows)]
        _, seen, _ = resident.run(words)
        record(
            "engine-memory",
            rows=rows,
            features=FEATURES,
            latents=8,
            workers=2,
            resident_mb=seen.together,
            resident_mb_of_a_worker=seen.workers(),
        )


def main() -> None:
    """Compare engines, or look at memory; what is generated stays in build/engines."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", nargs="?", choices=["memory", "one"])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES))
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(one(options.engine[0], options.rows[0])))
    elif options.what == "memory":
        memory(options.rows)
    else:
        for rows in options.rows:
            compare(options.engine, rows)


if __name__ == "__main__":
    main()

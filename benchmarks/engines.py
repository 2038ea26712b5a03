"""Explain Parquet files with processes, Ray, Spark and Dask: time, memory, and all rows of Covertype."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.children import run_child
from benchmarks.harness import Cell, Line, choose
from benchmarks.packages import Formula, short_training

FOLDER = Path("build/engines")
COVERTYPE = Path("build/covertype")
FEATURES, GROUP_ROWS, FILE_ROWS, FEW = 30, 65_536, 524_288, 2_000
ENGINES = ("processes", "streaming", "ray", "spark", "dask")
Job = Callable[[Path, Path], Any]


def engines(
    rows: tuple[int, ...] = (100_000,), engine: tuple[str, ...] = (), repeats: int = 1
) -> Iterator[Cell]:
    """Time engines from Parquet to Parquet with two workers, 30 columns and 8 latents; medians count.

    `streaming` is one process, `processes` are two of illume's own; ray, spark and dask read and write the
    rows themselves. Each runs in a process of its own and is timed until a first job of a few rows is done
    (start_seconds), for the same rows again (job_seconds), and for all rows without that (seconds). Overheads
    are relative to `processes` of the same run.
    """
    for n in rows:
        own: list[Line] = []

        def measure(name: str, n: int = n, own: list[Line] = own) -> Line:
            runs = [_run(name, n) for _ in range(repeats)]
            found = {key: median(run[key] for run in runs) for key in runs[0]}
            if name == "processes":
                own.append(found)
            return {"seconds_per_million": found["seconds"] / n * 1e6} | add_overheads(found, own[-1:])

        for name in choose(ENGINES, engine, "engine"):
            way = "files" if name in ENGINES[:2] else "rows"
            settings = {"engine": name, "way": way, "rows": n, "features": FEATURES, "latents": 8}
            settings |= {"workers": 0 if name == "streaming" else 2, "repeats": repeats}
            yield Cell(settings, partial(measure, name))


def _run(name: str, n: int) -> Line:
    """Run an engine in a child, once rows and explainer are on disk."""
    for size in (FEW, n):
        generate_files(size)
    fit_explainer()
    answer = run_child(time_engine, watch=True, name=name, n=n)
    found = answer.last()
    return {
        "start_seconds": found["cold"],
        "job_seconds": found["few"],
        "seconds": found["many"] - found["few"],
        "whole_seconds": found["many"],
        "processor_seconds": found["many_spent"] - found["few_spent"],
        "resident_mb": answer.peak_mb,
        "resident_mb_of_a_worker": answer.worker_mb,
    }


def add_overheads(found: Line, own: list[Line]) -> Line:
    """Add what an engine takes beyond illume's own two processes.

    >>> own = {"seconds": 2.0, "whole_seconds": 4.0, "processor_seconds": 4.0}
    >>> found = add_overheads({"seconds": 3.0, "whole_seconds": 3.0, "processor_seconds": 5.0}, [own])
    >>> found["overhead"], found["whole_overhead"], found["processor_overhead"]
    (0.5, -0.25, 0.25)
    """
    names = ("seconds", "whole_seconds", "processor_seconds")
    ratios = [found[name] / own[0][name] - 1 if own else None for name in names]
    return found | dict(zip(("overhead", "whole_overhead", "processor_overhead"), ratios, strict=True))


def time_engine(name: str, n: int) -> Iterator[Line]:
    """Time the start with a few rows, the same rows again, and all rows."""
    target = FOLDER / "explained" / f"{name}-{os.getpid()}"
    found: Line = {}
    start, spent = time.perf_counter(), _processor_seconds()
    job = make_job(name)
    for label, rows in (("cold", FEW), ("few", FEW), ("many", n)):
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        job(generate_files(rows), target)
        found[label], found[f"{label}_spent"] = time.perf_counter() - start, _processor_seconds() - spent
        start, spent = time.perf_counter(), _processor_seconds()
    from pyarrow import dataset

    written = dataset.dataset(target, format="parquet").count_rows()
    if written != n:
        raise SystemExit(f"{name} wrote {written} rows, expected {n}")
    shutil.rmtree(target)
    yield found


def _processor_seconds() -> float:
    """Return the processor time of this process and its descendants."""
    import psutil

    here, total = psutil.Process(), 0.0
    for process in (here, *here.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])  # with those of descendants that have ended
        except psutil.Error:
            continue
    return total


def generate_files(rows: int) -> Path:
    """Return a folder of Parquet files, written on first use."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    folder = FOLDER / f"rows-{rows}"
    if (folder / "_SUCCESS").is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    size = FILE_ROWS if rows > FEW else rows // 2  # a file for each of two workers
    for number, first in enumerate(range(0, rows, size)):
        X = np.random.default_rng(number).normal(size=(FEATURES, min(size, rows - first)))
        table = pa.table({f"x{j}": X[j] for j in range(FEATURES)})
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path, row_group_size=GROUP_ROWS, use_dictionary=False)
    (folder / "_SUCCESS").touch()
    return folder


def fit_explainer() -> Path:
    """Return the file of a small explainer, fitted on first use."""
    path = FOLDER / "formula.illume"
    if not path.is_file():
        import pandas as pd

        from illume import Explainer

        X = np.random.default_rng(0).normal(size=(3_000, FEATURES))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)])
        options = {"queries": 2_000, "surrogate_options": short_training(max_epochs=3), "verbose": False}
        Explainer(Formula(), **options).fit(frame).save(path, rules=False)
    return path


def make_job(name: str) -> Job:
    """Start an engine and return what explains a folder into another."""
    jobs = {"ray": _start_ray, "spark": _start_spark, "dask": _start_dask}
    if name in jobs:
        return jobs[name]()
    from illume.distributed import explain_parquet

    options = {"model": Formula(), "verbose": False, "workers": 2 if name == "processes" else 0}
    return lambda source, target: explain_parquet(source, target, fit_explainer(), **options)


def _start_ray() -> Job:
    import ray

    from illume.distributed.ray import explain

    # two CPUs explain, two read and write
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def job(source: Path, target: Path) -> None:
        rows = ray.data.read_parquet(str(source.resolve()))
        explain(rows, fit_explainer(), model=Formula(), workers=2).write_parquet(str(target.resolve()))

    return job


def _start_spark() -> Job:
    from pyspark.sql import SparkSession

    from illume.distributed.spark import explain

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "driver.bindAddress": "127.0.0.1",
        "driver.host": "127.0.0.1",
        "driver.memory": "3g",
        "ui.enabled": "false",
        "sql.execution.arrow.maxRecordsPerBatch": str(GROUP_ROWS),
        "sql.parquet.compression.codec": "snappy",
    }
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()

    def job(source: Path, target: Path) -> None:
        rows = session.read.parquet(str(source.resolve()))
        explain(rows, fit_explainer(), model=Formula()).write.parquet(str(target.resolve()))

    return job


def _start_dask() -> Job:
    import dask.dataframe as dd

    from distributed import Client
    from illume.distributed.dask import explain

    Client(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def job(source: Path, target: Path) -> None:
        rows = dd.read_parquet(source.resolve(), split_row_groups=1)
        explain(rows, fit_explainer(), model=Formula()).to_parquet(target.resolve(), compression="snappy")

    return job


def covertype(workers: int = 2, trees: int = 30, float32: bool = False) -> Iterator[Cell]:
    """Explain Covertype, 581,012 rows of 54 columns and seven classes, from Parquet to Parquet.

    Time is that of a process of its own with its start; memory is that of it and its workers together. trees:
    for each class. Prepared files stay in build/covertype.
    """
    settings = {"workers": workers, "trees": 7 * trees, "float32": float32}
    yield Cell(settings, partial(_covertype, workers, trees, float32))


def _covertype(workers: int, trees: int, float32: bool) -> Line:
    import pandas as pd

    folder = COVERTYPE / f"trees-{trees}"
    if not (folder / "covertype.illume").is_file():
        _prepare_covertype(folder, trees)
    shutil.rmtree(folder / "explained", ignore_errors=True)
    options = {"folder": str(folder), "workers": workers, "float32": float32}
    answer = run_child(explain_covertype, watch=True, **options)
    found = answer.last()
    table = pd.read_parquet(folder / "explained", columns=["agreed", "status"])
    return {
        "rows": found["rows"],
        "features": 54,
        "classes": 7,
        "latents": 8,
        "seconds": answer.seconds,
        "seconds_in_call": found["seconds"],
        "processor_seconds": answer.processor_seconds,
        "model_seconds_on_one_core": _time_model(folder),
        "resident_mb": answer.peak_mb,
        "resident_mb_of_a_worker": answer.worker_mb,
        "written_mb": sum(path.stat().st_size for path in (folder / "explained").glob("*.parquet")) / 1e6,
        "agreed": float(table["agreed"].mean()),
        "refined": float((table["status"] == "refined").mean()),
    }


def explain_covertype(folder: str, workers: int, float32: bool) -> Iterator[Line]:
    from illume.distributed import explain_parquet

    start, at = time.perf_counter(), Path(folder)
    paths = (at / "rows.parquet", at / "explained", at / "covertype.illume")
    model = {"model": at / "model.joblib", "trust_model": True}
    written = explain_parquet(*paths, **model, workers=workers, float32=float32)
    yield {"rows": written.n_rows, "seconds": time.perf_counter() - start, "parts": written.n_parts}


def _prepare_covertype(folder: Path, trees: int) -> None:
    """Write the rows as Parquet, a model of a tenth of them, and its explainer."""
    import joblib
    from lightgbm import LGBMClassifier

    from benchmarks.data.real import raw_table
    from illume import Explainer

    folder.mkdir(parents=True, exist_ok=True)
    X, y = raw_table("covertype")
    X.to_parquet(folder / "rows.parquet", row_group_size=GROUP_ROWS, index=False)
    some = X.sample(58_101, random_state=0).index
    model = LGBMClassifier(n_estimators=trees, random_state=0, n_jobs=1, verbose=-1)
    joblib.dump(model.fit(X.loc[some], y.loc[some]), folder / "model.joblib")
    short = short_training(max_steps=500, stability_rows=64)
    explainer = Explainer(model, queries=2_000, surrogate_options=short, verbose=False)
    explainer.fit(X.loc[some[:20_000]]).save(folder / "covertype.illume", rules=False)


def _time_model(folder: Path) -> float:
    import joblib
    import pandas as pd

    model, X = joblib.load(folder / "model.joblib"), pd.read_parquet(folder / "rows.parquet")
    start = time.perf_counter()
    for first in range(0, len(X), GROUP_ROWS):
        model.predict_proba(X.iloc[first : first + GROUP_ROWS])
    return time.perf_counter() - start

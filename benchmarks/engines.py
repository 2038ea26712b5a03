"""What engines cost beside explaining: Parquet to Parquet with two workers, 30 numeric columns, 8 latents.

Two ways: `ray`, `spark` and `dask` schedule parts of files that illume itself reads and writes; `ray-rows`,
`spark-rows` and `dask-rows` read the rows, send them through illume, and write what comes back. `streaming`
is one process without any engine, `processes` two of illume's own.

Each runs in a process of its own, and is timed thrice: until a first job of a few rows is done, which starts
the engine (`start_seconds`); the same few rows once more, which is what any job costs (`job_seconds`); and
all rows, less that (`seconds`). `overhead` is what `seconds` are beyond those of `processes` in the same run:
the start apart. `whole_overhead` compares the jobs as a whole, what every job costs included.

    python -m benchmarks.engines --rows 10000000
    python -m benchmarks.engines --rows 1000000 --engine processes ray spark dask --repeats 3
    python -m benchmarks.engines memory --rows 100000 1000000 10000000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from statistics import median
from typing import Any

from benchmarks.engine_jobs import FEATURES, FEW, FOLDER, JOBS, explainer_file, generated

SHOWN = ("start_seconds", "job_seconds", "seconds", "overhead", "whole_overhead", "processor_overhead")


def _ready(*sizes: int) -> None:
    """Generate what is to be explained, and fit what explains, before anything is measured."""
    for rows in sizes:
        generated(rows)
    explainer_file()


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


def compare(engines: list[str], rows: int, repeats: int) -> None:
    """Time all engines by turns, each in a process of its own, and record medians."""
    from benchmarks import resident
    from benchmarks.records import record

    _ready(FEW, rows)
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
    for _ in range(repeats):
        for engine in engines:
            words = ["benchmarks.engines", "one", "--engine", engine, "--rows", str(rows)]
            found, seen, _ = resident.run(words)
            runs[engine].append(_figures(found) | {"resident_mb": seen.together})
    own = _medians(runs["processes"]) if "processes" in runs else None
    lines = {}
    for engine in engines:
        found = lines[engine] = _beyond(_medians(runs[engine]), own)
        about = {
            "engine": engine.removesuffix("-rows"),
            "way": "rows" if engine.endswith("-rows") else "files",
            "rows": rows,
            "features": FEATURES,
            "latents": 8,
            "workers": 0 if engine == "streaming" else 2,
            "repeats": repeats,
        }
        record("engines", **about, seconds_per_million=found["seconds"] / rows * 1e6, **found)
    _show(lines)


def _figures(found: dict[str, float]) -> dict[str, float]:
    """Return the seconds by name, what any job costs taken off those of all rows."""
    return {
        "start_seconds": found["cold"],
        "job_seconds": found["few"],
        "seconds": found["many"] - found["few"],
        "whole_seconds": found["many"],
        "processor_seconds": found["many_spent"] - found["few_spent"],
    }


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(run[name] for run in runs) for name in runs[0]}


def _beyond(found: dict[str, float], own: dict[str, float] | None) -> dict[str, Any]:
    """Add what an engine takes beyond illume's own two processes.

    >>> own = {"seconds": 2.0, "whole_seconds": 4.0, "processor_seconds": 4.0}
    >>> found = _beyond({"seconds": 3.0, "whole_seconds": 3.0, "processor_seconds": 5.0}, own)
    >>> found["overhead"], found["whole_overhead"], found["processor_overhead"]
    (0.5, -0.25, 0.25)
    """
    names = {"seconds": "overhead", "whole_seconds": "whole_overhead"}
    names["processor_seconds"] = "processor_overhead"
    more = {over: found[name] / own[name] - 1 if own else None for name, over in names.items()}
    return found | more


def _show(lines: dict[str, dict[str, Any]]) -> None:
    print(f"{'engine':<12}" + "".join(f"{name:>20}" for name in SHOWN))
    for engine, found in lines.items():
        cells = ("-" if found[name] is None else f"{found[name]:.2f}" for name in SHOWN)
        print(f"{engine:<12}" + "".join(f"{cell:>20}" for cell in cells))


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
    parser.add_argument("--engine", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--repeats", type=int, default=1, help="by turns; medians are recorded")
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(one(options.engine[0], options.rows[0])))
    elif options.what == "memory":
        memory(options.rows)
    else:
        for rows in options.rows:
            compare(options.engine, rows, options.repeats)


if __name__ == "__main__":
    main()

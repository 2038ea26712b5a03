"""Run measurements: skip finished cells, append each result as a JSON line with its origin.

A measurement is a generator function that yields `Cell` values. Its parameters become command-line options.
The runner skips cells that the result file has, and writes one line for every other cell: settings, figures,
error, commit, versions, machine and time.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import subprocess
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

Line = dict[str, Any]
Again = Literal["none", "failed", "all"]
ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
QUICK_RESULTS = Path("build/quick")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = (
    *("numpy", "scikit-learn", "torch", "narwhals", "lightgbm", "xgboost", "catboost"),
    *("lime", "shap", "lore_sa", "anchor-exp", "dice-ml", "woodelf-explainer", "umap-learn", "shapiq"),
)
DIED = "the worker process died (out of memory?)"


class NotApplicableError(ValueError):
    """A method cannot be measured in a setting; its message is recorded as it is."""


@dataclass(frozen=True)
class Cell:
    """One measurement: settings that identify it, a function that returns figures, and its result file."""

    settings: Line
    measure: Callable[[], Line]
    table: str = ""  # stem of the result file; the command's name by default


def run(
    name: str, cells: Iterable[Cell], results: Path = RESULTS, *, again: Again = "none", workers: int = 0
) -> int:
    """Measure the cells without a result and return how many failed.

    With `workers`, cells are measured by that many single-threaded processes; `again` also measures cells
    whose last attempt failed, or all of them.
    """
    finished, skipped, failed = Finished(name, results, again), 0, 0

    def unfinished() -> Iterator[Cell]:
        nonlocal skipped
        for cell in cells:
            if cell in finished:
                skipped += 1
            else:
                yield cell

    todo = unfinished()
    for cell, line in measure_in_processes(list(todo), workers) if workers else map(_measure, todo):
        record(results / f"{cell.table or name}.jsonl", cell.settings | line)
        failed += line["error"] is not None
    print(
        f"{name}: {skipped} cells finished before (--again all repeats them), {failed} failed; in {results}"
    )
    return failed


def list_cells(name: str, cells: Iterable[Cell], results: Path) -> int:
    """Print the settings of cells, and whether they are finished."""
    finished = Finished(name, results, "none")
    for cell in cells:
        print("done" if cell in finished else "open", *cell.settings.values())
    return 0


class Finished:
    """Whether a result file already has the result of a cell."""

    def __init__(self, name: str, results: Path, again: Again) -> None:
        self.name, self.results, self.again = name, results, again
        self.known: dict[tuple[str, tuple[str, ...]], set[str]] = {}

    def __contains__(self, cell: Cell) -> bool:
        if self.again == "all":
            return False
        table, names = cell.table or self.name, tuple(cell.settings)
        if (table, names) not in self.known:
            lines = latest(self.results / f"{table}.jsonl", names)
            kept = [line for line in lines if self.again == "none" or line.get("error") is None]
            self.known[table, names] = {key(line, names) for line in kept}
        return key(cell.settings, names) in self.known[table, names]


def record(path: Path, line: Line) -> None:
    """Print a result and append it with its origin to a file."""
    words = [f"{name}={_short(value)}" for name, value in line.items() if not isinstance(value, dict | list)]
    print(" ".join(words), flush=True)
    append(path, line | provenance())


def provenance() -> Line:
    """Return the commit, package versions, machine and time of a result."""
    return {
        "commit": os.environ.get("ILLUME_COMMIT") or _commit(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "machine": _machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def key(line: Line, names: Sequence[str]) -> str:
    """Return the settings of a line as one string.

    >>> key({"seed": 0, "data": "wine", "r2": 0.5}, ("data", "seed"))
    '{"data": "wine", "seed": 0}'
    """
    return json.dumps({name: line.get(name) for name in names}, sort_keys=True)


def read(path: Path) -> Iterator[Line]:
    """Yield the lines of a result file, without one that a crash cut short."""
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(text)
        except json.JSONDecodeError:
            continue


def latest(path: Path, names: Sequence[str]) -> list[Line]:
    """Return the last line of every cell, given the names of the settings that identify it."""
    return list({key(line, names): line for line in read(path)}.values())


def append(path: Path, line: Line) -> None:
    """Append a line to a result file and flush it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a crash cut the last line short
                file.write(b"\n")
        file.write((json.dumps(line) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def _measure(cell: Cell) -> tuple[Cell, Line]:
    return cell, measured(cell.measure)


def measured(measure: Callable[[], Line]) -> Line:
    """Return the figures of a measurement, or the error that it raised."""
    try:
        return {"error": None} | measure()
    except NotApplicableError as error:
        return {"error": str(error)}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:200]
        return {"error": f"{type(error).__name__}: {text} ({Path(last.filename).name}:{last.lineno})"}


def measure_in_processes(cells: Sequence[Cell], workers: int) -> Iterator[tuple[Cell, Line]]:
    """Measure cells in a pool of processes and yield them as they finish.

    A process that dies breaks the pool; the cells that were running are then retried one by one.
    """
    waiting, retried = list(cells), []
    while waiting:
        running = {}
        with _pool(workers) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < workers:
                        future = pool.submit(measured, waiting[0].measure)
                        running[future] = waiting.pop(0)
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        line = future.result()
                        yield running.pop(future), line
            except BrokenProcessPool:
                retried += running.values()
    for cell in retried:
        with _pool(1) as pool:
            try:
                yield cell, pool.submit(measured, cell.measure).result()
            except BrokenProcessPool:
                yield cell, {"error": DIED}


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_use_one_thread)


def _use_one_thread() -> None:
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # read when numpy and torch are imported


def add_options(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Add an option for every parameter of a function.

    A tuple takes several words, separated by spaces or commas; a `Literal` takes one of its values.
    """
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        default, options = parameter.default, {}
        if isinstance(default, bool):
            options = {"action": "store_true"}
        elif isinstance(default, tuple):
            of = type(default[0]) if default else str
            options = {"nargs": "+", "type": lambda text, of=of: [of(word) for word in text.split(",")]}
        elif get_origin(parameter.annotation) is Literal:
            options = {"choices": get_args(parameter.annotation)}
        elif default is not None:
            options = {"type": type(default)}
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=" ", **options)


def call_options(options: argparse.Namespace, function: Callable[..., Any]) -> Line:
    """Return the arguments of a function from parsed options."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        value = getattr(options, name)
        if isinstance(parameter.default, tuple) and value is not parameter.default:
            value = tuple(word for words in value for word in words)
        found[name] = value
    return found


def choose(known: Iterable[str], wanted: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the wanted names in the order of the known ones, all of them if none is wanted.

    >>> choose(("a", "b"), ("b",), "method")
    ('b',)
    """
    known = tuple(known)
    for name in wanted:
        if name not in known:
            raise SystemExit(f"no {what} is called {name!r}; choose from {', '.join(known)}")
    return tuple(name for name in known if not wanted or name in wanted)


def cache_folder(part: str = "") -> Path:
    """Return the folder of fitted models and references, which git ignores; `ILLUME_CACHE` names another."""
    path = Path(os.environ.get("ILLUME_CACHE") or RESULTS.parent / ".cache")
    (path / part).mkdir(parents=True, exist_ok=True)
    if not (path / ".gitignore").exists():
        (path / ".gitignore").write_text("*\n")
    return path / part


def cached(path: Path, make: Callable[[], Any]) -> Any:
    """Return what a joblib file holds; make and write it first if there is none."""
    import joblib

    if path.exists():
        return joblib.load(path)
    made = make()
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        joblib.dump(made, part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return made


def environment(threads: int = 0) -> dict[str, str]:
    """Return the variables of a child process: its import path, and its number of threads if given."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    limits = dict.fromkeys(THREAD_VARIABLES, str(threads)) if threads else {}
    return kept | limits | {"PYTHONPATH": paths}


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "src", "benchmarks", ":!benchmarks/results")
    return git("rev-parse", "--short", "HEAD") + ("+changes" if changed else "")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _machine() -> str:
    words = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores"]
    device = os.environ.get("ILLUME_DEVICE_NAME")
    return ", ".join([*words, f"Python {platform.python_version()}", *[device] * bool(device)])

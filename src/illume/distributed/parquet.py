"""Explain Parquet files into Parquet files with local processes; a stopped run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from illume.data.archive import atomic_path
from illume.data.locks import lock
from illume.data.progress import tqdm
from illume.data.row_sources import parquet_files
from illume.distributed.output_columns import pyarrow
from illume.distributed.packed_explainer import PackedExplainer, pack
from illume.distributed.partition import Keep, explain_partition, kept_columns
from illume.distributed.plan import LOCK, Part, PartDone, finished_parts, planned_parts, record
from illume.errors import FormatError, IllumeError, SchemaError, UnknownCategoryError, rows_after

if TYPE_CHECKING:
    from illume.explainer import Explainer

SUCCESS = "_SUCCESS"
PARTS_PER_WORKER = 4  # at least, so that no worker waits long for the last one
READ_BYTES = 2**17  # of a column at once
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ADVICE = "map it to one of these, or pass unknown='ignore'; the files already written are kept"


class WorkerError(IllumeError, RuntimeError):
    """Worker processes died more often than `retries` allows."""


@dataclass(frozen=True)
class Written:
    """What `explain_parquet` has written.

    Parameters
    ----------
    folder
        Where the files are, one per part, in the order of the rows.
    n_rows, n_lines
        How many rows were explained and how many lines that gave, those of earlier runs included.
    n_parts, n_skipped, n_retried
        How many parts there are, how many had been written before, and how often a worker process died.
    """

    folder: Path
    n_rows: int
    n_lines: int
    n_parts: int
    n_skipped: int = 0
    n_retried: int = 0


def explain_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    explainer: Explainer | str | os.PathLike[str],
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    workers: int = 2,
    part_rows: int = 1_000_000,
    batch_rows: int = 65_536,
    retries: int = 3,
    compression: str = "snappy",
    verbose: bool | None = None,
    **options: Any,
) -> Written:
    """Explain a Parquet file, or a folder of them, into a folder with one file per part, in the rows' order.

    A part is a run of row groups of one file. Its file appears complete or not at all: a run that was stopped
    continues where it was when it is started again, and the parts of a process that died, or whose files were
    damaged since, are repeated. At the
    end, a file `_SUCCESS` is written. The columns are those of `output_schema`; memory does not depend on the
    number of rows. Scripts that call this need `if __name__ == "__main__":`, because processes are spawned.

    Parameters
    ----------
    source
        A Parquet file, or a folder: all `.parquet`, `.pq` and `.parq` files in it, by name.
    target
        A folder that is new, empty, or was begun by the same call.
    explainer, kind, model, trust_model, keep
        As in `explain_partition`, like all further options.
    workers
        How many processes, of one thread each; 0 works in this process.
    part_rows
        Most rows of a part, unless one row group has more; parts are smaller if there would be few.
    batch_rows, retries
        Rows per row group of the output, and how often worker processes may die.
    compression
        `snappy`, `lz4`, `zstd` (level 1) or `none`; contributions compress poorly.
    """
    if workers < 0:
        raise ValueError(f"workers must be 0 or more, found {workers}")
    files, folder = parquet_files(source), Path(target)
    packed = pack(explainer, model, trust_model, rules=kind in ("rules", "counterfactuals"))
    with _read_errors(files[0]):
        empty = pyarrow().parquet.read_schema(files[0]).empty_table()
    types = {name: column.type for name, column in kept_columns(empty, keep).items()}
    settings = {"kind": kind, "keep": types, **options}
    with _name_file(files[0]):
        schema = explain_partition(empty, packed, **settings).schema
    task = PartTask(packed, folder.absolute(), settings, schema, int(batch_rows), compression)
    folder.mkdir(parents=True, exist_ok=True)

    def refuse(holder: str) -> FileExistsError:
        said = f"another run, of {holder}, is writing explanations into {folder}"
        return FileExistsError(f"{said}; wait until it is done, or name another folder")

    with lock(folder / LOCK, refuse):
        parts = planned_parts(folder, task.fingerprint(files), _split(files, part_rows, workers))
        before = finished_parts(folder, parts)
        left = [part for part in parts if part.number not in before]
        n_rows = sum(part.n_rows for part in parts)
        disable = None if verbose is None else not verbose
        with tqdm(desc=kind, total=n_rows, unit="row", unit_scale=True, disable=disable) as bar:
            bar.update(n_rows - sum(part.n_rows for part in left))
            after, deaths = _explain_parts(task, left, workers, retries, bar.update)
        for path in folder.glob(".part-*.tmp*"):  # left by a process that died
            path.unlink(missing_ok=True)
        n_lines = sum(done.lines for done in {**before, **after}.values())
        about = {"kind": kind, "rows": n_rows, "lines": n_lines, "parts": len(parts)}
        with atomic_path(folder / SUCCESS) as temporary:
            temporary.write_text(json.dumps(about) + "\n")
    return Written(folder, n_rows, n_lines, len(parts), len(before), deaths)


@dataclass(frozen=True)
class PartTask:
    """Explains a part into its file; `settings` are arguments of `explain_partition`."""

    packed: PackedExplainer
    folder: Path
    settings: dict[str, Any]
    schema: Any  # of the output
    batch_rows: int
    compression: str

    def fingerprint(self, files: list[Path]) -> str:
        """Hash what explanations depend on; a run that met an unknown category may resume ignoring it."""
        stamps = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        settings = {name: value for name, value in self.settings.items() if name != "unknown"}
        settings["keep"] = {name: str(kind) for name, kind in self.settings["keep"].items()}
        about = json.dumps([stamps, self.packed.digest, settings], default=str)
        return hashlib.sha256(about.encode()).hexdigest()

    def __call__(self, part: Part) -> PartDone:
        """Return the number of lines written, and the digest of their file."""
        explainer, lines, start = self.packed.load(), 0, 0
        # Neither all row groups nor a whole large one is read ahead.
        reader = pyarrow().parquet.ParquetFile(part.path, pre_buffer=False, buffer_size=READ_BYTES)
        before = sum(reader.metadata.row_group(i).num_rows for i in range(part.first_group))
        with (
            reader,
            _name_file(part.path),
            atomic_path(self.folder / part.name) as temporary,
        ):
            with self._writer(temporary) as writer:
                for batch in self._batches(reader, part, explainer):
                    with rows_after(before + start, part.path):
                        first_row = part.first_row + start
                        table = explain_partition(batch, explainer, first_row=first_row, **self.settings)
                    writer.write_table(table.combine_chunks(), row_group_size=max(len(table), 1))
                    lines, start = lines + len(table), start + len(batch)
            done = PartDone.of(temporary, lines)
        record(self.folder, part, done)
        return done

    def _batches(self, reader: Any, part: Part, explainer: Explainer) -> Iterator[Any]:
        columns: list[str] = reader.schema_arrow.names
        if set(explainer.fitted_.columns) <= set(columns):  # otherwise they are taken by position
            needed = {*explainer.fitted_.columns, *self.settings["keep"]}
            columns = [name for name in columns if name in needed]
        groups = list(range(part.first_group, part.end_group))
        with _read_errors(part.path):
            yield from reader.iter_batches(self.batch_rows, groups, columns, use_threads=False)

    def _writer(self, path: Path) -> Any:
        texts = [field.name for field in self.schema if str(field.type) not in ("float", "double")]
        level = 1 if self.compression == "zstd" else None
        return pyarrow().parquet.ParquetWriter(
            path, self.schema, use_dictionary=texts, compression=self.compression, compression_level=level
        )


def _explain_parts(
    task: PartTask, parts: list[Part], workers: int, retries: int, count: Callable[[int], Any]
) -> tuple[dict[int, PartDone], int]:
    """Return what was written of each part, and how often a worker process died."""
    done: dict[int, PartDone] = {}
    for part in parts if not workers else ():
        done[part.number] = task(part)
        count(part.n_rows)
    deaths = 0
    while left := [part for part in parts if part.number not in done]:
        death = None
        n_processes = min(workers, len(left))
        with ProcessPoolExecutor(n_processes, get_context("spawn"), _limit_threads) as pool:
            futures = {pool.submit(task, part): part for part in left}
            try:
                for future in as_completed(futures):
                    if isinstance(future.exception(), BrokenProcessPool):
                        death = future.exception()
                        continue
                    part = futures[future]
                    done[part.number] = future.result()
                    count(part.n_rows)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        deaths += death is not None
        if deaths > retries:
            raise WorkerError(
                f"worker processes died {deaths} times; if memory ran out, use a smaller batch_rows or fewer "
                f"workers; a script that calls this needs `if __name__ == '__main__':`"
            ) from death
    return done, deaths


def _limit_threads() -> None:
    """Give libraries one thread each, those loaded later too."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(THREADS, "1"))
    threadpool_limits(1)
    pyarrow().set_cpu_count(1)


def _split(files: list[Path], part_rows: int, workers: int) -> list[Part]:
    """Divide files into runs of row groups; one that is larger than `part_rows` is a part by itself."""
    groups = {}
    for path in files:
        with _read_errors(path):
            about = pyarrow().parquet.read_metadata(path)
        groups[path] = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    n_rows = sum(map(sum, groups.values()))
    most = max(1, min(part_rows, -(-n_rows // (PARTS_PER_WORKER * max(workers, 1)))))
    parts: list[Part] = []
    first_row = 0
    for path, sizes in groups.items():
        start = n = 0
        for i, size in enumerate(sizes):
            n += size
            if i + 1 == len(sizes) or n + sizes[i + 1] > most:
                parts.append(Part(len(parts), str(path.absolute()), start, i + 1, first_row, n))
                first_row, start, n = first_row + n, i + 1, 0
    return parts or [Part(0, str(files[0].absolute()), 0, 0, 0, 0)]  # no rows still make a file with columns


@contextmanager
def _read_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (pyarrow().ArrowInvalid, OSError) as error:
        raise FormatError(f"{path} cannot be read as Parquet: {error}") from error


@contextmanager
def _name_file(path: str | Path) -> Iterator[None]:
    """Name the file in errors about columns; errors about rows name it already."""
    try:
        yield
    except UnknownCategoryError as error:
        raise replace(error, advice=ADVICE) from error.__cause__
    except SchemaError as error:
        if type(error) is SchemaError:
            raise SchemaError(f"{path}: {error}") from error.__cause__
        raise

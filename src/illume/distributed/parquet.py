"""Explain Parquet files into Parquet files with local processes; a stopped run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from illume.data.archive import atomic_path
from illume.data.progress import tqdm
from illume.data.row_sources import parquet_files
from illume.distributed.output_columns import pyarrow
from illume.distributed.packed_explainer import PackedExplainer, pack
from illume.distributed.partition import Keep, explain_partition, kept_columns
from illume.distributed.plan import LOCK, Part, planned_parts, read_errors, split
from illume.errors import IllumeError, SchemaError, UnknownCategoryError, rows_after

if TYPE_CHECKING:
    from illume.explainer import Explainer

SUCCESS = "_SUCCESS"
READ_BYTES = 2**17  # of a column at once
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ADVICE = "map it to one of these, or pass unknown='ignore'; the files already written are kept"


class WorkerError(IllumeError, RuntimeError):
    """A worker process died; what was written is kept."""


@dataclass(frozen=True)
class Written:
    """What `explain_parquet` has written.

    Parameters
    ----------
    folder
        Where the files are, one per part, in the order of the rows.
    n_rows, n_lines
        How many rows were explained and how many lines that gave, those of earlier runs included.
    n_parts, n_skipped
        How many parts there are, and how many had been written before.
    """

    folder: Path
    n_rows: int
    n_lines: int
    n_parts: int
    n_skipped: int = 0


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
    compression: str = "snappy",
    verbose: bool | None = None,
    **options: Any,
) -> Written:
    """Explain a Parquet file, or a folder of them, into a folder with one file per part, in the rows' order.

    A part is a run of row groups of one file. Its file appears complete or not at all: a run that was
    stopped, or of which a process died, continues where it was when it is started again. At the end, a file
    `_SUCCESS` is written. The columns are those of `output_schema`; memory does not depend on the
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
    batch_rows
        Rows per row group of the output.
    compression
        `snappy`, `lz4`, `zstd` (level 1) or `none`; contributions compress poorly.
    """
    if workers < 0:
        raise ValueError(f"workers must be 0 or more, found {workers}")
    files, folder = parquet_files(source), Path(target)
    packed = pack(explainer, model, trust_model, rules=kind in ("rules", "counterfactuals"))
    with read_errors(files[0]):
        empty = pyarrow().parquet.read_schema(files[0]).empty_table()
    types = {name: column.type for name, column in kept_columns(empty, keep).items()}
    settings = {"kind": kind, "keep": types, **options}
    with _name_file(files[0]):
        schema = explain_partition(empty, packed, **settings).schema
    task = PartTask(packed, folder.absolute(), settings, schema, int(batch_rows), compression)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK, blocking=False):
            parts = planned_parts(folder, task.fingerprint(files), split(files, part_rows, workers))
            return _run(task, parts, workers, verbose)
    except Timeout:
        said = f"another run is writing explanations into {folder}"
        raise FileExistsError(f"{said}; wait until it is done, or name another folder") from None


def _run(task: PartTask, parts: list[Part], workers: int, verbose: bool | None) -> Written:
    """Explain the parts that are not there yet."""
    folder, kind, n_rows = task.folder, task.settings["kind"], sum(part.n_rows for part in parts)
    left = [part for part in parts if part.lines(folder) is None]
    disable = None if verbose is None else not verbose
    with tqdm(desc=kind, total=n_rows, unit="row", unit_scale=True, disable=disable) as bar:
        bar.update(n_rows - sum(part.n_rows for part in left))
        for part in _explain_parts(task, left, workers):
            bar.update(part.n_rows)
    for path in folder.glob(".part-*.tmp*"):  # left by a process that died
        path.unlink(missing_ok=True)
    n_lines = sum(part.lines(folder) or 0 for part in parts)
    about = {"kind": kind, "rows": n_rows, "lines": n_lines, "parts": len(parts)}
    with atomic_path(folder / SUCCESS) as temporary:
        temporary.write_text(json.dumps(about) + "\n")
    return Written(folder, n_rows, n_lines, len(parts), len(parts) - len(left))


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

    def __call__(self, part: Part) -> None:
        """Write the file of a part."""
        explainer, start = self.packed.load(), 0
        # Neither all row groups nor a whole large one is read ahead.
        reader = pyarrow().parquet.ParquetFile(part.path, pre_buffer=False, buffer_size=READ_BYTES)
        before = sum(reader.metadata.row_group(i).num_rows for i in range(part.first_group))
        with (
            reader,
            _name_file(part.path),
            atomic_path(self.folder / part.name) as temporary,
            self._writer(temporary) as writer,
        ):
            for batch in self._batches(reader, part, explainer):
                with rows_after(before + start, part.path):
                    first_row = part.first_row + start
                    table = explain_partition(batch, explainer, first_row=first_row, **self.settings)
                writer.write_table(table.combine_chunks(), row_group_size=max(len(table), 1))
                start += len(batch)

    def _batches(self, reader: Any, part: Part, explainer: Explainer) -> Iterator[Any]:
        columns: list[str] = reader.schema_arrow.names
        if set(explainer.fitted_.columns) <= set(columns):  # otherwise they are taken by position
            needed = {*explainer.fitted_.columns, *self.settings["keep"]}
            columns = [name for name in columns if name in needed]
        groups = list(range(part.first_group, part.end_group))
        with read_errors(part.path):
            yield from reader.iter_batches(self.batch_rows, groups, columns, use_threads=False)

    def _writer(self, path: Path) -> Any:
        texts = [field.name for field in self.schema if str(field.type) not in ("float", "double")]
        level = 1 if self.compression == "zstd" else None
        return pyarrow().parquet.ParquetWriter(
            path, self.schema, use_dictionary=texts, compression=self.compression, compression_level=level
        )


def _explain_parts(task: PartTask, parts: list[Part], workers: int) -> Iterator[Part]:
    """Yield each part once its file is written."""
    if not workers or not parts:
        for part in parts:
            task(part)
            yield part
        return
    with ProcessPoolExecutor(min(workers, len(parts)), get_context("spawn"), _limit_threads) as pool:
        futures = {pool.submit(task, part): part for part in parts}
        try:
            for future in as_completed(futures):
                future.result()
                yield futures[future]
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process died; run the same again to continue where it stopped. If memory ran out, "
                "use a smaller batch_rows or fewer workers; a script that calls this needs "
                "`if __name__ == '__main__':`"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _limit_threads() -> None:
    """Give libraries one thread each, those loaded later too."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(THREADS, "1"))
    threadpool_limits(1)
    pyarrow().set_cpu_count(1)


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

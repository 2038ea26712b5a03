"""The work on one part, the same on every engine: read its rows, explain them piece by piece, write them."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from illume.data.archive import atomic_path
from illume.distributed.bounded import bounded
from illume.distributed.columns import arrow
from illume.distributed.kinds import Form
from illume.distributed.packed import Packed
from illume.distributed.partition import explain_partition
from illume.distributed.plan import Part
from illume.distributed.processes import Task, travelling
from illume.errors import SchemaError, UnknownCategoryError, rows_after

READ_BYTES = 2**17  # of a column at once
ADVICE = (
    "map it to one of these, or take it as none of them (unknown='ignore'): what is written already is kept"
)


@dataclass(frozen=True)
class Explain:
    """Explains a part into a file of its own, which appears whole or not at all.

    Parameters
    ----------
    packed
        The explainer and its model; a process loads them once.
    folder
        Where files are written.
    form
        What the output looks like.
    keep
        Columns of the rows to carry through, with their types.
    options
        What the explainer's method is asked with.
    batch_rows
        How many rows are read, explained and written at once.
    compression
        How files are compressed.
    home
        The process that asks for the work: the only one that may keep more than one thread.
    """

    packed: Packed
    folder: Path
    form: Form
    keep: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    batch_rows: int = 65_536
    compression: str = "snappy"
    home: int = field(default_factory=os.getpid)

    def settings(self) -> dict[str, Any]:
        """Return what explanations depend on; a run that met an unknown category may go on ignoring it."""
        kept = {name: str(kind) for name, kind in self.keep.items()}
        options = {name: value for name, value in self.options.items() if name != "unknown"}
        return {"explainer": self.packed.digest, "form": str(self.form), "keep": kept, **options}

    def ready(self) -> None:
        """Load the explainer."""
        self.packed.explainer()

    def __call__(self, part: Part, done: Callable[[int], None]) -> int:
        """Explain a part, with one thread where this is a worker, and return the number of lines."""
        explainer = self.packed.explainer()
        with nullcontext() if os.getpid() == self.home else bounded():
            return self._explained(part, explainer, done)

    def _explained(self, part: Part, explainer: Any, done: Callable[[int], None]) -> int:
        lines = 0
        options = {
            "kind": self.form.kind,
            "classes": self.form.classes,
            "float32": self.form.float32,
            "standard_errors": self.form.standard_errors,
            "keep": self.keep,
            **self.options,
        }
        with _opened(part) as file, self._writer(part, explainer) as writer:
            before = sum(_group_sizes(file)[: part.first_group])
            columns = self._columns(file.schema_arrow.names, explainer)
            for start, batch in _batches(file, part, self.batch_rows, columns):
                with _named(part), rows_after(before + start, part.path):
                    table = explain_partition(batch, explainer, first_row=part.first_row + start, **options)
                writer.write_table(table.combine_chunks(), row_group_size=max(len(table), 1))
                lines += len(table)
                done(len(batch))
                del batch, table  # not to be held while the next ones are made
        return lines

    def _columns(self, there: list[str], explainer: Any) -> list[str]:
        """Return which columns to read: no others than needed, unless they are taken by position."""
        wanted = {*explainer.fitted_.columns, *self.keep}
        return (
            [name for name in there if name in wanted]
            if set(explainer.fitted_.columns) <= set(there)
            else there
        )

    @contextmanager
    def _writer(self, part: Part, explainer: Any) -> Iterator[Any]:
        """Yield what writes the part's file, which is there once all went well."""
        if not self.folder.is_dir():
            raise FileNotFoundError(_unseen(self.folder))
        schema = self.form.columns(explainer, self.keep).schema()
        texts = [each.name for each in schema if str(each.type) not in ("float", "double")]
        packing = _compressed(self.compression)
        with (
            atomic_path(self.folder / part.name) as path,
            parquet().ParquetWriter(path, schema, use_dictionary=texts, **packing) as writer,
        ):
            yield writer


@dataclass(frozen=True)
class Outcome:
    """What became of a part: its lines, or what went wrong."""

    number: int
    lines: int = 0
    error: Exception | None = None


def outcome(part: Part, task: Task) -> Outcome:
    """Work on a part in a process of an engine.

    What goes wrong is told, not raised: an engine would try again, and fail again. Only where a process dies
    is its part done again.
    """
    try:
        task.ready()
        return Outcome(part.number, task(part, lambda n: None))
    except Exception as error:
        return Outcome(part.number, error=travelling(error))


def parquet() -> Any:
    """Return the Parquet module of pyarrow."""
    arrow()
    from pyarrow import parquet as found

    return found


def _opened(part: Part) -> Any:
    """Open a part's file so that neither all of its row groups are read ahead, nor a large one at once."""
    try:
        return parquet().ParquetFile(part.path, pre_buffer=False, buffer_size=READ_BYTES)
    except FileNotFoundError as error:
        raise FileNotFoundError(_unseen(part.path)) from error


def _unseen(path: Any) -> str:
    return (
        f"{path} is not there for a worker on {platform.node()}; workers need source and target under "
        f"the same paths, on a file system that all of them share"
    )


def _group_sizes(file: Any) -> list[int]:
    return [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]


def _batches(file: Any, part: Part, size: int, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield some rows at a time, with how many came before them in the part."""
    groups, start = list(range(part.first_group, part.end_group)), 0
    batches = file.iter_batches(size, groups, columns, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (arrow().ArrowInvalid, OSError) as error:
            raise SchemaError(f"{part.path} cannot be read as a Parquet file: {error}") from error
        if batch is None:
            return
        n = len(batch)
        yield start, batch
        del batch
        start += n


@contextmanager
def _named(part: Part) -> Iterator[None]:
    """Let errors about columns say whose; those about rows do already."""
    try:
        yield
    except UnknownCategoryError as error:
        raise error.advised(ADVICE) from error.__cause__
    except SchemaError as error:
        if type(error) is SchemaError:
            raise SchemaError(f"{part.path}: {error}") from error.__cause__
        raise


def _compressed(name: str) -> dict[str, Any]:
    return {"compression": "zstd", "compression_level": 1} if name == "zstd" else {"compression": name}

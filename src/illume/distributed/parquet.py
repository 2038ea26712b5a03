"""Parquet to Parquet, with processes of one's own over groups of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from illume.distributed.columns import arrow
from illume.distributed.kinds import Form
from illume.distributed.packed import Packed
from illume.distributed.partition import Keep, explain_partition
from illume.distributed.plan import (
    SUCCESS,
    Part,
    Written,
    begun,
    files_of,
    fingerprint,
    finished,
    forget_halves,
    split,
)
from illume.distributed.processes import Processes
from illume.errors import rows_after
from illume.storage.replacing import replaced


def explain_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    explainer: Any,
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    classes: str = "decided",
    float32: bool = False,
    workers: int = 2,
    part_rows: int = 1_000_000,
    batch_rows: int = 65_536,
    retries: int = 3,
    compression: str = "snappy",
    verbose: bool | None = None,
    **options: Any,
) -> Written:
    """Explain a Parquet file, or a folder of them, into a folder with a file per part, in the rows' order.

    A part is some row groups of a file. Each is written at once, when it is done: a run that was stopped goes
    on where it was when it is started again, and a part whose process died is done again. At the end, a file
    `_SUCCESS` says so. Columns are those of `output_schema`; memory is bounded by the pieces, not by the
    rows. Scripts that call this need `if __name__ == "__main__":`, for processes are started anew.

    Parameters
    ----------
    source
        A Parquet file, or a folder: all `.parquet` files in it, by name.
    target
        A folder that is new, empty, or begun by the same call.
    explainer, kind, model, trust_model, keep, classes, float32
        As in `explain_partition`; further options are those of the explainer's method.
    workers
        How many processes, of one thread each; 0 does the work in this one.
    part_rows
        Row groups make a part until it has about so many rows; smaller where there would be few parts.
    batch_rows
        How many rows are read, explained and written at once; they make a row group of the output.
    retries
        How often a part may be done again.
    compression
        `snappy`, `lz4`, `zstd` (level 1) or `none`; contributions hardly get smaller.
    verbose
        Show a bar of the rows done; None shows it only on a terminal.
    """
    arrow()
    form = Form(kind, classes, float32)
    packed = Packed.of(explainer, model, trust_model, rules=kind != "attributions")
    files, folder = files_of(source), Path(target)
    task = _Explain(packed, folder, form, _types(files[0], keep), dict(options), int(batch_rows), compression)
    mark = fingerprint(files, task.settings())
    parts = begun(folder, mark, split(files, part_rows, workers))
    before = finished(folder, parts)
    left = [part for part in parts if part.number not in before]
    n_rows = sum(part.n_rows for part in parts)
    disable = None if verbose is None else not verbose
    with tqdm(desc=kind, total=n_rows, unit="row", unit_scale=True, disable=disable) as bar:
        bar.update(n_rows - sum(part.n_rows for part in left))
        run = Processes(task, workers, retries) if workers else task.here
        lines, retried = run(left, lambda n: bar.update(n) and None)
    forget_halves(folder)
    n_lines = sum({**before, **lines}.values())
    said = {"kind": kind, "rows": n_rows, "lines": n_lines, "parts": len(parts)}
    with replaced(folder / SUCCESS) as temporary:
        temporary.write_text(json.dumps(said) + "\n")
    return Written(folder, n_rows, n_lines, len(parts), len(before), retried)


@dataclass(frozen=True)
class _Explain:
    """Reads a part, explains it piece by piece, and writes it."""

    packed: Packed
    folder: Path
    form: Form
    keep: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    batch_rows: int = 65_536
    compression: str = "snappy"

    def settings(self) -> dict[str, Any]:
        """Return what explanations depend on; a run that met an unknown category may go on ignoring it."""
        kept = {name: str(kind) for name, kind in self.keep.items()}
        options = {name: value for name, value in self.options.items() if name != "unknown"}
        return {"explainer": self.packed.digest, "form": str(self.form), "keep": kept, **options}

    def ready(self) -> None:
        """Load the explainer."""
        pa = arrow()
        pa.set_cpu_count(1)
        self.packed.explainer()

    def here(self, parts: list[Part], done: Callable[[int], None]) -> tuple[dict[int, int], int]:
        """Work on all parts in this process."""
        self.packed.explainer()
        return {part.number: self(part, done) for part in parts}, 0

    def __call__(self, part: Part, done: Callable[[int], None]) -> int:
        """Explain a part into its own file and return the number of lines."""
        pq = _parquet()
        explainer = self.packed.explainer()
        schema = self.form.columns(explainer, self.keep).schema()
        texts = [each.name for each in schema if not _is_float(each.type)]
        first_row, lines = part.first_row, 0
        options = {
            "kind": self.form.kind,
            "classes": self.form.classes,
            "float32": self.form.float32,
            "keep": self.keep,
            **self.options,
        }
        with (
            replaced(self.folder / part.name) as path,
            pq.ParquetFile(part.path) as file,
            pq.ParquetWriter(path, schema, use_dictionary=texts, **_compressed(self.compression)) as writer,
        ):
            groups = list(range(part.first_group, part.end_group))
            columns = self._columns(file.schema_arrow.names, explainer)
            before = sum(file.metadata.row_group(i).num_rows for i in range(part.first_group))
            for batch in file.iter_batches(self.batch_rows, groups, columns, use_threads=False):
                with rows_after(before + first_row - part.first_row, part.path):
                    table = explain_partition(batch, explainer, first_row=first_row, **options)
                writer.write_table(table.combine_chunks(), row_group_size=max(len(table), 1))
                first_row, lines = first_row + len(batch), lines + len(table)
                done(len(batch))
        return lines

    def _columns(self, there: list[str], explainer: Any) -> list[str]:
        """Return which columns to read: no others than needed, unless they are taken by position."""
        wanted = {*explainer.columns_, *self.keep}
        return [name for name in there if name in wanted] if set(explainer.columns_) <= set(there) else there


def _parquet() -> Any:
    arrow()
    from pyarrow import parquet

    return parquet


def _types(path: Path, keep: Keep) -> dict[str, Any]:
    """Return the types of kept columns, as the first file has them."""
    if isinstance(keep, Mapping):
        return dict(keep)
    from illume.data.schema import unknown_name
    from illume.errors import SchemaError

    schema = _parquet().read_schema(path)
    for name in keep:
        if name not in schema.names:
            raise SchemaError(f"keep names {unknown_name(name, schema.names)}")
    return {name: schema.field(name).type for name in keep}


def _is_float(kind: Any) -> bool:
    return str(kind) in ("float", "double")


def _compressed(name: str) -> dict[str, Any]:
    return {"compression": "zstd", "compression_level": 1} if name == "zstd" else {"compression": name}

"""Parquet to Parquet: groups of rows, scheduled by processes of one's own or by an engine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from illume.data.archive import atomic_path
from illume.distributed.columns import arrow
from illume.distributed.engines import engine_of
from illume.distributed.kinds import Form
from illume.distributed.packed import Packed
from illume.distributed.partition import Keep
from illume.distributed.plan import (
    SUCCESS,
    Part,
    Written,
    alone_in,
    begun,
    files_of,
    fingerprint,
    finished,
    forget_halves,
    require_written,
    split,
)
from illume.distributed.task import Explain, parquet


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
    standard_errors: bool = False,
    engine: Any = "processes",
    workers: int | None = None,
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

    With an engine, parts are its tasks: it gets descriptions of a few bytes and schedules them, while its
    workers read and write the files themselves, so rows never pass through its memory. That is the fast way
    where rows are in files. Where they come out of other steps of an engine, or go into some, use
    `illume.distributed.ray.explain`, `.spark.explain` or `.dask.explain`.

    Parameters
    ----------
    source
        A Parquet file, or a folder: all `.parquet` files in it, by name. Workers on other machines need
        source and target under the same paths, on a file system that all of them share.
    target
        A folder that is new, empty, or begun by the same call, with whatever engine; not by two at a time.
    explainer, kind, model, trust_model, keep, classes, float32, standard_errors
        As in `explain_partition`; further options are those of the explainer's method.
    engine
        `processes`, of one's own, or `ray`, `spark` or `dask`: the cluster that is connected to, else a local
        one. `RayTasks`, `SparkTasks` and `DaskTasks` say more exactly which, and what a task may claim.
        Workers of a cluster need illume installed, and what the model needs.
    workers
        How many processes, of one thread each (2 unless told); 0 does the work in this one. An engine has
        its own.
    part_rows
        Row groups make a part until it has about so many rows; smaller where there would be few parts.
    batch_rows
        How many rows are read, explained and written at once; they make a row group of the output.
    retries
        How often a part may be done again because its process died; Spark and Dask have settings of their
        own for that.
    compression
        `snappy`, `lz4`, `zstd` (level 1) or `none`; contributions hardly get smaller.
    verbose
        Show a bar of the rows done; None shows it only on a terminal.
    """
    arrow()
    form = Form(kind, classes, float32, standard_errors)
    schedules = engine_of(engine, workers, retries)
    packed = Packed.of(explainer, model, trust_model, rules=kind != "attributions")
    files, folder = files_of(source), Path(target)
    kept = _types(files[0], keep)
    task = Explain(packed, folder.absolute(), form, kept, dict(options), int(batch_rows), compression)
    mark = fingerprint(files, task.settings())
    planned = split(files, part_rows, schedules.n_workers)
    with alone_in(folder):
        parts = begun(folder, mark, planned)
        before = finished(folder, parts)
        left = [_absolute(part) for part in parts if part.number not in before]
        n_rows = sum(part.n_rows for part in parts)
        disable = None if verbose is None else not verbose
        with tqdm(desc=kind, total=n_rows, unit="row", unit_scale=True, disable=disable) as bar:
            bar.update(n_rows - sum(part.n_rows for part in left))
            lines, retried = schedules(task, left, lambda n: bar.update(n) and None)
        retried = max(retried, forget_halves(folder))
        require_written(folder, parts)
        n_lines = sum({**before, **lines}.values())
        said = {"kind": kind, "rows": n_rows, "lines": n_lines, "parts": len(parts)}
        with atomic_path(folder / SUCCESS) as temporary:
            temporary.write_text(json.dumps(said) + "\n")
        return Written(folder, n_rows, n_lines, len(parts), len(before), retried)


def _absolute(part: Part) -> Part:
    """Return a part whose file is found from any folder."""
    return replace(part, path=str(Path(part.path).absolute()))


def _types(path: Path, keep: Keep) -> dict[str, Any]:
    """Return the types of kept columns, as the first file has them."""
    if isinstance(keep, Mapping):
        return dict(keep)
    from illume.data.schema import describe_unknown
    from illume.errors import SchemaError

    schema = parquet().read_schema(path)
    for name in keep:
        if name not in schema.names:
            raise SchemaError(f"keep names {describe_unknown(name, schema.names)}")
    return {name: schema.field(name).type for name in keep}

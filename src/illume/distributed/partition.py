"""One pure function from a frame of rows to a frame of their explanations, with fixed columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from illume.data.frames import NumpyFrame, as_frame, chunks
from illume.data.schema import Unknown, describe_unknown
from illume.distributed.columns import arrow
from illume.distributed.kinds import Form, example_rows
from illume.distributed.packed import explainer_of
from illume.errors import SchemaError, rows_after

Keep = Sequence[str] | Mapping[str, Any]


def explain_partition(
    frame: Any,
    explainer: Any,
    kind: str = "attributions",
    *,
    model: Any = None,
    trust_model: bool = False,
    keep: Keep = (),
    classes: str = "decided",
    float32: bool = False,
    standard_errors: bool = False,
    first_row: int = 0,
    unknown: Unknown | None = None,
    **options: Any,
) -> Any:
    """Explain a frame's rows; the columns of the answer are the same for every frame, an empty one too.

    Attributions and rules have a line per row, in the rows' order. Counterfactuals have a line per example; a
    row that has none has one line, with `example` -1 and the `reason`. The answer is a frame of the same
    library (pandas for NumPy), a pandas frame with the rows' index. `output_schema` tells the columns.

    Parameters
    ----------
    frame
        A pandas, polars or Arrow frame, an Arrow record batch, or a 2-D NumPy array. The model is asked with
        frames of the library that the explainer was fitted with.
    explainer
        An `Explainer`, or the path of its file, which a process reads once.
    kind
        `attributions`, `rules` or `counterfactuals`; further options are those of the explainer's method.
    model
        With a path: the model, or the path of its joblib file, which is read only with `trust_model=True`,
        for that runs code in it. Without a model, the surrogate's own decisions stand in.
    keep
        Columns of the frame to carry through, for instance a key; with a mapping, the Arrow types they shall
        have, even where a partition alone would not tell.
    classes
        With more than two classes: contributions to the `decided` class, or to `all`, in columns
        `feature[class]`.
    float32
        Contributions in single precision: half the bytes.
    standard_errors
        A column more for each contribution, `feature (standard error)`.
    first_row
        What the first row counts as in the column `row` of counterfactuals.
    unknown
        What to do with categories that were not seen while fitting, `error` or `ignore`; None is as the
        explainer's own `unknown` says.
    """
    form = Form(kind, classes, float32, standard_errors)
    loaded = _reading(explainer_of(explainer, model, trust_model), unknown)
    rows = _rows(frame)
    kept = _kept(rows, keep)
    columns = form.columns(loaded, {name: column.type for name, column in kept.items()})
    ask: dict[str, Callable[..., Any]] = {
        "attributions": loaded,
        "rules": loaded.rules,
        "counterfactuals": loaded.counterfactuals,
    }
    tables, lines = [], [np.empty(0, dtype=np.intp)]
    for at, piece in chunks(as_frame(_for_model(rows, loaded, list(kept))), form.piece_rows(loaded)):
        with rows_after(at.start):
            result = ask[kind](piece.native, **options)
        lines.append(
            at.start + (example_rows(result)[0] if kind == "counterfactuals" else np.arange(len(result)))
        )
        carried = [column.take(lines[-1]) for column in kept.values()]
        tables.append(columns.table(form.arrays(result, first_row + at.start), carried))
    whole = arrow().concat_tables(tables) if tables else columns.empty()
    return _like(whole, rows, np.concatenate(lines))


def output_schema(
    explainer: Any,
    kind: str = "attributions",
    *,
    keep: Mapping[str, Any] | None = None,
    classes: str = "decided",
    float32: bool = False,
    standard_errors: bool = False,
) -> Any:
    """Return the Arrow schema of what `explain_partition` answers; `keep` maps kept columns to Arrow types.

    Texts of few values are dictionary-encoded: categories in pandas, plain strings in Spark.

    **Attributions**: `stand_in` (the model was not there, and the surrogate's decision stands in),
    `decision`, `probability` and `surrogate_probability` of it, `agreed`, `status` (agreed, refined, not
    faithful), `outside` (unlike the fitted rows), `trust_agreement` and `trust_error` on held-out rows
    around, `kind` (of contributions, shapley or pullback), `output` (whose log-odds are explained),
    `base_value`, `offset` (of refinement), and a column per feature, its contribution. `base_value`, `offset`
    and contributions add up to the log-odds.

    **Rules**: `stand_in`, `decision`, `probability`, `rule` as text, `n_conditions`, `precision` with
    `precision_low` and `precision_high`, `coverage`, `n_covered`, `polished`, `status`, `outside`, and
    `conditions` as JSON.

    **Counterfactuals**: `row` (its position), `example` (from 0, -1 where there is none), `reason` (why there
    is none), `decision` and `probability` of the changed row, `n_changes`, `distance`, `plausibility`,
    `changes` as JSON, and a column per feature with its new value, empty where it does not change.

    Where a feature has one of these names, the other column gets an underscore; so do kept columns.
    """
    form = Form(kind, classes, float32, standard_errors)
    return form.columns(explainer_of(explainer), keep or {}).schema()


def _reading(explainer: Any, unknown: Unknown | None) -> Any:
    """Return an explainer that treats unseen categories as is wanted; the one given stays as it is."""
    if unknown is None or unknown == explainer.unknown:
        return explainer
    return copy(explainer).set_params(unknown=unknown)


def _rows(frame: Any) -> Any:
    """Return the frame; a record batch of Arrow is a table."""
    return arrow().Table.from_batches([frame]) if type(frame).__name__ == "RecordBatch" else frame


def _for_model(rows: Any, explainer: Any, keys: Sequence[str]) -> Any:
    """Return rows in the library that the explainer was fitted with, its columns only."""
    import narwhals.stable.v2 as nw

    wanted, backend = explainer.fitted_.columns, explainer.fitted_.backend
    frame = as_frame(rows)
    if isinstance(frame, NumpyFrame):
        return rows
    if backend is None and not set(wanted) <= set(frame.names):  # an array has no names: by position
        wanted = [name for name in frame.names if name not in keys]
    if not set(wanted) <= set(frame.names):
        return rows  # the explainer says which are missing
    view = nw.from_native(frame.select(wanted).native, eager_only=True)
    if backend is None:
        return view.to_numpy()
    if backend != "pandas":
        return view.to_arrow() if backend == "pyarrow" else view.to_polars()
    return _as_fitted(rows if isinstance(rows, _pandas()) else view.to_pandas(), explainer)


def _pandas() -> type:
    import pandas as pd

    return pd.DataFrame


def _as_fitted(frame: Any, explainer: Any) -> Any:
    """Make texts categories where they were while fitting: some models ask for that."""
    pool = explainer.fitted_.pool
    if pool is None:
        return frame
    fitted = pool.frame.native.dtypes
    lost = [
        name
        for name in explainer.fitted_.columns
        if str(fitted.get(name)) == "category" and str(frame[name].dtype) != "category"
    ]
    return frame.assign(**{name: frame[name].astype("category") for name in lost}) if lost else frame


def _kept(rows: Any, keep: Keep) -> dict[str, Any]:
    """Return the columns to carry through as Arrow arrays, of the types that are asked for."""
    import narwhals.stable.v2 as nw

    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names; write [{keep!r}]")
    found = {}
    for name in keep:
        names = as_frame(rows).names
        if name not in names:
            raise SchemaError(f"keep names {describe_unknown(name, names)}")
        column = nw.from_native(rows, eager_only=True)[name].to_arrow()
        found[name] = column.cast(keep[name]) if isinstance(keep, Mapping) else column
    return found


def _like(table: Any, rows: Any, line: Any) -> Any:
    """Return an Arrow table as a frame of the rows' library, with their index."""
    kind = type(rows).__module__.partition(".")[0]
    if kind == "pyarrow":
        return table
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas(split_blocks=True)
    if kind == "pandas":
        frame.index = rows.index[line]
    return frame

"""Explain a frame of rows into a frame of explanations with fixed columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from illume.data.frames import NumpyFrame, as_frame, chunks
from illume.data.schema import Unknown, check_names, describe_unknown
from illume.distributed.output_columns import ExampleLines, OutputFormat, pyarrow
from illume.distributed.packed_explainer import PackedExplainer, load_explainer
from illume.errors import SchemaError, rows_after
from illume.explanations.check_options import check_options

if TYPE_CHECKING:
    from illume.explainer import Explainer

Keep = Sequence[str] | Mapping[str, Any]


def explain_partition(
    frame: Any,
    explainer: Explainer | PackedExplainer | str | os.PathLike[str],
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
    positive_class: Any = None,
    **options: Any,
) -> Any:
    """Explain the rows of a frame; the columns of the answer are the same for every frame, even an empty one.

    Attributions and rules have one line per row, in order. Counterfactuals have one line per example; a row
    without any has one line with `example` -1 and the `reason`. The answer is a frame of the same library
    (pandas for NumPy), in pandas with the index of the rows. `output_schema` describes the columns.

    Parameters
    ----------
    frame
        A pandas, polars or Arrow frame, an Arrow record batch, or a 2-D NumPy array. The model is called with
        frames of the library that the explainer was fitted with.
    explainer
        An `Explainer`, or the path of its file, which a process reads once.
    kind
        `attributions`, `rules` or `counterfactuals`; `options` are those of the explainer's method.
    model
        With a path: the model, or the path of its joblib file, which is loaded only with `trust_model=True`
        because loading runs code in it. Without a model, its twin answers.
    keep
        Columns of the frame to copy to the answer, for instance a key; a mapping also gives their Arrow
        types, which one partition alone may not determine.
    classes
        With more than two classes: contributions to the `decided` class, or to `all`, in columns
        `feature[class]`. With several numbers there are always columns `feature[output]` for all of them.
    float32
        Contributions in single precision, half the size.
    standard_errors
        Adds a column `feature (standard error)` for each contribution.
    first_row
        Number of the first row in the column `row` of counterfactuals.
    unknown
        How to treat categories not seen in fit, `error` or `ignore`; None keeps the explainer's setting.
    positive_class
        The class that explanations are for; None keeps the explainer's. Of two classes, `threshold` is
        the probability from which on it is decided, of any kind of explanation.
    """
    loaded = load_explainer(explainer, model, trust_model)
    check_is_fitted(loaded, "fitted_")
    given = {"unknown": unknown}
    if loaded.fitted_.outputs.decides:
        loaded = loaded._deciding(options.pop("threshold", None), positive_class)  # measured once, and kept
    else:
        given["positive_class"] = positive_class
    changes = {name: new for name, new in given.items() if new is not None and new != getattr(loaded, name)}
    loaded = copy(loaded).set_params(**changes) if changes else loaded
    rows = pyarrow().Table.from_batches([frame]) if type(frame).__name__ == "RecordBatch" else frame
    kept = kept_columns(rows, keep)
    types = {name: column.type for name, column in kept.items()}
    question = {name: options[name] for name in ("threshold", "output") if name in options}
    layout = OutputFormat(loaded, kind, types, classes, float32, standard_errors, **question)
    check_options(loaded.fitted_.outputs, kind, options)
    method = loaded if kind == "attributions" else getattr(loaded, kind)
    tables, lines = [], [np.empty(0, dtype=np.intp)]
    for at, piece in chunks(as_frame(_rows_for_model(rows, loaded, list(kept))), layout.piece_rows()):
        with rows_after(at.start):
            result = method(piece.native, **options)
        line = ExampleLines(result).row if kind == "counterfactuals" else np.arange(len(result))
        lines.append(at.start + line)
        tables.append(layout.table(result, [column[at] for column in kept.values()], first_row + at.start))
    table = pyarrow().concat_tables(tables or [layout.empty_table()])
    return _frame_like(rows, table, np.concatenate(lines))


def output_schema(
    explainer: Explainer | PackedExplainer | str | os.PathLike[str],
    kind: str = "attributions",
    *,
    keep: Mapping[str, Any] | None = None,
    classes: str = "decided",
    float32: bool = False,
    standard_errors: bool = False,
    threshold: float | None = None,
    output: int | str | None = None,
) -> Any:
    """Return the Arrow schema of the answer of `explain_partition`; `keep` maps kept columns to Arrow types.

    Strings with few values are dictionary-encoded: categories in pandas, plain strings in Spark.

    **Attributions**: `stand_in` (there was no model, and its twin answered), `decision`, `probability` of it,
    `outside` (unlike the fitted rows), `trust` (exact, high, fair, low or unknown), `contribution_error`
    (typical standard error of the contributions), `kind` (of contributions, shapley or pullback), `output`
    (whose score is explained), `base_value`, `offset` (of refinement), and one column per feature, its
    contribution. `base_value`, `offset` and contributions add up to the score: log-odds or a probability.

    **Rules**: `stand_in`, `decision`, `probability`, `rule` as text, `n_conditions`, `precision` with
    `precision_low` and `precision_high`, `coverage`, `n_covered`, `polished`, `status` (of the latent
    surrogate: agreed, refined, not faithful), `outside`, and `conditions` as JSON.

    **Counterfactuals**: `row` (its position), `example` (from 0; -1 if there is none), `reason` (why there
    is none), `decision` and `probability` of the changed row, `n_changes`, `distance`, `plausibility`,
    `changes` as JSON, and one column per feature with its new value, empty where it does not change.

    Where the model answers with a number, `prediction` replaces `decision` and `probability`; several numbers
    have `prediction: name` each. Their rules have `interval_low` and `interval_high`, or with a `threshold`
    the `decision`, the side that the row is on.

    If a feature has one of these names, the other column gets an underscore; so do kept columns.
    """
    loaded = load_explainer(explainer)
    check_is_fitted(loaded, "fitted_")
    layout = OutputFormat(loaded, kind, keep or {}, classes, float32, standard_errors, threshold, output)
    return layout.schema


def kept_columns(rows: Any, keep: Keep) -> dict[str, Any]:
    """Return the columns to carry through as Arrow arrays, in the types that are asked for."""
    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names; write [{keep!r}]")
    kept = {}
    for name in keep:
        names = as_frame(rows).names
        if name not in names:
            raise SchemaError(f"keep names {describe_unknown(name, names)}")
        column = nw.from_native(rows, eager_only=True)[name].to_arrow()
        kept[name] = column.cast(keep[name]) if isinstance(keep, Mapping) else column
    return kept


def _rows_for_model(rows: Any, explainer: Explainer, keys: Sequence[str]) -> Any:
    """Return the explainer's columns in the library that it was fitted with."""
    fitted = explainer.fitted_
    wanted, backend = list(fitted.columns), fitted.backend
    frame = as_frame(rows)
    if isinstance(frame, NumpyFrame):
        return rows
    if backend is None and not set(wanted) <= set(frame.names):  # fitted on an array: columns by position
        wanted = [name for name in frame.names if name not in keys]
    check_names(frame.names, wanted)
    view = nw.from_native(frame.select(wanted).native, eager_only=True)
    if backend is None:
        return view.to_numpy()
    if backend != "pandas":
        return view.to_arrow() if backend == "pyarrow" else view.to_polars()
    native = rows if view.implementation.is_pandas() else view.to_pandas()
    if fitted.pool is None:
        return native
    # Some models require the categorical dtype that they were fitted with.
    dtypes = fitted.pool.frame.native.dtypes
    lost = [name for name in wanted if str(dtypes.get(name)) == "category" != str(native[name].dtype)]
    return native.astype(dict.fromkeys(lost, "category")) if lost else native


def _frame_like(rows: Any, table: Any, line: Any) -> Any:
    """Return an Arrow table as a frame of the rows' library, with their index."""
    library = type(rows).__module__.partition(".")[0]
    if library == "pyarrow":
        return table
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas(split_blocks=True)
    if library == "pandas":
        frame.index = rows.index[line]
    return frame

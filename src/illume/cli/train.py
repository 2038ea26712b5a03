"""Training rows for `illume fit`, and a gradient boosting model for users without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from illume.cli.messages import Messages, UsageError
from illume.cli.options import split_names
from illume.cli.read_rows import CsvOptions, is_parquet, read_rows, require_names
from illume.cli.targets import Score, Target

UNNAMED_INDEX = "Unnamed: 0"  # the name that pandas gives to an unnamed index in CSV
VALIDATION_SHARE = 0.2
MAX_CATEGORIES = 200  # HistGradientBoosting allows 255


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features, as a pandas frame or a source read in chunks, and the target if known."""

    features: Any
    columns: tuple[str, ...]
    n_rows: int
    target: Any = None
    row_budget: int | None = None

    def __str__(self) -> str:
        if self.row_budget is None or self.row_budget >= self.n_rows:
            return f"{self.n_rows:,} rows"
        return f"{self.row_budget:,} of {self.n_rows:,} rows"


def load_training_rows(
    path: Path,
    target: str | None,
    drop: list[str] | None,
    *,
    row_budget: int | None,
    seed: int,
    csv: CsvOptions,
    in_memory: bool,
    messages: Messages,
) -> TrainingRows:
    """Return the features of a file or a folder without the dropped columns.

    Parquet files are read later, in chunks, unless rows are needed in memory to train a model.
    """
    if is_parquet(path) and not in_memory:
        return _stream_rows(path, target, drop, row_budget)
    if is_parquet(path):
        rows, row_budget = _sample_rows(path, row_budget, seed, messages), None
    else:
        rows = read_rows(path, csv, messages.note)
        for option, names in (("--text", csv.text), ("--number", csv.plain)):
            require_names(rows.columns, split_names(names, list(rows.columns)), option)
    rows = rows.drop(columns=list(_excluded_columns(list(rows.columns), None, drop)))
    require_names(rows.columns, [] if target is None else [target], "--target")
    if in_memory:
        rows = _drop_identifiers(rows, target, messages)
        known = rows[target].notna()
        if not known.all():
            messages.note(f"{int((~known).sum()):,} rows without {target!r} are left out")
            rows = rows[known].reset_index(drop=True)
    features = rows if target is None else rows.drop(columns=target)
    labels = None if target is None else rows[target]
    return TrainingRows(features, tuple(features.columns), len(rows), labels, row_budget)


def _stream_rows(
    path: Path, target: str | None, drop: list[str] | None, row_budget: int | None
) -> TrainingRows:
    from illume.data.load_rows import STREAM_ROWS
    from illume.data.row_sources import open_rows

    source = open_rows(path)
    excluded = _excluded_columns(source.names, target, drop)
    columns = tuple(name for name in source.names if name not in excluded)
    if not columns:
        raise UsageError("all columns are left out; keep at least one feature")
    return TrainingRows(source.select(columns), columns, source.n_rows or 0, None, row_budget or STREAM_ROWS)


def _sample_rows(path: Path, row_budget: int | None, seed: int, messages: Messages) -> Any:
    from illume.data.load_rows import RowLimit, sample_frame
    from illume.data.row_sources import open_rows

    limit = RowLimit(row_budget, seed, "pandas", verbose=False if messages.quiet else None)
    rows, n_rows = sample_frame(open_rows(path), limit)
    if len(rows) < n_rows:
        messages.note(f"using {len(rows):,} of {n_rows:,} rows, drawn at random with seed {seed}")
    return rows


def _excluded_columns(columns: Sequence[str], target: str | None, drop: list[str] | None) -> set[str]:
    names = split_names(drop, columns)
    require_names(columns, names, "--drop")
    require_names(columns, [] if target is None else [target], "--target")
    return {*names, *([] if target is None else [target])}


def _drop_identifiers(rows: Any, target: str | None, messages: Messages) -> Any:
    """Drop columns that only number or name the rows."""
    names = [
        name
        for name in rows.columns
        if name != target and rows[name].dtype.kind not in "biufM" and rows[name].nunique() == len(rows)
    ]
    for name in [*names, *({UNNAMED_INDEX} & set(rows.columns))]:
        messages.note(f"column {name!r} only identifies the rows and is left out")
        rows = rows.drop(columns=name)
    return rows


def train_gbm(rows: Any, target: Target, categorical: Sequence[str], seed: int) -> tuple[Any, Score]:
    """Train gradient boosting on all rows; its score is that of a model trained without validation rows."""
    from sklearn.model_selection import train_test_split

    n_validation = max(target.n_least, round(VALIDATION_SHARE * len(target)))
    training, validation = train_test_split(
        np.arange(len(target)),
        test_size=n_validation,
        random_state=seed,
        stratify=target.strata(n_validation),
    )
    trial = _pipeline(rows.iloc[training], target, categorical, seed)
    predicted = trial.fit(rows.iloc[training], target.values[training]).predict(rows.iloc[validation])
    score = target.score(predicted, training, validation)
    return _pipeline(rows, target, categorical, seed).fit(rows, target.values), score


def _pipeline(rows: Any, target: Target, categorical: Sequence[str], seed: int) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MAX_CATEGORIES,
    )
    # HistGradientBoosting fails on a column without any value.
    numeric = [name for name in rows.columns if name not in categorical and rows[name].notna().any()]
    encode = make_column_transformer((codes, list(categorical)), ("passthrough", numeric))
    boosting = target.booster(
        categorical_features=list(range(len(categorical))) or None, early_stopping=False, random_state=seed
    )
    return target.wrap(make_pipeline(encode, boosting))

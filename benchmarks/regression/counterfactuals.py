"""Counterfactuals with a desired range of predictions, beside DiCE's on the same model and rows."""

from __future__ import annotations

import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Line
from benchmarks.packages import no_warnings, seed_generators
from benchmarks.quality import count_changes
from benchmarks.regression.case import Case
from illume._typing import FloatArray

RANGES = {"upper": (0.8, 0.9), "lower": (0.05, 0.1)}  # quantiles of the predictions on training rows
METHODS = ("random", "genetic")
MANY, COMPARED = 500, 30  # rows for illume alone, and beside DiCE
LIMIT_S = 20.0  # after which DiCE gets no more rows
OUTCOME = "outcome_"


def counterfactual_figures(case: Case, explainer: Any, name: str) -> Line:
    """Find one counterfactual for test rows outside a range, with illume for many and with DiCE for few."""
    low, high = (float(end) for end in np.quantile(case.p_train, RANGES[name]))
    outside = case.test[(case.p_test < low) | (case.p_test > high)]
    share = float(np.mean((case.p_train >= low) & (case.p_train <= high)))
    explainer.fit_rules()
    explainer.counterfactuals(outside.head(5), n=1, desired_range=[low, high])
    found = {"low": low, "high": high, "share_in_range": share}
    found |= our_figures(case, explainer, outside.head(MANY), low, high)
    del found["changes"]
    compared = outside.head(COMPARED)
    ours = our_figures(case, explainer, compared, low, high)
    mine = ours.pop("changes")
    found |= {f"compared_{key}": value for key, value in ours.items()}
    for method in METHODS:
        with no_warnings():
            theirs = dice_figures(case, method, compared, low, high)
        both = [(mine[row], changes) for row, changes in theirs.pop("changes").items() if row in mine]
        found |= {f"{method}_{key}": value for key, value in theirs.items()}
        if both:  # rows for which both found an example
            found[f"{method}_both_ours"], found[f"{method}_both_theirs"] = map(float, np.mean(both, axis=0))
        if theirs["rows_per_second"]:
            found[f"{method}_times_as_fast"] = ours["rows_per_second"] / theirs["rows_per_second"]
    return found


def our_figures(case: Case, explainer: Any, rows: pd.DataFrame, low: float, high: float) -> Line:
    rows, start = rows.reset_index(drop=True), time.perf_counter()
    found = explainer.counterfactuals(rows, n=1, desired_range=[low, high])
    seconds = time.perf_counter() - start
    figures = example_figures(case, rows.iloc[found.row], found.examples, low, high)
    figures["changes"] = dict(zip(np.asarray(found.row).tolist(), figures["changes"], strict=True))
    figures |= {"n_rows": len(rows), "found": float(np.mean(found.found))}
    return figures | {"asked_per_row": found.n_asked / len(rows), "rows_per_second": len(rows) / seconds}


def example_figures(case: Case, before: pd.DataFrame, after: pd.DataFrame, low: float, high: float) -> Line:
    """Measure examples, given the rows that they were made for."""
    if not len(after):
        return {"in_range": None, "median_changes": None, "mean_changes": None, "changes": []}
    answers, changes = case.black_box.predict(after), count_changes(before, after)
    return {
        "in_range": in_range(answers, low, high),
        "median_changes": float(np.median(changes)),
        "mean_changes": float(np.mean(changes)),
        "changes": changes.tolist(),
    }


def in_range(answers: FloatArray, low: float, high: float) -> float:
    """Return the share of answers in a range, ends included.

    >>> in_range(np.array([1.0, 2.0, 3.0, 4.0]), 2.0, 3.0)
    0.5
    """
    return float(np.mean((answers >= low) & (answers <= high)))


def dice_figures(case: Case, method: str, rows: pd.DataFrame, low: float, high: float) -> Line:
    """Return the figures of a method of DiCE, row by row, until its time is up."""
    explain, typed = dice_regressor(case, method)
    seed_generators()
    start, done, places, after, errors = time.perf_counter(), 0, [], [], []
    for i in range(len(rows)):
        try:
            examples = explain(rows.iloc[[i]], low, high)
        except Exception as error:  # DiCE raises many kinds of error, also if it finds nothing
            examples = None
            errors.append(type(error).__name__)
        if examples is not None and len(examples):
            places.append(i)
            after.append(typed(examples.head(1)))
        done += 1
        if time.perf_counter() - start > LIMIT_S:
            break
    seconds = time.perf_counter() - start
    examples = pd.concat(after) if after else rows.head(0)
    figures = example_figures(case, rows.iloc[places], examples, low, high)
    figures |= {"changes": dict(zip(places, figures["changes"], strict=True))}
    figures |= {"n_rows": done, "found": len(after) / done}
    kinds = {name: errors.count(name) for name in sorted(set(errors))}
    return figures | {"rows_per_second": done / seconds, "errors": kinds}


def dice_regressor(case: Case, method: str) -> tuple[Any, Any]:
    """Return a function that finds an example for a row by DiCE, and one that restores the column types.

    DiCE passes and returns text for categories, and numbers as text where it likes.
    """
    import dice_ml

    train = case.train
    categories = {c: train[c].cat.categories for c in train.select_dtypes("category")}
    numbers = [c for c in train if c not in categories]

    def typed(frame: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {c: frame[c].astype(float).to_numpy() for c in numbers}
        for c, levels in categories.items():
            codes = pd.Index(levels.astype(str)).get_indexer(frame[c].astype(str))
            columns[c] = pd.Categorical.from_codes(codes, levels)
        return pd.DataFrame(columns)[list(train)]

    class TextModel:
        """The model, called with DiCE's frames."""

        def predict(self, frame: pd.DataFrame) -> FloatArray:
            return case.black_box.predict(typed(frame))

    plain = train.astype(dict.fromkeys(categories, str)).assign(**{OUTCOME: case.p_train})
    data = dice_ml.Data(dataframe=plain, continuous_features=numbers, outcome_name=OUTCOME)
    model = dice_ml.Model(model=TextModel(), backend="sklearn", model_type="regressor")
    explainer = dice_ml.Dice(data, model, method=method)
    options = {"total_CFs": 1, "verbose": False} | ({"random_seed": 0} if method == "random" else {})

    def explain(row: pd.DataFrame, low: float, high: float) -> pd.DataFrame | None:
        query = row.astype(dict.fromkeys(categories, str))
        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):  # a progress bar, and advice
            found = explainer.generate_counterfactuals(query, desired_range=[low, high], **options)
        return found.cf_examples_list[0].final_cfs_df

    return explain, typed

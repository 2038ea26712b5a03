"""Counterfactuals: validity, how many are found, changed features and speed, beside those of DiCE."""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import problem
from benchmarks.records import record
from illume import Explainer

WANTED = ("adult", "german")
OURS = 1_000


def changed_features(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
    """Return how many features of each row differ."""
    before, after = before.reset_index(drop=True), after.reset_index(drop=True)
    differs = np.zeros(len(before), dtype=int)
    for name in before:
        if isinstance(before[name].dtype, pd.CategoricalDtype):
            differs += (before[name].astype(str) != after[name].astype(str)).to_numpy()
        else:
            a, b = before[name].to_numpy(float), after[name].astype(float).to_numpy()
            differs += ~np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
    return differs


def ours(explainer: Explainer, rows: pd.DataFrame, n: int) -> dict[str, float]:
    """Find n counterfactuals a row with illume."""
    start = time.perf_counter()
    found = explainer.counterfactuals(rows, n=n)
    seconds = time.perf_counter() - start
    model = explainer.black_box_.model
    owner = rows.iloc[found.row]
    valid = model.predict(found.examples) != model.predict(owner) if len(found.row) else np.empty(0)
    changes = changed_features(owner, found.examples)
    return {
        "validity": float(np.mean(valid)),
        "found": float(found.found.mean()),
        "examples_per_row": len(found.row) / len(rows),
        "median_changes": float(np.median(changes)),
        "mean_changes": float(np.mean(changes)),
        "median_distance": float(np.median(found.distance)),
        "asked_per_row": found.n_asked / len(rows),
        "rows_per_second": len(rows) / seconds,
    }


def dice(model: Any, train: pd.DataFrame, labels: pd.Series, rows: pd.DataFrame, n: int) -> dict[str, float]:
    """Find n counterfactuals a row with DiCE's random method."""
    import dice_ml

    text = [c for c in train if isinstance(train[c].dtype, pd.CategoricalDtype)]
    levels = {c: train[c].cat.categories for c in text}
    plain = train.assign(**{c: train[c].astype(str) for c in text})
    outcome = (labels == model.classes_[1]).astype(int).to_numpy()

    class Wrapped:
        """DiCE hands strings over; the model wants its own categories."""

        classes_ = np.array([0, 1])

        def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
            frame = frame[list(train)]
            typed = {}
            for c in train:
                if c in text:
                    back = {str(v): v for v in levels[c]}
                    typed[c] = pd.Categorical(frame[c].astype(str).map(back), categories=levels[c])
                else:
                    typed[c] = frame[c].astype(float)
            return model.predict_proba(pd.DataFrame(typed))

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return self.predict_proba(frame).argmax(1)

    data = dice_ml.Data(
        dataframe=plain.assign(outcome_=outcome),
        continuous_features=[c for c in train if c not in text],
        outcome_name="outcome_",
    )
    wrapped = Wrapped()
    explainer = dice_ml.Dice(data, dice_ml.Model(model=wrapped, backend="sklearn"), method="random")
    queries = rows.assign(**{c: rows[c].astype(str) for c in text})
    changes, found, valid, seconds = [], 0, [], 0.0
    for i in range(len(rows)):
        query = queries.iloc[[i]]
        start = time.perf_counter()
        try:
            with redirect_stderr(StringIO()):  # a progress bar for every row
                answer = explainer.generate_counterfactuals(
                    query, total_CFs=n, desired_class="opposite", random_seed=0, verbose=False
                )
            examples = answer.cf_examples_list[0].final_cfs_df
        except Exception:  # DiCE raises many kinds of error when it finds nothing
            examples = None
        seconds += time.perf_counter() - start
        if examples is None or not len(examples):
            continue
        found += 1
        after = examples.drop(columns="outcome_")[list(train)]
        valid += (wrapped.predict(after) != wrapped.predict(query)[0]).tolist()
        owner = pd.concat([rows.iloc[[i]]] * len(after))
        changes += changed_features(owner, after).tolist()
    return {
        "validity": float(np.mean(valid)),
        "found": found / len(rows),
        "median_changes": float(np.median(changes)),
        "mean_changes": float(np.mean(changes)),
        "rows_per_second": len(rows) / seconds,
    }


def run(name: str, seed: int, n_rows: int) -> None:
    """Compare on one data set."""
    train, test, labels, model = problem(name, seed)
    explainer = Explainer(model, random_state=seed, verbose=False).fit(train).fit_rules()
    explainer.counterfactuals(test.head(20))
    many = ours(explainer, test.head(OURS), 1)
    for n in (1, 3):
        few = ours(explainer, test.head(n_rows), n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = dice(model, train, labels, test.head(n_rows), n)
        record(
            "counterfactuals",
            data=name,
            seed=seed,
            n=n,
            n_rows=min(OURS, len(test)),
            **many,
            n_compared=n_rows,
            **{f"compared_{key}": value for key, value in few.items()},
            **{f"dice_{key}": value for key, value in peer.items()},
            times_as_fast=few["rows_per_second"] / peer["rows_per_second"],
        )


def main() -> None:
    """Run the data sets named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(WANTED))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=200, help="rows to compare with DiCE on")
    options = parser.parse_args()
    for name in options.data:
        run(name, options.seed, options.rows)


if __name__ == "__main__":
    main()

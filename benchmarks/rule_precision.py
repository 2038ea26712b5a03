"""Held-out precision and coverage of rules, beside Anchor's on the same first rows and model.

A fifth of the rows is kept for testing; neither the black box nor an explainer sees it. A rule is measured on
the test rows other than the row it was made for.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import problem
from benchmarks.methods.rule_peers import recording_anchor
from benchmarks.records import record
from illume import Explainer

WANTED = ("breast", "adult", "spam")
OURS = 1_000


def measured(covers: np.ndarray, decided: np.ndarray) -> dict[str, float]:
    """Return mean precision and coverage of rules (n, N), made for the first n of N rows."""
    covers = covers.copy()
    covers[np.arange(len(covers)), np.arange(len(covers))] = False
    n = covers.sum(1)
    right = (covers & (decided == decided[: len(covers), None])).sum(1)
    known = n > 0
    return {
        "precision": float((right[known] / n[known]).mean()),
        "coverage": float(n.mean() / (covers.shape[1] - 1)),
        "covering": float(known.mean()),
    }


class Coded:
    """A frame as Anchor wants it: numbers, and categories as codes; and back again for the model."""

    def __init__(self, train: pd.DataFrame) -> None:
        self.dtypes = train.dtypes
        self.text = [c for c in train if isinstance(train[c].dtype, pd.CategoricalDtype)]

    def array(self, frame: pd.DataFrame) -> np.ndarray:
        """Return a frame as numbers."""
        return np.column_stack([frame[c].cat.codes if c in self.text else frame[c] for c in frame]).astype(
            float
        )

    def frame(self, array: np.ndarray) -> pd.DataFrame:
        """Return numbers as a frame."""
        columns = {}
        for column, (name, dtype) in zip(array.T, self.dtypes.items(), strict=True):
            text = name in self.text
            columns[name] = pd.Categorical.from_codes(column.astype(int), dtype=dtype) if text else column
        return pd.DataFrame(columns)


def anchors(model: Any, train: pd.DataFrame, test: pd.DataFrame, n: int) -> dict[str, float]:
    """Explain the first n test rows with Anchor; measure its rules on all of them."""
    coded = Coded(train)
    names = {j: [str(v) for v in train[c].cat.categories] for j, c in enumerate(train) if c in coded.text}
    explainer = recording_anchor()(list(model.classes_), list(train), coded.array(train), names)
    np.random.seed(0)  # noqa: NPY002 -- Anchor draws from NumPy's global generator
    rows = coded.array(test)
    grid = explainer.disc.discretize(rows)
    covers, lengths, seconds = [], [], 0.0
    for row in rows[:n]:
        start = time.perf_counter()
        found = explainer.explain_instance(
            row,
            lambda array: model.predict_proba(coded.frame(np.atleast_2d(array))).argmax(1),
            threshold=0.95,
        )
        seconds += time.perf_counter() - start
        inside = np.ones(len(grid), dtype=bool)
        conditions = found.exp_map["conditions"]
        for f, kind, value in conditions:
            inside &= {"eq": grid[:, f] == value, "leq": grid[:, f] <= value, "geq": grid[:, f] > value}[kind]
        covers.append(inside)
        lengths.append(len({f for f, _, _ in conditions}))
    figures = measured(np.array(covers), model.predict_proba(test).argmax(1))
    return figures | {"conditions": float(np.mean(lengths)), "rows_per_second": n / seconds}


def ours(explainer: Explainer, test: pd.DataFrame, n: int) -> dict[str, float]:
    """Make rules of the first n test rows; measure them on all of them."""
    start = time.perf_counter()
    rules = explainer.rules(test.head(n))
    seconds = time.perf_counter() - start
    covers = np.array([rule.covers(test) for rule in rules])
    figures = measured(covers, explainer.black_box_.model.predict_proba(test).argmax(1))
    return figures | {"conditions": float(rules.n_conditions.mean()), "rows_per_second": n / seconds}


def run(name: str, seed: int, n_anchors: int) -> None:
    """Compare on one data set."""
    train, test, _, model = problem(name, seed)
    explainer = Explainer(model, random_state=seed, verbose=False).fit(train).fit_rules()
    many = ours(explainer, test, min(OURS, len(test)))
    few = ours(explainer, test, min(n_anchors, len(test))) if n_anchors else {}
    peer = anchors(model, train, test, min(n_anchors, len(test))) if n_anchors else {}
    record(
        "rule-precision",
        data=name,
        seed=seed,
        n_rules=min(OURS, len(test)),
        **many,
        source=explainer.rule_quality_.source,
        reported_precision=explainer.rule_quality_.precision,
        reported_coverage=explainer.rule_quality_.coverage,
        n_compared=n_anchors,
        **{f"compared_{key}": value for key, value in few.items()},
        **{f"anchor_{key}": value for key, value in peer.items()},
    )


def main() -> None:
    """Run the data sets named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(WANTED))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--anchors", type=int, default=50, help="rows to explain with Anchor; 0 is none")
    options = parser.parse_args()
    for name in options.data:
        run(name, options.seed, options.anchors)


if __name__ == "__main__":
    main()

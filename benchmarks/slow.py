"""Explain many rows of models that answer only some hundreds of rows a second."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.data import real
from benchmarks.data.problem import Encoding, Problem
from benchmarks.harness import Cell, Line, cache_folder, cached, choose, latest
from benchmarks.markup import MISSING, Table, count, number, seconds
from benchmarks.truth.case import Case
from benchmarks.truth.cells import Bench, explain_rows
from benchmarks.truth.methods import explain_illume, parse_illume

MODELS = {
    "svm": lambda: CalibratedClassifierCV(SVC(C=1.0)),
    "neighbours": lambda: KNeighborsClassifier(50, weights="distance", algorithm="ball_tree"),
}
METHODS = (
    *("illume", "illume-refine-16", "shap-permutation@256", "shap-kernel@256"),
    *("shap-permutation@1024", "shap-kernel@1024"),
)
PEER_ROWS, TIMED_ROWS = 50, 1_000
ABOUT = (
    "Seconds to explain so many rows, the fit included, where most of the time is the model's. ≈ marks times "
    "that were extrapolated in proportion from the rows that a method explained before its time was up."
)


def slow(
    data: tuple[str, ...] = ("adult",),
    models: tuple[str, ...] = (),
    methods: tuple[str, ...] = METHODS,
    rows: int = 10_000,
    training_rows: int = 20_000,
    limit_s: float = 60.0,
) -> Iterator[Cell]:
    """Explain rows of a support vector machine (svm) and of nearest neighbours, on adult or bank.

    illume explains all rows; other methods explain some until limit-s, and their times are extrapolated. More
    training rows make the models slower.
    """
    for name in choose(("adult", "bank"), data, "data set"):
        for model in choose(MODELS, models, "model"):
            slow_model = SlowModel(name, model, training_rows, rows, limit_s)
            for method in methods:
                settings = {"data": name, "model": model, "method": method, "rows": rows}
                yield Cell(settings, partial(slow_model.evaluate, method))


class SlowModel:
    """Measures methods on one slow model, which is fitted on first use."""

    def __init__(self, data: str, model: str, training_rows: int, rows: int, limit_s: float) -> None:
        self.rows, self.limit_s, self.bench = rows, limit_s, Bench(data, model)
        self.load = partial(load_problem, data, model, training_rows)
        self.rows_per_s = 0.0

    def evaluate(self, method: str) -> Line:
        if self.bench.case is None:
            problem = self.load()
            self.bench.case = Case(problem, PEER_ROWS)
            self.rows_per_s = answer_rate(problem.model, problem.X_test)
        case = self.bench.case
        facts = {"seed": 0, "model_rows_per_s": self.rows_per_s, "n_features": case.X.shape[1]}
        facts["training_rows"] = len(case.problem.train)
        line = self.ours(method) if method.startswith("illume") else self.peer(method)
        line["total_s"] = line["fit_s"] + line["explain_s"]
        return facts | line

    def ours(self, method: str) -> Line:
        """Explain all rows with illume."""
        name, refine = parse_illume(method)
        fitted, case = self.bench.fit(name), self.bench.case
        frame = case.problem.test
        frame = frame.iloc[np.arange(self.rows) % len(frame)].reset_index(drop=True)
        before, start = case.counting.queries, time.perf_counter()
        explain_illume(fitted.explainer, frame, refine)
        taken, queries = time.perf_counter() - start, case.counting.queries - before
        line = {"fit_s": fitted.seconds, "fit_asks": fitted.queries, "explain_s": taken}
        return line | {
            "rows_explained": len(frame),
            "extrapolated": False,
            "asks_per_row": queries / len(frame),
        }

    def peer(self, method: str) -> Line:
        """Explain rows until the time is up, and extrapolate."""
        ready = self.bench.ready(method)
        *_, costs = explain_rows(self.bench.case, ready, self.limit_s, chunk=1, least_rows=1)
        names = ("fit_s", "fit_asks", "rows_explained", "asks_per_row", "setting")
        all_rows_s = costs["explain_s"] / costs["rows_explained"] * self.rows
        return {name: costs[name] for name in names} | {"explain_s": all_rows_s, "extrapolated": True}


def load_problem(data: str, model: str, n_train: int) -> Problem:
    """Fit a slow model on rows of a data set; it is kept on disk."""
    rows = real.split_table(data, n_train=n_train)
    encoding = Encoding.fit(rows.train)
    X = encoding.transform(rows.train)
    digest = hashlib.sha256(X.tobytes() + rows.y_train.tobytes()).hexdigest()[:12]
    path = cache_folder("slow") / f"{data}-{model}-{digest}.joblib"
    fitted = cached(path, lambda: MODELS[model]().fit(X, rows.y_train))
    return Problem(data, model, 0, "clean", *rows, encoding, fitted)


def answer_rate(model: Any, X: Any) -> float:
    """Return the rows a second that a model answers in one call."""
    some = X[np.arange(TIMED_ROWS) % len(X)]
    model.predict_proba(some[:10])
    start = time.perf_counter()
    model.predict_proba(some)
    return TIMED_ROWS / (time.perf_counter() - start)


def tables(results: Path) -> list[Table]:
    """Return the table of slow models, if any were measured."""
    found = latest(results / "slow.jsonl", ("data", "model", "method", "rows"))
    head = ["data, model", "model's rows/s", "method", "rows", "rows timed", "asks a row", "asks in fit"]
    head += ["fit, s", "whole, s", "R²"]
    rows = tuple(_row(line) for line in found if line["error"] is None)
    return [Table("slow", "Models that answer slowly", tuple(head), rows, (ABOUT,))] if rows else []


def _row(line: Line) -> tuple[str, ...]:
    about = "≈ " if line["extrapolated"] else ""
    return (
        f"{line['data']}, {line['model']}",
        count(line["model_rows_per_s"]),
        line["method"],
        f"{line['rows']:,}",
        f"{line['rows_explained']:,}",
        count(line["asks_per_row"]),
        count(line["fit_asks"]),
        seconds(line["fit_s"]),
        about + seconds(line["total_s"]),
        number(line["r2"]) if "r2" in line else MISSING,
    )

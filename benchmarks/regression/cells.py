"""The cells of regression: a part, a data set, a model and a seed; and their measurement."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks.data.real import VARIABLE
from benchmarks.harness import Cell, Line, choose
from benchmarks.regression import speed
from benchmarks.regression.case import MODELS, Case
from benchmarks.regression.counterfactuals import RANGES, counterfactual_figures
from benchmarks.regression.data import SEVERAL_OUTPUTS, SOURCES, SPLITS
from benchmarks.regression.rules import rule_figures
from benchmarks.truth.case import BACKGROUND_ROWS
from benchmarks.truth.methods import explain_illume
from benchmarks.truth.reference import Reference, agreement, coverage, enumerate_sets, errors
from illume import DataOptions, Explainer
from illume._typing import FloatArray

NAMES = ("part", "data", "model", "seed", "setting")  # that identify a cell
FRESH = "fresh"  # the explainer is fitted on rows that the model was not
SETTINGS = {
    "contributions": ("illume", "illume-refine-16", "illume-refine-64"),
    "rules": ("trained", FRESH),
    "counterfactuals": tuple(RANGES),
    "speed": ("shap",),
    "throughput": ("1", "all"),
    "outputs": ("forest",),
}
RULES_ALONE = ("rules", "counterfactuals")
SEEDS = {"rules": 5}  # splits, where none are asked for; otherwise 1
MEASURED_ON = {
    "speed": ("additive",),
    "throughput": (),
    "outputs": (),
}  # parts that are not for every data set


def regression(
    split: Literal["development", "heldout", "all"] = "development",
    sets: tuple[str, ...] = (),
    models: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    seeds: int = 0,
    rows: int = 150,
    effort: str = "standard",
) -> Iterator[Cell]:
    """Measure explanations of models that answer with a number.

    sets: data sets instead of a split. parts: contributions (against Shapley values, with the surrogate's
    R²), rules (beside a regression tree), counterfactuals (beside DiCE), speed (beside shap), throughput,
    outputs (several numbers at once).
    seeds: splits into training and test rows; by default 5 for rules and 1 for the rest. rows: whose
    contributions are compared. Some sets are read from the folder that `ILLUME_DATA` names.
    """
    chosen = choose(SETTINGS, parts, "part")
    named = choose(SOURCES, sets or SPLITS[split], "data set")
    missing = [name for name in named if SOURCES[name].needs_folder and not os.environ.get(VARIABLE)]
    if missing:
        raise SystemExit(f"{missing[0]} needs a data file; set {VARIABLE} to the folder of data sets")
    most = seeds or max(SEEDS.values())
    for name, model, seed in product(named, choose(MODELS, models, "model"), range(most)):
        bench = Bench(name, model, seed, rows, effort)
        for part in chosen:
            if name in MEASURED_ON.get(part, (name,)) and seed < (seeds or SEEDS.get(part, 1)):
                yield from _cells(bench, part)
    for part in chosen:
        yield from _further_cells(part)


def _cells(bench: Bench, part: str) -> Iterator[Cell]:
    for setting in SETTINGS[part]:
        values = (part, bench.data, bench.model, bench.seed, setting)
        mine = replace(bench, fresh=True) if setting == FRESH else bench
        yield Cell(dict(zip(NAMES, values, strict=True)), partial(mine.measure, part, setting))


def _further_cells(part: str) -> Iterator[Cell]:
    """Yield the cells of a part that has data of its own."""
    if part == "throughput":
        for threads in SETTINGS[part]:
            values = (part, "normal", "product", 0, threads)
            yield Cell(dict(zip(NAMES, values, strict=True)), partial(speed.throughput_figures, threads))
    if part == "outputs":
        for name in SEVERAL_OUTPUTS:
            values = (part, name, "forest", 0, "forest")
            yield Cell(dict(zip(NAMES, values, strict=True)), partial(output_figures, name))


@dataclass(eq=False)
class Bench:
    """Measures the cells of one data set, model and seed, which share a fitted explainer."""

    data: str
    model: str
    seed: int = 0
    rows: int = 150
    effort: str = "standard"
    fresh: bool = False

    @cached_property
    def case(self) -> Case:
        return Case(self.data, self.model, self.seed, self.rows, self.fresh)

    @cached_property
    def full(self) -> tuple[Any, Line]:
        """The explainer with its defaults, and what its fit cost."""
        return self.fit(background=self.case.background)

    @cached_property
    def without_shapley(self) -> tuple[Any, Line]:
        """The same without the network of Shapley values, which rules and counterfactuals do not use."""
        return self.fit(contributions="pullback")

    def fit(self, **options: Any) -> tuple[Any, Line]:
        case = self.case
        if case.source.link != "identity":
            options["data_options"] = DataOptions(link=case.source.link)
        options |= {"effort": self.effort, "device": "cpu", "random_state": self.seed, "verbose": False}
        before, start = case.black_box.queries, time.perf_counter()
        explainer = Explainer(case.black_box, unknown="ignore", **options).fit(case.train)
        cost = {"fit_s": time.perf_counter() - start, "fit_asks": case.black_box.queries - before}
        return explainer, cost

    def measure(self, part: str, setting: str) -> Line:
        explainer, cost = self.without_shapley if part in RULES_ALONE else self.full
        if part == "contributions":
            found = contribution_figures(self.case, explainer, setting)
        elif part == "rules":
            found = rule_figures(self.case, explainer)
        elif part == "counterfactuals":
            found = counterfactual_figures(self.case, explainer, setting)
        else:
            found = speed.shap_figures(self.case, explainer, cost["fit_s"])
        facts = {"n_train": len(self.case.train), "n_features": self.case.X.shape[1], "effort": self.effort}
        facts["model_r2"] = r_squared(self.case.y_test, self.case.p_test)
        return found | cost | facts | {"load": os.getloadavg()[0]}


def contribution_figures(case: Case, explainer: Any, setting: str) -> Line:
    """Compare contributions with Shapley values, and the surrogate's predictions with the model's."""
    refine = int(setting.rpartition("-")[2]) if "refine" in setting else 0
    before, start = case.black_box.queries, time.perf_counter()
    values, standard_errors = explain_illume(explainer, case.explained, refine)
    seconds, asked = time.perf_counter() - start, case.black_box.queries - before
    truth = case.reference()
    figures = errors(values, truth) | agreement(values[:, :, 0], truth.values[:, :, 0])
    if standard_errors is not None:
        figures["standard_error_coverage"] = coverage(values, standard_errors, truth)
    attributions = explainer(case.test)
    P, S = (np.asarray(each, dtype=float)[:, 0] for each in predictions(attributions))
    total = np.asarray(attributions.values).sum(1).ravel() + np.asarray(attributions.base_values).ravel()
    scores = np.log(P) if case.source.link == "log" else P
    figures |= {
        "surrogate_r2": r_squared(P, S),
        "stated_r2": float(explainer.quality_.r2),
        "sum_error": float(np.abs(total - scores).max() / scores.std()),
    }
    costs = {"explain_s": seconds, "asks_per_row": asked / len(case.explained)}
    return figures | costs | truth.facts()


def output_figures(name: str) -> Line:
    """Compare the contributions to several outputs of a forest with exact Shapley values."""
    X, Y = SEVERAL_OUTPUTS[name]()
    model = RandomForestRegressor(50, min_samples_leaf=3, random_state=0, n_jobs=1).fit(X.to_numpy(), Y)
    test, rows = X.iloc[::10], X.to_numpy()
    background = X.head(BACKGROUND_ROWS)
    options = {"background": background, "data_options": DataOptions(output_names=list(Y))}

    def predict(frame: Any) -> FloatArray:
        return model.predict(np.asarray(frame, dtype=float))

    found = Explainer(predict, verbose=False, **options).fit(X)(test)
    scale = predict(rows).std(0)
    truth = enumerate_sets(predict, test.to_numpy(float), background.to_numpy(float)) / scale
    values, P = np.asarray(found.values, dtype=float), predict(test)
    total = values.sum(1) + np.asarray(found.base_values)
    figures = errors(values / scale, Reference(truth, truth)) | {"n_outputs": Y.shape[1]}
    return figures | {"sum_error": float((np.abs(total - P) / scale).max()), "n_rows": len(test)}


def predictions(attributions: Any) -> tuple[FloatArray, FloatArray]:
    """Return the model's predictions and the surrogate's, (n, 1) each."""
    return attributions.predictions, attributions.surrogate_predictions


def r_squared(truth: FloatArray, found: FloatArray) -> float:
    """Return the share of the variance of `truth` that `found` explains.

    >>> r_squared(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    0.5
    """
    return float(1 - np.square(truth - found).sum() / np.square(truth - truth.mean()).sum())

"""The cells of truth: a question about a method, a model and a data set; and their measurement."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchmarks.data import SENECA_RC
from benchmarks.data.real import VARIABLE
from benchmarks.harness import Cell, Line, choose
from benchmarks.truth.case import Case, load_problem
from benchmarks.truth.methods import (
    LEAST,
    REFINE,
    SETTINGS,
    Fit,
    Ready,
    Values,
    explain_illume,
    fit_illume,
    make_ready,
    parse_illume,
)
from benchmarks.truth.reference import (
    CALIBRATED,
    MOST_QUERIES,
    NOISE,
    Reference,
    agreement,
    coverage,
    decided_class,
    errors,
    load_reference,
    null_shares,
    query_scores,
    same_or_tied_reasons,
    same_reasons,
    similarity,
    stated_over_true,
)
from illume._typing import FloatArray

DEVELOPMENT = ("german", "fico", "compas", "diabetes", "spam", "yeast")
HELD_OUT = (
    "aids", "austr", "bank", "breast", "churn", "ctg", "ecoli", "home", "ionos", "sonar", "titanic", "wine",
)  # fmt: skip
SPLITS = {"development": DEVELOPMENT, "heldout": HELD_OUT, "all": DEVELOPMENT + HELD_OUT}
DATA = (*SPLITS["all"], "adult", *SENECA_RC)
MODELS = ("xgb", "lgb", "mlp", "forest")
LEARNED = ("mlp", "svm", "knn", "stacked", "calibrated")  # that cannot be read
HELD_OUT_MODEL = "forest"  # settings were chosen with the others
TREES = ("xgb", "lgb", "forest")
NAMES = ("kind", "data", "model", "method", "seed", "rows")  # that identify a cell
OURS = ("illume", "illume-thorough", *(f"{REFINE}{n}" for n in (16, 64, 256)), "illume-pullback")
SAMPLERS = ("shap-kernel", "shap-permutation", "shap-sampling", "shapiq-kernel", "shapiq-leverage")
BUDGETS = (LEAST, "64", "256", "1024")
ALONE = ("illume", "illume-thorough", "illume-refine-64", "illume-pullback")
METHODS = {
    "contributions": (
        *OURS, "shap-tree", *(f"{name}@{budget}" for name in SAMPLERS for budget in BUDGETS), "lime",
    ),
    "null": ALONE,
    "seeds": ALONE,
}  # fmt: skip
MANY_ROWS, MANY_S = 10_000, 30.0  # as many rows are timed if they take no longer
CHUNK, LEAST_ROWS = 5, 25
LEVELS = 5


def truth(
    split: Literal["development", "heldout", "all"] = "development",
    kinds: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    models: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    rows: int = 200,
    seed: int = 0,
    seconds: float = 20.0,
    noise: float = NOISE,
    reference_asks: int = MOST_QUERIES,
) -> Iterator[Cell]:
    """Compare contributions with the model's Shapley values; needs `ILLUME_DATA` for all but seneca data.

    kinds: contributions, null (features that the model never sees), seeds (two fits). data: any data sets
    instead of a split, also adult and seneca-rc-…. methods: illume, illume-refine-64, shap-kernel@256, …,
    where @ gives the queries for each row. seconds: the time after which a slow method explains no more rows.
    noise: of the reference, as a share of its variance; reference-asks: the most queries for it.
    """
    usual = [name for name in MODELS if split != "development" or name != HELD_OUT_MODEL]
    _check_methods(methods)
    for name in select_data(split, data):
        if not name.startswith("seneca") and not os.environ.get(VARIABLE):
            raise SystemExit(f"{name} needs a data file; set {VARIABLE} to the folder of data sets")
        for model in (
            ("truth",)
            if name in SENECA_RC
            else choose(tuple(dict.fromkeys(MODELS + LEARNED)), models or tuple(usual), "model")
        ):
            bench = Bench(name, model, seed, rows, seconds, noise, reference_asks)
            for kind in choose(METHODS, kinds, "kind"):
                for method in methods or METHODS[kind]:
                    ours = method.startswith("illume")
                    if (method == "shap-tree" and model not in TREES) or (
                        kind != "contributions" and not ours
                    ):
                        continue
                    values = (kind, name, model, method, seed, rows)
                    yield Cell(dict(zip(NAMES, values, strict=True)), partial(bench.evaluate, kind, method))


def select_data(split: str, wanted: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the data sets of a split, or those that are named.

    >>> select_data("development")[:2], select_data("heldout", ("adult", "seneca-rc-4+0"))[:2]
    (('german', 'fico'), ('adult', 'seneca-rc-4+0-0'))
    """
    found: list[str] = []
    for name in wanted:
        mine = [data for data in DATA if data == name or (data in SENECA_RC and data.startswith(name))]
        if not mine:
            raise SystemExit(f"no data set is called {name!r}; choose from {', '.join(DATA)}")
        found += mine
    return tuple(found) or SPLITS[split]


def _check_methods(names: tuple[str, ...]) -> None:
    for name in names:
        base, _, budget = name.partition("@")
        sampled = base in SAMPLERS and (budget == LEAST or budget.isdigit())
        refined = name.startswith(REFINE) and name.removeprefix(REFINE).isdigit()
        if not (sampled or refined or name in (*SETTINGS, "shap-tree", "lime")):
            known = ", ".join(METHODS["contributions"])
            raise SystemExit(f"no method is called {name!r}; choose from {known}")


@dataclass(eq=False)
class Bench:
    """Measures the cells of one case; fitted explainers and the reference are shared."""

    data: str
    model: str
    seed: int = 0
    rows: int = 200
    budget_s: float = 20.0  # for the rows of a cell
    noise: float = NOISE  # of the reference, as a share of its variance
    most_queries: int = MOST_QUERIES  # for the reference
    case: Case = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self._fits: dict[Any, Fit] = {}
        self._reference: Reference | None = None

    def evaluate(self, kind: str, method: str) -> Line:
        if self.case is None:
            self.case = Case(load_problem(self.data, self.model, self.seed), self.rows)
        found = {"contributions": self.contributions, "null": self.null, "seeds": self.seeds}[kind](method)
        facts = {"n_features": self.case.X.shape[1], "n_classes": len(self.case.problem.classes)}
        return found | facts | {"background_rows": len(self.case.B), "load": os.getloadavg()[0]}

    def contributions(self, method: str) -> Line:
        """Explain the rows and compare with their Shapley values."""
        if self.case.explainer is None:
            ours = parse_illume(method)[0] if method.startswith("illume") else "illume"
            self.case.explainer = self.fit(ours).explainer  # it says where log-odds are clipped
        values, standard_errors, costs = explain_rows(self.case, self.ready(method), self.budget_s)
        truth, decisions = self.reference().head(len(values)), self.case.decisions[: len(values)]
        mine, right = (decided_class(each, decisions) for each in (values, truth.values))
        figures = errors(values, truth) | agreement(mine, right) | query_scores(self.case, mine)
        if standard_errors is not None:
            figures["coverage"] = coverage(values, standard_errors, truth)
            ratios = stated_over_true(standard_errors, values, truth)
            low, high = CALIBRATED
            figures["calibrated"] = float(((low <= ratios) & (ratios <= high)).mean())
        known = {name: None if math.isnan(value) else value for name, value in figures.items()}
        return costs | known | self.reference().facts()

    def null(self, method: str) -> Line:
        """Add a random number and a random category that the model never sees, and explain."""
        name, refine = parse_illume(method)
        case, rng = self.case, np.random.default_rng([self.case.problem.seed, 17])
        train, test = (add_null_features(part, rng) for part in (case.problem.train, case.test))
        if ("null", name) not in self._fits:
            background = train.iloc[case.behind].reset_index(drop=True)
            self._fits["null", name] = fit_illume(case, name, train=train, background=background)
        fitted = self._fits["null", name]
        number, category = null_shares(explain_illume(fitted.explainer, test, refine)[0], 2)
        return {"null_number": number, "null_category": category, "fit_s": fitted.seconds}

    def seeds(self, method: str) -> Line:
        """Fit with two seeds and compare the explanations."""
        name, refine = parse_illume(method)
        explainers = [self.fit(name, seed).explainer for seed in (0, 1)]
        found = [explain_illume(each, self.case.test, refine) for each in explainers]
        decisions = self.case.decisions
        decided = [decided_class(values, decisions) for values, _ in found]
        figures = similarity(*(values for values, _ in found)) | {"same_reasons": same_reasons(*decided)}
        errors = [np.abs(decided_class(each, decisions)) for _, each in found if each is not None]
        if len(errors) == len(decided):
            explanations = list(zip(decided, errors, strict=True))
            figures["same_or_tied_reasons"] = same_or_tied_reasons(explanations)
        return figures

    def ready(self, method: str) -> Ready:
        if not method.startswith("illume"):
            return make_ready(self.case, method)
        name, refine = parse_illume(method)
        fitted = self.fit(name)

        def explain(rows: np.ndarray) -> Values:
            frame = self.case.test.iloc[rows].reset_index(drop=True)
            return explain_illume(fitted.explainer, frame, refine)

        costs = fitted.seconds, fitted.queries, fitted.processor_seconds
        return Ready(explain, True, *costs, SETTINGS[name] | {"refine": refine})

    def fit(self, name: str, seed: int = 0) -> Fit:
        """Return a fitted explainer, which methods that differ in refinement share."""
        if (name, seed) not in self._fits:
            self._fits[name, seed] = fit_illume(self.case, name, seed)
        return self._fits[name, seed]

    def reference(self) -> Reference:
        if self._reference is None:
            self._reference = load_reference(self.case, self.noise, self.most_queries)
        return self._reference


def explain_rows(
    case: Case, ready: Ready, budget_s: float, *, chunk: int = CHUNK, least_rows: int = LEAST_ROWS
) -> tuple[FloatArray, FloatArray | None, Line]:
    """Explain the rows of a case until the time is up, then many rows if the method is fast.

    Returns the contributions of the first rows, their standard errors, and costs.
    """
    n, before, start = len(case.X), case.counting.queries, time.perf_counter()
    parts: list[Values] = []
    done = 0
    while done < n:
        step = n if ready.at_once else chunk
        parts.append(ready.explain(np.arange(done, min(n, done + step))))
        done = min(n, done + step)
        if time.perf_counter() - start > budget_s and done >= min(n, least_rows):
            break
    seconds, queries = time.perf_counter() - start, case.counting.queries - before
    many_s, timed = _time_many_rows(ready, n, done, seconds)
    errors = [error for _, error in parts if error is not None]
    costs = {
        "rows_explained": done,
        "fit_s": ready.fit_s,
        "fit_processor_s": ready.fit_processor_s,
        "fit_asks": ready.fit_queries,
        "explain_s": seconds,
        "many_rows": MANY_ROWS,
        "many_s": many_s,
        "many_extrapolated": timed < MANY_ROWS,
        "asks_per_row": queries / done,
        "setting": ready.setting,
    }
    values = np.concatenate([part for part, _ in parts])
    return values, np.concatenate(errors) if errors else None, costs


def _time_many_rows(ready: Ready, n: int, done: int, seconds: float) -> tuple[float, int]:
    """Return the seconds of many rows, and on how many rows they were timed."""
    rows = done
    for wanted in (MANY_ROWS // 10, MANY_ROWS):
        if ready.at_once and rows < wanted and seconds / rows * wanted <= MANY_S:
            start = time.perf_counter()
            ready.explain(np.arange(wanted) % n)
            seconds, rows = time.perf_counter() - start, wanted
    return seconds / rows * MANY_ROWS, rows


def add_null_features(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add a random number and a random category of five levels."""
    level = pd.Categorical.from_codes(rng.integers(LEVELS, size=len(frame)), [f"l{i}" for i in range(LEVELS)])
    return frame.assign(random_number=rng.standard_normal(len(frame)), random_level=level)

"""illume with its default settings."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import Outcome, bind_categories, explained_classes, fixed_class, select_class
from illume import Explainer
from illume._typing import FloatArray, IntArray
from illume.metrics import Boxes, macro_f1


def illume(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Explain with the library's default, or with some of its options changed."""
    options = {name: value for name, value in setting.items() if name != "train_rows"}
    options.setdefault("contributions", "pullback")  # as in the paper
    n_rows = setting.get("train_rows", len(problem.train))
    some = np.random.default_rng(problem.seed).permutation(len(problem.train))[:n_rows]
    start = time.perf_counter()
    explainer = Explainer(
        problem.frame_model, device=device, random_state=problem.seed, verbose=False, **options
    )
    explainer.fit(problem.train.iloc[np.sort(some)])
    outcome = Outcome(np.arange(len(problem.test)), fit_s=time.perf_counter() - start)
    start = time.perf_counter()
    found = explainer(problem.test)
    outcome.explain_s = time.perf_counter() - start
    outcome.slopes, outcome.contributions = attributions(found, problem, explained_classes(problem))
    outcome.slopes_of_one, outcome.contributions_of_one = attributions(found, problem, fixed_class(problem))
    decisions, mine = found.decisions, found.surrogate_decisions
    outcome.figures = {
        "lr.agreement": float(found.agreed.mean()),
        "lr.f1": macro_f1(decisions, mine),
        "lr.validation": validation_agreement(explainer),
        "lr.faithful": float(found.faithful.mean()),
        "lr.fell_back": float(explainer.fit_latents().quality_.surrogate.fell_back),
    }
    start = time.perf_counter()
    explainer.fit_rules()
    outcome.figures["dt.fit_s"] = time.perf_counter() - start
    start = time.perf_counter()
    rules, raw = explainer.rules(problem.test), explainer.rules(problem.test, polish=False)
    outcome.figures["dt.explain_s"] = (time.perf_counter() - start) / 2
    outcome.figures["dt.agreement"] = float(rules.refinement.agreed.mean())
    outcome.figures["dt.local"] = float(rules.source == "local")
    outcome.rules, outcome.raw_rules = bounds(rules.bounds, problem), bounds(raw.bounds, problem)
    if problem.truth is not None and problem.truth.kind == "box":
        counter = explainer.counterfactuals(problem.test, n=1)
        outcome.counterfactual_rules = bounds(counter.rules.bounds, problem)
    return outcome


def validation_agreement(explainer: Explainer) -> float:
    """Return the surrogate's agreement on validation rows."""
    fitted = explainer.fitted_
    rows = fitted.rows.validation
    return float(np.mean(fitted.pair.answers(rows.X).argmax(1) == rows.P.argmax(1)))


def attributions(found: Any, problem: Problem, classes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes per encoded column and contributions per feature, of a class for each row."""
    slopes, values = found.slopes_per_unit, found.values
    slopes, values = (a[:, None] if a.ndim == 2 else np.swapaxes(a, 1, 2) for a in (slopes, values))
    position = {name: j for j, name in enumerate(found.input_names)}
    per_column = np.zeros((len(classes), len(problem.encoding.columns)))
    mine = select_class(slopes, classes)
    for j, name in enumerate(problem.encoding.columns):
        if name in position:
            per_column[:, j] = mine[:, position[name]] * problem.encoding.scale[j]
    return per_column, select_class(values, classes)


def bounds(found: Any, problem: Problem) -> Boxes:
    """Return rules as bounds on encoded columns."""
    encoding = problem.encoding
    low = np.full((len(found), len(encoding.columns)), -np.inf)
    high = np.full_like(low, np.inf)
    for j, feature in enumerate(found.features):
        columns = np.flatnonzero(encoding.owner == j)
        if not encoding.onehot[columns[0]]:
            mean, scale = encoding.mean[columns[0]], encoding.scale[columns[0]]
            low[:, columns[0]] = (found.low[:, j] - mean) / scale
            high[:, columns[0]] = (found.high[:, j] - mean) / scale
            continue
        allowed = _allowed(found, j, [encoding.columns[c] for c in columns], feature.name)
        bind_categories(low, high, columns, allowed)
    return Boxes(low, high)


def _allowed(found: Any, j: int, columns: list[str], name: str) -> np.ndarray:
    """Return which columns of a feature each rule allows; a category not seen in fit is allowed."""
    labels = found.features[j].labels
    start = found.first[j]
    position = {f"{name} = {label}": start + k for k, label in enumerate(labels)}
    allowed = np.ones((len(found), len(columns)), dtype=bool)
    for k, column in enumerate(columns):
        if column in position and found.first[j + 1] > start:
            allowed[:, k] = found.allowed[:, position[column]]
    return allowed

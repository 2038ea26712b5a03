"""Agreement, rules and counterfactuals of illume, beside Anchor and DiCE on the same model and rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data.real import REAL, lightgbm_problem
from benchmarks.harness import Cell, Line
from benchmarks.packages import (
    Formula,
    MeteredModel,
    anchor_explainer,
    dice_explainer,
    no_warnings,
    seed_generators,
    short_training,
)
from benchmarks.surrogate import measure
from illume import Explainer
from illume.encoders.options import STEADINESS

MOST_ROWS = 1_000  # explained by illume


def agreement(
    data: tuple[str, ...] = REAL,
    models: tuple[str, ...] = ("xgboost", "lightgbm"),
    seeds: int = 1,
    effort: str = "standard",
    steadiness: tuple[float, ...] = (STEADINESS,),
) -> Iterator[Cell]:
    """Measure how well the latent surrogate follows boosted trees on held-out rows, and how steady it is.

    Data sets are split 75/25, models have 100 trees. The surrogate learns from the answers of the model's
    twin.
    """
    for name, kind, seed, steady in product(data, models, range(seeds), steadiness):
        settings = {"data": name, "model": kind, "seed": seed, "effort": effort, "steadiness": steady}
        yield Cell(settings, partial(measure, name, kind, seed, effort, steady))


def rule_speed(rows: int = 10_000, features: int = 30, latents: int = 8) -> Iterator[Cell]:
    """Measure rules and counterfactuals a second, without the time of the black box."""
    settings = {"rows": rows, "features": features, "latents": latents}
    yield Cell(settings, partial(_rule_speed, **settings))


def _rule_speed(rows: int, features: int, latents: int) -> Line:
    import torch

    rng, model = np.random.default_rng(0), MeteredModel(Formula(), (0, 1))
    explainer = Explainer(model, surrogate_options=short_training(latents, max_epochs=10), verbose=False)
    explainer.fit(rng.normal(size=(10_000, features))).fit_rules()
    X = rng.normal(size=(rows, features))
    explainer.rules(X[:500])
    explainer.counterfactuals(X[:500], n=1)

    def own_seconds(call: Callable[[], object], times: int = 3) -> float:
        found = []
        for _ in range(times):
            start, before = time.perf_counter(), model.seconds
            call()
            found.append(time.perf_counter() - start - (model.seconds - before))
        return float(np.median(found))

    rules = own_seconds(lambda: explainer.rules(X))
    raw = own_seconds(lambda: explainer.rules(X, polish=False))
    before = model.seconds
    found = own_seconds(lambda: explainer.counterfactuals(X, n=1), times=2)
    return {
        "source": explainer.rule_quality_.source,
        "rules_per_second": rows / rules,
        "raw_rules_per_second": rows / raw,
        "counterfactuals_per_second": rows / found,
        "black_box_seconds_of_counterfactuals": (model.seconds - before) / 2,
        "leaves": explainer.rule_quality_.n_leaves,
        "threads": torch.get_num_threads(),
    }


def rule_precision(
    data: tuple[str, ...] = ("breast", "adult", "spam"), seed: int = 0, anchors: int = 50
) -> Iterator[Cell]:
    """Measure the precision and coverage of rules on held-out rows, beside Anchor's for the first rows.

    A rule is measured on the test rows other than its own. anchors: rows to explain with Anchor, 0 for none.
    """
    for name in data:
        yield Cell(
            {"data": name, "seed": seed, "n_compared": anchors}, partial(_precision, name, seed, anchors)
        )


def _precision(name: str, seed: int, anchors: int) -> Line:
    train, test, _, model = lightgbm_problem(name, seed)
    explainer = Explainer(model, random_state=seed, verbose=False).fit(train).fit_rules()
    decisions = model.predict_proba(test).argmax(1)
    many, few, quality = min(MOST_ROWS, len(test)), min(anchors, len(test)), explainer.rule_quality_
    found = {"n_rules": many} | rule_figures(explainer, test, decisions, many)
    found |= {"source": quality.source, "reported_precision": quality.precision}
    found["reported_coverage"] = quality.coverage
    if few:
        ours = rule_figures(explainer, test, decisions, few)
        theirs = anchor_figures(model, train, test, decisions, few)
        found |= {f"compared_{key}": value for key, value in ours.items()}
        found |= {f"anchor_{key}": value for key, value in theirs.items()}
    return found


def coverage_figures(covers: np.ndarray, decisions: np.ndarray) -> Line:
    """Return mean precision and coverage of rules (n, N), made for the first n of N rows."""
    covers = covers.copy()
    covers[np.arange(len(covers)), np.arange(len(covers))] = False
    n = covers.sum(1)
    right = (covers & (decisions == decisions[: len(covers), None])).sum(1)
    known = n > 0
    return {
        "precision": float((right[known] / n[known]).mean()),
        "coverage": float(n.mean() / (covers.shape[1] - 1)),
        "covering": float(known.mean()),
    }


def rule_figures(explainer: Explainer, test: pd.DataFrame, decisions: np.ndarray, n: int) -> Line:
    start = time.perf_counter()
    rules = explainer.rules(test.head(n))
    seconds = time.perf_counter() - start
    covers = np.array([rule.covers(test) for rule in rules])
    figures = {"conditions": float(rules.n_conditions.mean()), "rows_per_second": n / seconds}
    return coverage_figures(covers, decisions) | figures


def anchor_figures(
    model: Any, train: pd.DataFrame, test: pd.DataFrame, decisions: np.ndarray, n: int
) -> Line:
    text = [c for c in train if isinstance(train[c].dtype, pd.CategoricalDtype)]

    def to_array(frame: pd.DataFrame) -> np.ndarray:
        return np.column_stack([frame[c].cat.codes if c in text else frame[c] for c in frame]).astype(float)

    def decide(array: np.ndarray) -> np.ndarray:
        columns = {}
        for column, (name, dtype) in zip(np.atleast_2d(array).T, train.dtypes.items(), strict=True):
            coded = name in text
            columns[name] = pd.Categorical.from_codes(column.astype(int), dtype=dtype) if coded else column
        return model.predict_proba(pd.DataFrame(columns)).argmax(1)

    names = {j: [str(v) for v in train[c].cat.categories] for j, c in enumerate(train) if c in text}
    explainer = anchor_explainer(model.classes_, list(train), to_array(train), names)
    seed_generators()
    rows = to_array(test)
    grid = explainer.disc.discretize(rows)
    covers, lengths, seconds = [], [], 0.0
    for row in rows[:n]:
        start = time.perf_counter()
        found = explainer.explain_instance(row, decide, threshold=0.95)
        seconds += time.perf_counter() - start
        inside, conditions = np.ones(len(grid), dtype=bool), found.exp_map["conditions"]
        for f, kind, value in conditions:
            inside &= {"eq": grid[:, f] == value, "leq": grid[:, f] <= value, "geq": grid[:, f] > value}[kind]
        covers.append(inside)
        lengths.append(len({f for f, _, _ in conditions}))
    figures = {"conditions": float(np.mean(lengths)), "rows_per_second": n / seconds}
    return coverage_figures(np.array(covers), decisions) | figures


def counterfactuals(
    data: tuple[str, ...] = ("adult", "german"), seed: int = 0, rows: int = 200
) -> Iterator[Cell]:
    """Measure validity, changed features and speed of counterfactuals, beside DiCE on the first rows."""
    for name in data:
        for n in (1, 3):
            settings = {"data": name, "seed": seed, "n": n, "n_compared": rows}
            yield Cell(settings, partial(_counterfactuals, name, seed, n, rows))


def _counterfactuals(name: str, seed: int, n: int, rows: int) -> Line:
    train, test, labels, model = lightgbm_problem(name, seed)
    explainer = Explainer(model, random_state=seed, verbose=False).fit(train).fit_rules()
    explainer.counterfactuals(test.head(20))
    found = {"n_rows": min(MOST_ROWS, len(test))}
    found |= counterfactual_figures(explainer, model, test.head(MOST_ROWS), 1)
    few = counterfactual_figures(explainer, model, test.head(rows), n)
    with no_warnings():
        theirs = dice_figures(model, train, labels, test.head(rows), n)
    found |= {f"compared_{key}": value for key, value in few.items()}
    found |= {f"dice_{key}": value for key, value in theirs.items()}
    return found | {"times_as_fast": few["rows_per_second"] / theirs["rows_per_second"]}


def count_changes(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
    """Return the number of features that differ in each row."""
    before, after = before.reset_index(drop=True), after.reset_index(drop=True)
    differs = np.zeros(len(before), dtype=int)
    for name in before:
        if isinstance(before[name].dtype, pd.CategoricalDtype):
            differs += (before[name].astype(str) != after[name].astype(str)).to_numpy()
        else:
            a, b = before[name].to_numpy(float), after[name].astype(float).to_numpy()
            differs += ~np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
    return differs


def counterfactual_figures(explainer: Explainer, model: Any, rows: pd.DataFrame, n: int) -> Line:
    start = time.perf_counter()
    found = explainer.counterfactuals(rows, n=n)
    seconds = time.perf_counter() - start
    owner = rows.iloc[found.row]
    valid = model.predict(found.examples) != model.predict(owner) if len(found.row) else np.empty(0)
    changes = count_changes(owner, found.examples)
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


def dice_figures(model: Any, train: pd.DataFrame, labels: pd.Series, rows: pd.DataFrame, n: int) -> Line:
    """Return the figures of DiCE's random method."""
    categories = {c: train[c].cat.categories for c in train.select_dtypes("category")}
    numbers = [c for c in train if c not in categories]

    class TextModel:
        """DiCE passes strings; the model needs its own categories."""

        classes_ = np.array([0, 1])

        def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
            typed = {c: frame[c].astype(float) for c in numbers}
            for c, levels in categories.items():
                codes = pd.Index(levels.astype(str)).get_indexer(frame[c].astype(str))
                typed[c] = pd.Categorical.from_codes(codes, levels)
            return model.predict_proba(pd.DataFrame(typed)[list(train)])

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return self.predict_proba(frame).argmax(1)

    plain, queries = (part.astype(dict.fromkeys(categories, str)) for part in (train, rows))
    wrapped = TextModel()
    explain = dice_explainer(wrapped, plain, numbers, (labels == model.classes_[1]).astype(int).to_numpy())
    changes, found, valid, seconds = [], 0, [], 0.0
    for i in range(len(rows)):
        query, start = queries.iloc[[i]], time.perf_counter()
        try:
            (examples,) = explain(query, n)
        except Exception:  # DiCE raises many kinds of error if it finds nothing
            examples = None
        seconds += time.perf_counter() - start
        if examples is not None and len(examples):
            found += 1
            valid += (wrapped.predict(examples) != wrapped.predict(query)[0]).tolist()
            changes += count_changes(pd.concat([rows.iloc[[i]]] * len(examples)), examples).tolist()
    return {
        "validity": float(np.mean(valid)),
        "found": found / len(rows),
        "median_changes": float(np.median(changes)),
        "mean_changes": float(np.mean(changes)),
        "rows_per_second": len(rows) / seconds,
    }

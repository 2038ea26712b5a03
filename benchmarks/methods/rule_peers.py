"""LORE and Anchor, from their own packages."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import Outcome
from illume.metrics import Boxes

ROWS = 30


def lore(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """LORE with its genetic neighbourhood; all encoded columns are numbers to it."""
    from lore_sa.bbox import AbstractBBox
    from lore_sa.dataset import TabularDataset
    from lore_sa.lore import TabularGeneticGeneratorLore

    class Asked(AbstractBBox):
        """The black box as the package wants it."""

        def __init__(self) -> None:
            pass

        def predict(self, rows: Any) -> Any:
            P = problem.model.predict_proba(np.asarray(rows, dtype=float))
            return np.array(problem.classes)[P.argmax(1)]

        def predict_proba(self, rows: Any) -> Any:
            return problem.model.predict_proba(np.asarray(rows, dtype=float))

    names = [f"x{j}" for j in range(problem.X_train.shape[1])]
    frame = pd.DataFrame(problem.X_train, columns=names)
    frame["target"] = Asked().predict(problem.X_train)
    rows = _rows(problem, setting)
    start = time.perf_counter()
    _seed(problem.seed)
    explainer = TabularGeneticGeneratorLore(Asked(), TabularDataset(frame, class_name="target"))
    ready = time.perf_counter()
    low, high = _open(len(rows), len(names))
    counter = _open(len(rows), len(names))
    for i, x in enumerate(problem.X_test[rows]):
        _seed(problem.seed)
        found = explainer.explain(x, num_instances=setting["samples"])
        _write(found["rule"]["premises"], low[i], high[i])
        if found["counterfactuals"]:
            _write(found["counterfactuals"][0]["premises"], counter[0][i], counter[1][i])
    done = time.perf_counter()
    return Outcome(
        rows,
        rules=Boxes(low, high),
        counterfactual_rules=Boxes(*counter),
        fit_s=ready - start,
        explain_s=done - ready,
    )


def _write(premise: list[dict[str, Any]], low: np.ndarray, high: np.ndarray) -> None:
    """Note the conditions of one rule as bounds."""
    for condition in premise:
        j, value = int(condition["attr"][1:]), float(condition["val"])
        if condition["op"] in (">", ">=", "="):
            low[j] = max(low[j], value)
        if condition["op"] in ("<", "<=", "="):
            high[j] = min(high[j], value)


def anchor(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """Anchor on numbers cut at their quartiles and on 0/1 columns."""
    onehot = problem.encoding.onehot
    categories = {int(j): ["0", "1"] for j in np.flatnonzero(onehot)}
    columns = list(problem.encoding.columns)
    rows = _rows(problem, setting)
    start = time.perf_counter()
    explainer = recording_anchor()(list(problem.classes), columns, problem.X_train, categories)
    ready = time.perf_counter()
    low, high = _open(len(rows), len(columns))
    for i, x in enumerate(problem.X_test[rows]):
        _seed(problem.seed)
        found = explainer.explain_instance(
            x,
            lambda array: problem.model.predict_proba(np.atleast_2d(array)).argmax(1),
            threshold=0.95,
            batch_size=setting.get("batch", 100),
            beam_size=setting.get("beam", 4),
        )
        for j, kind, value in found.exp_map["conditions"]:
            below, above = (0.5, 0.5) if onehot[j] else _edges(explainer.disc, j, int(value))
            if kind == "geq":
                low[i, j] = max(low[i, j], above)
            elif kind == "leq":
                high[i, j] = min(high[i, j], above)
            elif onehot[j]:
                low[i, j], high[i, j] = (0.5, np.inf) if value else (-np.inf, 0.5)
            else:
                low[i, j], high[i, j] = max(low[i, j], below), min(high[i, j], above)
    seconds = time.perf_counter() - ready
    return Outcome(rows, rules=Boxes(low, high), fit_s=ready - start, explain_s=seconds)


def recording_anchor() -> Any:
    """Return Anchor's explainer, made to keep an anchor's conditions as they were found, not only as text."""
    from anchor import anchor_tabular

    class Recording(anchor_tabular.AnchorTabularExplainer):
        """Notes the conditions under a key of their own."""

        def add_names_to_exp(self, data_row: Any, hoeffding_exp: Any, mapping: Any) -> None:
            hoeffding_exp["conditions"] = [mapping[i] for i in hoeffding_exp["feature"]]
            super().add_names_to_exp(data_row, hoeffding_exp, mapping)

    return Recording


def _edges(discretizer: Any, j: int, part: int) -> tuple[float, float]:
    """Return between which values a part of a number's range lies; the outer ends are open."""
    low, high = discretizer.mins[j], discretizer.maxs[j]
    return (
        float(low[part]) if part > 0 else -np.inf,
        float(high[part]) if part < len(high) - 1 else np.inf,
    )


def _rows(problem: Problem, setting: dict[str, Any]) -> np.ndarray:
    return np.arange(min(setting.get("rows", ROWS), len(problem.X_test)))


def _open(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n, m), -np.inf), np.full((n, m), np.inf)


def _seed(seed: int) -> None:
    """Seed the global generators that both packages draw from."""
    import random

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002

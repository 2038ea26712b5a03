"""From a cell to its figures: contributions against the reference, null features, seeds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.truth import ours, scores, shap_peers, shapiq_peers
from benchmarks.truth.case import Case
from benchmarks.truth.cells import TruthCell
from benchmarks.truth.explaining import Ready, Told, told
from benchmarks.truth.log_odds import library_has_shapley
from benchmarks.truth.ours import Fitted
from benchmarks.truth.reference import MOST_ASKS, NOISE, Reference, reference

SAMPLERS: dict[str, Callable[[Case, str], Ready]] = {
    "shap-tree": shap_peers.tree,
    "shap-kernel": shap_peers.kernel,
    "shap-permutation": shap_peers.permutation,
    "shap-sampling": shap_peers.sampling,
    "shapiq-kernel": shapiq_peers.kernel,
    "shapiq-leverage": shapiq_peers.leverage,
    "lime": shap_peers.lime,
}
LEVELS = 5
OTHER_SEED = 1


@dataclass(frozen=True)
class Limits:
    """How much a run may ask and wait."""

    budget_s: float = 20.0  # of explaining the rows of a cell
    noise: float = NOISE
    most_asks: int = MOST_ASKS


@dataclass(eq=False)
class Bench:
    """The cells of one case, with what they share: fitted explainers and the reference."""

    case: Case
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._fits: dict[tuple[str, int], Fitted] = {}
        self._null_fits: dict[str, Fitted] = {}
        self._reference: Reference | None = None

    def evaluate(self, cell: TruthCell) -> dict[str, Any]:
        """Return the figures of a cell."""
        figures = {"contributions": self.contributions, "null": self.null, "seeds": self.seeds}[cell.kind]
        found = figures(cell.method)
        facts = {"n_features": self.case.X.shape[1], "n_classes": len(self.case.problem.classes)}
        facts |= {"background_rows": len(self.case.B), "load": os.getloadavg()[0]}
        return found | facts

    def contributions(self, method: str) -> dict[str, Any]:
        """Explain the rows and compare with their Shapley values."""
        if self.case.explainer is None and library_has_shapley():
            self.case.explainer = self.fitted("illume").explainer  # it says where log-odds are clipped
        found = told(self.case, self.ready(method), self.limits.budget_s)
        return found.costs | self.compared(found) | {"log_odds": self.case.log_odds_from}

    def compared(self, found: Told) -> dict[str, Any]:
        """Score explained rows."""
        n = len(found.values)
        truth = self.reference().first(n)
        decisions = self.case.decisions[:n]
        mine, right = (scores.of_decided(values, decisions) for values in (found.values, truth.values))
        figures = scores.errors(found.values, truth.halves) | scores.agreement(mine, right)
        figures |= scores.asked(self.case, mine)
        if found.errors is not None:
            figures["coverage"] = scores.coverage(found.values, found.errors, truth.halves)
        known = {name: None if math.isnan(value) else value for name, value in figures.items()}
        return known | self.reference().facts()

    def null(self, method: str) -> dict[str, Any]:
        """Add a random number and a random category that the model never sees, and explain."""
        name, refine = ours.parsed(method)
        case, rng = self.case, np.random.default_rng([self.case.problem.seed, 17])
        train, test = (with_nulls(part, rng) for part in (case.problem.train, case.test))
        if name not in self._null_fits:
            background = train.iloc[case.behind].reset_index(drop=True)
            self._null_fits[name] = ours.fit(case, name, train=train, background=background)
        fitted = self._null_fits[name]
        values = ours.explained(fitted.explainer, test, refine)[0]
        number, category = scores.nulls(values, 2)
        return {"null_number": number, "null_category": category, "fit_s": fitted.seconds}

    def seeds(self, method: str) -> dict[str, Any]:
        """Fit with two seeds and compare what they say."""
        name, refine = ours.parsed(method)
        explainers = [self.fitted(name, seed).explainer for seed in (0, OTHER_SEED)]
        return scores.likeness(
            *(ours.explained(explainer, self.case.test, refine)[0] for explainer in explainers)
        )

    def ready(self, method: str) -> Ready:
        """Make a method ready."""
        base, _, budget = method.partition("@")
        if base in SAMPLERS:
            return SAMPLERS[base](self.case, budget)
        name, refine = ours.parsed(method)
        fitted = self.fitted(name)

        def explain(rows: np.ndarray) -> tuple[Any, Any]:
            frame = self.case.test.iloc[rows].reset_index(drop=True)
            return ours.explained(fitted.explainer, frame, refine)

        setting = ours.SETTINGS[name] | {"refine": refine}
        return Ready(explain, at_once=True, fit_s=fitted.seconds, fit_asks=fitted.asks, setting=setting)

    def fitted(self, name: str, seed: int = 0) -> Fitted:
        """Return a fitted explainer; methods that differ in refinement alone share one."""
        if (name, seed) not in self._fits:
            self._fits[name, seed] = ours.fit(self.case, name, seed=seed)
        return self._fits[name, seed]

    def reference(self) -> Reference:
        """Return the Shapley values of the rows."""
        if self._reference is None:
            limits = self.limits
            self._reference = reference(self.case, noise=limits.noise, most_asks=limits.most_asks)
        return self._reference


def with_nulls(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the rows with a random number and a random category of five levels."""
    level = pd.Categorical.from_codes(rng.integers(LEVELS, size=len(frame)), [f"l{i}" for i in range(LEVELS)])
    return frame.assign(random_number=rng.standard_normal(len(frame)), random_level=level)

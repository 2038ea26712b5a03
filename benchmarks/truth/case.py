"""A model on a data set, with the rows to explain and the rows that stand for features left out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data import REAL, problem, real
from benchmarks.data.problem import FrameModel, Problem
from benchmarks.truth.coding import Coding
from benchmarks.truth.counted import Counted
from benchmarks.truth.log_odds import explains_log_odds, model_log_odds
from illume._typing import FloatArray, IntArray

BACKGROUND_ROWS = 500
PROTOCOL = "clean"
PROBES = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-4])  # probabilities that show where log-odds are clipped


@dataclass(eq=False)
class Case:
    """Everything that all methods share.

    Parameters
    ----------
    problem
        Rows and model.
    n_rows
        So many test rows are explained, drawn by the problem's seed; all where there are fewer.
    explainer
        A fitted explainer of illume that says where log-odds are clipped, where there is one.
    """

    problem: Problem
    n_rows: int = 200
    explainer: Any | None = None

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.problem.seed, 7])
        self.rows: IntArray = np.sort(rng.permutation(len(self.problem.test))[: self.n_rows])
        self.behind: IntArray = np.sort(rng.permutation(len(self.problem.train))[:BACKGROUND_ROWS])
        self.coding = Coding(self.problem.encoding)
        self.counted = Counted(self.problem.model, self.problem.classes)
        frames = FrameModel(self.problem.encoding, self.counted, np.array(self.problem.classes))
        self.frame_model: FrameModel = frames

    @cached_property
    def test(self) -> pd.DataFrame:
        """The rows to explain."""
        return self.problem.test.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def background(self) -> pd.DataFrame:
        """The rows whose values stand for features that are left out."""
        return self.problem.train.iloc[self.behind].reset_index(drop=True)

    @cached_property
    def X(self) -> FloatArray:
        """The rows to explain, coded, (n, features)."""
        return self.coding.codes(self.test)

    @cached_property
    def B(self) -> FloatArray:
        """The background rows, coded."""
        return self.coding.codes(self.background)

    @cached_property
    def P(self) -> FloatArray:
        """The model's probabilities of the rows to explain."""
        return self.problem.model.predict_proba(self.coding.encode(self.X))

    @property
    def decisions(self) -> IntArray:
        """The class that the model decides for, of each row to explain."""
        return self.P.argmax(axis=1)

    def probabilities(self, codes: FloatArray) -> FloatArray:
        """Ask the model about coded rows, and count them."""
        return self.counted.predict_proba(self.coding.encode(np.atleast_2d(codes)))

    def log_odds(self, codes: FloatArray) -> FloatArray:
        """Return what is explained, (n, outputs)."""
        return model_log_odds(self.explainer, self.probabilities(codes))

    @property
    def log_odds_from(self) -> str:
        """Say whose log-odds are explained: illume's own, or those of the benchmark."""
        return "illume" if explains_log_odds(self.explainer) else "benchmark"

    def digest(self) -> str:
        """Return a name for all that decides the Shapley values."""
        key = hashlib.sha256()
        inside = self.problem.model.predict_proba(self.coding.encode(self.B))
        others = (1 - PROBES[:, None]) / (inside.shape[1] - 1)
        edges = np.hstack([PROBES[:, None], np.repeat(others, inside.shape[1] - 1, axis=1)])
        answers = [model_log_odds(self.explainer, P) for P in (self.P, inside, edges, edges[:, ::-1])]
        for part in (self.X, self.B, *answers):
            key.update(np.ascontiguousarray(part.round(9)).tobytes())
        return key.hexdigest()[:12]


def load(data: str, model: str, seed: int) -> Problem:
    """Return the problem of a case; adult is prepared as the paper's data sets are."""
    known = data in REAL or data.startswith("seneca")
    return (problem if known else real.problem)(data, model, seed, PROTOCOL)

"""A model on a data set, with the rows to explain and the background rows that replace missing features."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data import REAL, problem, real
from benchmarks.data.problem import Encoding, FrameModel, Problem
from benchmarks.packages import MeteredModel
from illume._typing import FloatArray, IntArray

BACKGROUND_ROWS = 500
SMALLEST = 1e-6  # probability, where no fitted explainer says where it clips
PROBES = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-4])  # probabilities that reveal where log-odds are clipped


@dataclass(frozen=True, eq=False)
class Coding:
    """Rows with one number for each feature: numbers as they are, categories as positions, (n, features).

    Methods without support for frames get these rows, so that a category is one player and not one per
    column.
    """

    encoding: Encoding

    @cached_property
    def level(self) -> IntArray:
        """The position of each column's category within its feature, (m,)."""
        owner = self.encoding.owner
        return np.arange(len(owner)) - np.searchsorted(owner, owner)

    @property
    def categorical(self) -> list[int]:
        return [j for j, name in enumerate(self.encoding.features) if name in self.encoding.categories]

    def codes(self, frame: pd.DataFrame) -> FloatArray:
        encoded = self.encoding.transform(frame)
        rows = np.full((len(frame), len(self.encoding.features)), -1.0)
        for column, owner in enumerate(self.encoding.owner):
            if self.encoding.onehot[column]:
                rows[encoded[:, column] > 0, owner] = self.level[column]
            else:
                rows[:, owner] = frame[self.encoding.features[owner]].to_numpy(float)
        return rows

    def encode(self, codes: FloatArray) -> FloatArray:
        """Return rows as the model reads them, (n, m)."""
        taken = codes[:, self.encoding.owner]
        scaled = (taken - self.encoding.mean) / self.encoding.scale
        return np.where(self.encoding.onehot, taken == self.level, scaled)


@dataclass(eq=False)
class Case:
    """What methods share: rows, background rows, a counting model, and an explainer that clips log-odds."""

    problem: Problem
    n_rows: int = 200
    explainer: Any | None = None

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.problem.seed, 7])
        self.rows: IntArray = np.sort(rng.permutation(len(self.problem.test))[: self.n_rows])
        self.behind: IntArray = np.sort(rng.permutation(len(self.problem.train))[:BACKGROUND_ROWS])
        self.coding = Coding(self.problem.encoding)
        self.counting = MeteredModel(self.problem.model, self.problem.classes)
        classes = np.array(self.problem.classes)
        self.frame_model = FrameModel(self.problem.encoding, self.counting, classes)
        self.test = self.problem.test.iloc[self.rows].reset_index(drop=True)
        self.background = self.problem.train.iloc[self.behind].reset_index(drop=True)
        self.X, self.B = self.coding.codes(self.test), self.coding.codes(self.background)

    @cached_property
    def P(self) -> FloatArray:
        return self.problem.model.predict_proba(self.coding.encode(self.X))

    @property
    def decisions(self) -> IntArray:
        return self.P.argmax(axis=1)

    def probabilities(self, codes: FloatArray) -> FloatArray:
        return self.counting.predict_proba(self.coding.encode(np.atleast_2d(codes)))

    def log_odds(self, codes: FloatArray) -> FloatArray:
        """Return the function that is explained, (n, outputs)."""
        return log_odds(self.probabilities(codes), self.explainer)

    def digest(self) -> str:
        """Return a hash of all that determines the Shapley values."""
        found = hashlib.sha256()
        inside = self.problem.model.predict_proba(self.coding.encode(self.B))
        others = (1 - PROBES[:, None]) / (inside.shape[1] - 1)
        edges = np.hstack([PROBES[:, None], np.repeat(others, inside.shape[1] - 1, axis=1)])
        answers = [log_odds(P, self.explainer) for P in (self.P, inside, edges, edges[:, ::-1])]
        for part in (self.X, self.B, *answers):
            found.update(np.ascontiguousarray(part.round(9)).tobytes())
        return found.hexdigest()[:12]


def load_problem(data: str, model: str, seed: int) -> Problem:
    """Return a problem under the clean protocol; adult is prepared as the paper's data sets are."""
    known = data in REAL or data.startswith("seneca")
    return (problem if known else real.problem)(data, model, seed, "clean")


def log_odds(P: FloatArray, explainer: Any | None = None) -> FloatArray:
    """Return log-odds, (n, 1) of the second of two classes, or (n, c): log p minus its mean over classes.

    A fitted explainer clips probabilities itself, so that all methods explain the same function.

    >>> log_odds(np.array([[0.5, 0.5], [0.0, 1.0]])).round(2)
    array([[ 0.  ],
           [13.82]])
    """
    if explainer is not None:
        fitted = explainer.fitted_
        scores = fitted.outputs.scores(P) if fitted.twin.exact else fitted.twin.model.scale(P)
        return np.asarray(scores, dtype=float).reshape(len(P), -1)
    logs = np.log(np.clip(P, SMALLEST, 1.0 - SMALLEST))
    return logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)

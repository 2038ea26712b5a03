"""A small problem with a category, and an explainer that knows the right answer."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from benchmarks.data.problem import Encoding, Problem
from benchmarks.truth.case import Case
from benchmarks.truth.coding import Coding
from benchmarks.truth.enumeration import enumerated
from benchmarks.truth.log_odds import model_log_odds

N_TRAIN, N_TEST = 60, 12


class Logistic:
    """Log-odds of the encoded columns: a number, a product of two, and a category of three levels."""

    def predict_proba(self, X):
        score = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2:5] @ [1.0, 0.0, -1.0]
        p = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - p, p])


def frame(n, rng):
    levels = pd.Categorical.from_codes(rng.integers(3, size=n), ["a", "b", "c"])
    return pd.DataFrame({"x": rng.normal(1, 2, n), "y": rng.normal(size=n), "level": levels})


def problem():
    rng = np.random.default_rng(0)
    train, test = frame(N_TRAIN, rng), frame(N_TEST, rng)
    labels = np.zeros(N_TRAIN, dtype=int), np.zeros(N_TEST, dtype=int)
    return Problem(
        "toy", "made", 0, "clean", train, test, *labels, ("0", "1"), Encoding.fit(train), Logistic()
    )


def case(n_rows=10):
    return Case(problem(), n_rows)


class Known:
    """An explainer that enumerates; features that the model does not read get nothing."""

    def __init__(self, model, *, contributions, effort, background=None, **options):
        self.model = model
        self.background = problem().train if background is None else background
        self.bias = 0.5 if contributions == "pullback" else 0.0
        self.shapley_ = SimpleNamespace(log_odds=lambda P: model_log_odds(None, P)[:, 0])

    def fit(self, X):
        self.model.predict_proba(X)
        return self

    def __call__(self, X, refine=0):
        coding = Coding(self.model.encoding)
        read = list(self.model.encoding.features)

        def ask(codes):
            return model_log_odds(None, self.model.model.predict_proba(coding.encode(codes)))

        found = enumerated(ask, coding.codes(X[read]), coding.codes(self.background[read]))[:, :, 0]
        values = np.pad(found, ((0, 0), (0, X.shape[1] - len(read)))) + self.bias
        return SimpleNamespace(values=values, standard_errors=np.full(values.shape, 1e-6))

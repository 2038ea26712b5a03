"""Functions of four columns whose order of importance is known: ssin-2c, int2-3c, int2-8p."""

from __future__ import annotations

import numpy as np

from benchmarks.data import real
from benchmarks.data.problem import Problem, Truth

REFERENCES = {
    "ssin-2c": (4.0, 2.0, 1.0, 0.0),
    "int2-3c": (3.0, 3.0, 1.0, 0.0),
    "int2-8p": (3.0, 3.0, 1.0, 0.0),
}
RANKINGS = tuple(REFERENCES)


def problem(name: str, black_box: str, seed: int, protocol: str) -> Problem:
    """Return the data set with a black box and the paper's reference importances."""
    truth = Truth("ranking", reference=np.array(REFERENCES[name]))
    return real.problem(name, black_box, seed, protocol, truth)

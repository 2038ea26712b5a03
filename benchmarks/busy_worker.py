"""The fit that `benchmarks.busy` times: generated rows with categories, boosted trees, default settings."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

LEVELS = 6


def frame(n: int, m: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of which every third feature is a category, and labels that some of them decide.

    >>> frame(5, 4)[0].dtypes.astype(str).tolist()
    ['float64', 'float64', 'category', 'float64']
    """
    rng = np.random.default_rng(seed)
    columns, score = {}, np.zeros(n)
    for j in range(m):
        weight = rng.normal(size=LEVELS)
        if j % 3 == 2:
            codes = rng.integers(LEVELS, size=n)
            columns[f"x{j}"] = pd.Categorical.from_codes(codes, [f"l{i}" for i in range(LEVELS)])
            score += weight[codes] if j < 12 else 0.0
        else:
            values = rng.standard_normal(n)
            columns[f"x{j}"] = values
            score += weight[0] * np.sin(2 * values) + weight[1] * values if j < 12 else 0.0
    return pd.DataFrame(columns), (score + rng.normal(0, 0.5, n) > 0).astype(int)


def main() -> None:
    """Fit the model, then time the explainer's fit."""
    rows, features = map(int, sys.argv[1:])
    X, y = frame(rows, features)
    model = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype").fit(X, y)
    from illume import Explainer

    start = time.perf_counter()
    Explainer(model, random_state=0, verbose=False).fit(X)
    print(json.dumps({"fit_s": time.perf_counter() - start}))


if __name__ == "__main__":
    main()

"""Small data and short trainings that the tests share."""

import numpy as np
import pandas as pd

from illume import Training

FAST = Training(batch_size=64, learning_rate=5e-3, max_epochs=8, patience=8)


def loans(n, seed=0):
    """Mixed rows: numbers (some missing), whole numbers, a boolean, text."""
    rng = np.random.default_rng(seed)
    income = rng.normal(30, 10, n).round(2)
    income[::17] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": income,
            "owner": rng.random(n) < 0.4,
            "education": rng.choice(["low", "middle", "high"], n),
        }
    )


def linear_black_box(weights):
    """Return a callable NumPy model whose log-odds are a weighted sum."""

    def model(rows):
        return 1 / (1 + np.exp(-np.asarray(rows, dtype=float) @ np.asarray(weights)))

    return model

"""Small data and short trainings that the tests share."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd

from illume import DataOptions, RuleOptions, SurrogateOptions, Training
from illume.explanations.trust_map import TrustMap

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


def use_local(explainer, search="exact"):
    """Explain by the encoder that was trained, even where a short training does not pay."""
    fitted, report = explainer.fitted_, explainer.fitted_.rows.report
    pair = fitted.local
    trust_map = TrustMap.fit(report.X, report.P, pair.probabilities(report.X))
    neighbours = pair.neighbours(fitted.rows.training, search)
    explainer.fitted_ = replace(fitted, pair=pair, neighbours=neighbours, trust_map=trust_map)
    return explainer


def grouped(**settings):
    """Return parameters of an explainer, options by name put into their groups."""
    groups = {
        "surrogate_options": SurrogateOptions,
        "rule_options": RuleOptions,
        "data_options": DataOptions,
    }
    renamed = {"surrogate": "model", "rule_objective": "objective"}
    for group, kind in groups.items():
        known = {field.name for field in fields(kind)}
        known -= {"objective"} if kind is RuleOptions else set()
        known |= (
            {"surrogate"}
            if kind is SurrogateOptions
            else {"rule_objective"}
            if kind is RuleOptions
            else set()
        )
        known -= {"model"}
        found = {renamed.get(name, name): settings.pop(name) for name in known & settings.keys()}
        if found:
            settings[group] = kind(**found)
    return settings

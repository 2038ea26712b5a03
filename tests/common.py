"""Small data and short trainings that the tests share."""

from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from illume import DataOptions, Explainer, RuleOptions, SurrogateOptions, Training
from illume.data.later import Later
from illume.explanations.fitted import LatentTwin
from illume.fit.latent import surrogate_figures
from illume.fit.model_checks import ALONE, FEWEST_ROWS, ROWS
from illume.twin.training_run import Effort, Sizes

CHECKS = FEWEST_ROWS + 3 * ROWS + ALONE  # rows that a fit on 64 rows or more asks about again
FAST = Training(batch_size=128, learning_rate=1e-2, max_epochs=8, patience=8, sparsity_epochs=8)
BRIEF_SIZES = Sizes(n_embedding=8, n_units=32, n_value_units=16, n_steps=30, n_walks=600)
# A row in another batch: on some processors, float32 products round by its place among others.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@contextmanager
def brief_shapley():
    """Train networks of Shapley values for a few steps: all parts are there, though values are far off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Effort, "sizes", lambda *_: BRIEF_SIZES)
        yield


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


def encode_loans(frame):
    """Return rows of `loans` as numbers, one column for each level of education."""
    education = np.asarray(frame["education"], dtype=object)
    levels = [education == level for level in ("high", "low", "middle")]
    return np.column_stack(levels + [np.asarray(frame[name], float) for name in ("age", "income", "owner")])


def linear_black_box(weights):
    """Return a callable NumPy model whose log-odds are a weighted sum."""

    def model(rows):
        return 1 / (1 + np.exp(-np.asarray(rows, dtype=float) @ np.asarray(weights)))

    return model


def use_local(explainer, search="exact"):
    """Explain by the encoder that was trained, even where a short training does not pay."""
    fitted, latent = explainer.fitted_, explainer.fitted_.latents()
    report, pair = fitted.rows.report, latent.local
    answers = replace(latent.answers, Q=pair.answers(report.X))
    quality = replace(latent.quality, fell_back=False, **surrogate_figures(answers, fitted.outputs))
    neighbours = pair.neighbours(fitted.rows.training, fitted.outputs.strata, search)
    latents = Later.known(replace(latent, pair=pair, neighbours=neighbours, answers=answers, quality=quality))
    twin = replace(fitted.twin, latents=latents) if isinstance(fitted.twin, LatentTwin) else fitted.twin
    explainer.fitted_ = replace(fitted, latents=latents, twin=twin, rules=None)
    return explainer


def grouped(**settings):
    """Return parameters of an explainer, options by name put into their groups."""
    for group, kind, renamed in (
        ("surrogate_options", SurrogateOptions, {"model": "surrogate"}),
        ("rule_options", RuleOptions, {"objective": "rule_objective"}),
        ("data_options", DataOptions, {}),
    ):
        names = {renamed.get(field.name, field.name): field.name for field in fields(kind)}
        found = {names[name]: settings.pop(name) for name in names.keys() & settings.keys()}
        if found:
            settings[group] = kind(**found)
    return settings


def global_explainer(model, **settings):
    """Return an explainer that asks no queries and has only the global surrogate."""
    return Explainer(model, **grouped(**{"encoder": "identity", "queries": 0} | settings))

from dataclasses import replace

import numpy as np
import pytest

from illume import Explainer, Objective
from illume.explanations.fitted import SurrogateBlackBox
from tests.common import FAST, grouped, use_local

SPARSE = Objective(lambda_g=1.0, alpha=2, width=16)


QUICK = {"queries": 0, "verbose": False, "training": FAST, "n_latents": 2}
VALUED = {**QUICK, "queries": 2_000, "effort": "quick"}
IDENTITY = {"encoder": "identity", "contributions": "pullback", "verbose": False}
KINDS = {  # the model and rows, and the settings
    "two classes, mixed": ("loans", QUICK),
    "three classes": ("classes", QUICK),
    "sparse, mixed": ("loans", {**QUICK, "objective": SPARSE}),
    "low rank, mixed": ("loans", {**QUICK, "rank": 2}),
    "linear, missing numbers": ("numbers", {**QUICK, "encoder": "linear"}),
    "identity, three classes": ("classes", IDENTITY),
    "Shapley, mixed, an ignored column": ("noisy", {**VALUED, "queries": 7_500}),
    "Shapley, three classes": ("classes", VALUED),
    "Shapley, text alone": ("text", VALUED),
}


@pytest.fixture(scope="session")
def explainers(loan_model, loan_frame, three_class):
    """Explainers of all kinds, each with rows."""

    def by_age(frame):
        return 1 / (1 + np.exp(-(frame["age"].to_numpy(dtype=float) - 48) / 10))

    def by_text(frame):
        return np.where((frame["education"] == "high") ^ frame["owner"], 0.8, 0.3)

    def by_income_and_text(frame):
        return by_text(frame.assign(owner=frame["income"].fillna(30.0) > 30.0))

    data = {
        "loans": (loan_model, loan_frame),
        "classes": three_class,
        "numbers": (by_age, loan_frame[["age", "income"]]),
        "noisy": (
            by_income_and_text,
            loan_frame[["income", "education"]].assign(noise=np.arange(len(loan_frame)) % 9),
        ),
        "text": (by_text, loan_frame[["education", "owner"]]),
    }
    fitted = {}
    for kind, (name, settings) in KINDS.items():
        model, rows = data[name]
        fitted[kind] = use_local(Explainer(model, **grouped(**settings)).fit(rows)), rows
    assert fitted["Shapley, mixed, an ignored column"][0].quality_.ignored
    return fitted


@pytest.fixture(params=KINDS)
def explained(request, explainers):
    """One explainer, its rows, and what it says about them before refinement."""
    explainer, rows = explainers[request.param]
    return explainer, rows, wanted(explainer, rows)


def wanted(explainer, rows):
    from illume.data.frames import as_frame

    encoded = explainer.fitted_.encoding.transform(as_frame(rows))
    X = encoded.X
    pulled = explainer.fitted_.pair.encoder.pull_back(X, explainer.fitted_.pair.surrogate.coef_)
    found = {
        "X": np.where(encoded.imputed[:, explainer.fitted_.encoding.owner], np.nan, X),
        "base_values": explainer.fitted_.pair.surrogate.intercept_,
        "slopes": pulled.slopes,
        "contributions": explainer.fitted_.encoding.gather(pulled.slopes * X[:, None]),
        "log_odds": pulled.Z @ explainer.fitted_.pair.surrogate.coef_.T
        + explainer.fitted_.pair.surrogate.intercept_,
        "latents": pulled.Z,
        "probabilities": explainer.fitted_.pair.surrogate.probabilities(pulled.Z),
    }
    if explainer.fitted_.shapley is None:
        return found
    fitted = explainer.fitted_
    stand_in = SurrogateBlackBox(fitted.encoding, fitted.pair)  # as after loading without a model
    explainer.fitted_ = replace(fitted, black_box=stand_in)
    attributions = explainer(rows)
    values = attributions.values
    return found | {
        "contributions": values[:, None] if values.ndim == 2 else values.swapaxes(1, 2),
        "log_odds": attributions.scores.reshape(len(X), -1),
        "base_values": explainer.fitted_.shapley.base,
    }

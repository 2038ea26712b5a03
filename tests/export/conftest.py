from dataclasses import replace

import numpy as np
import pytest

from illume import Explainer, Objective, SurrogateOptions
from illume.explanations.fitted import SurrogateBlackBox
from tests.common import FAST, grouped, use_local

SPARSE = Objective(lambda_g=1.0, alpha=2, width=16)


@pytest.fixture(scope="session")
def explainers(loan_model, loan_frame, three_class):
    """Explainers of all kinds, each with rows."""
    model, X = three_class
    numbers = loan_frame[["age", "income"]]
    quick = {"queries": 0, "verbose": False, "training": FAST, "n_latents": 2}

    def by_age(frame):
        return 1 / (1 + np.exp(-(frame["age"].to_numpy(dtype=float) - 48) / 10))

    def by_text(frame):
        return np.where((frame["education"] == "high") ^ frame["owner"], 0.8, 0.3)

    def loan_model_and_noise(frame):
        return loan_model.predict_proba(frame.drop(columns="noise"))

    valued = {**quick, "queries": 2_000, "effort": "quick"}
    noisy = loan_frame.assign(noise=np.arange(len(loan_frame)) % 9)
    made = {
        "two classes, mixed": (Explainer(loan_model, **grouped(**quick)), loan_frame),
        "three classes": (Explainer(model, **grouped(**quick)), X),
        "sparse, mixed": (Explainer(loan_model, **grouped(objective=SPARSE, **quick)), loan_frame),
        "low rank, mixed": (Explainer(loan_model, **grouped(rank=2, **quick)), loan_frame),
        "linear, missing numbers": (Explainer(by_age, **grouped(encoder="linear", **quick)), numbers),
        "identity, three classes": (
            Explainer(
                model,
                contributions="pullback",
                verbose=False,
                surrogate_options=SurrogateOptions(encoder="identity"),
            ),
            X,
        ),
        "Shapley, mixed, an ignored column": (
            Explainer(loan_model_and_noise, **grouped(**{**valued, "queries": 16_000})),
            noisy,
        ),
        "Shapley, three classes": (Explainer(model, **grouped(**valued)), X),
        "Shapley, text alone": (Explainer(by_text, **grouped(**valued)), loan_frame[["education", "owner"]]),
    }
    fitted = {name: (use_local(explainer.fit(rows)), rows) for name, (explainer, rows) in made.items()}
    assert fitted["Shapley, mixed, an ignored column"][0].quality_.ignored
    return fitted


KINDS = (
    "two classes, mixed",
    "three classes",
    "sparse, mixed",
    "linear, missing numbers",
    "identity, three classes",
    "Shapley, mixed, an ignored column",
    "Shapley, three classes",
    "Shapley, text alone",
)


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

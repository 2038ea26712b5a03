import numpy as np
import pytest

from illume import Explainer, Objective
from illume.assembly.stand_in import StandIn
from tests.common import FAST

SPARSE = Objective(lambda_g=1.0, alpha=2, width=16)


def explained_locally(explainer):
    """Explain by the encoder that was trained, even where such a short training does not pay."""
    explainer.pair_ = explainer.local_
    explainer.neighbours_ = explainer.pair_.neighbours(explainer.material_.training, "exact")
    return explainer


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
        "two classes, mixed": (Explainer(loan_model, **quick), loan_frame),
        "three classes": (Explainer(model, **quick), X),
        "sparse, mixed": (Explainer(loan_model, objective=SPARSE, **quick), loan_frame),
        "linear, missing numbers": (Explainer(by_age, encoder="linear", **quick), numbers),
        "identity, three classes": (
            Explainer(model, encoder="identity", contributions="pullback", verbose=False),
            X,
        ),
        "Shapley, mixed, an ignored column": (
            Explainer(loan_model_and_noise, **{**valued, "queries": 16_000}),
            noisy,
        ),
        "Shapley, three classes": (Explainer(model, **valued), X),
        "Shapley, text alone": (Explainer(by_text, **valued), loan_frame[["education", "owner"]]),
    }
    fitted = {
        name: (explained_locally(explainer.fit(rows)), rows) for name, (explainer, rows) in made.items()
    }
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

    encoded = explainer.encoding_.transform(as_frame(rows))
    X = encoded.X
    pulled = explainer.pair_.encoder.pull_back(X, explainer.pair_.surrogate.coef_)
    found = {
        "X": np.where(encoded.imputed[:, explainer.encoding_.owner], np.nan, X),
        "base_values": explainer.pair_.surrogate.intercept_,
        "slopes": pulled.slopes,
        "contributions": explainer.encoding_.gather(pulled.slopes * X[:, None]),
        "log_odds": pulled.Z @ explainer.pair_.surrogate.coef_.T + explainer.pair_.surrogate.intercept_,
        "latents": pulled.Z,
        "probabilities": explainer.pair_.surrogate.probabilities(pulled.Z),
    }
    if explainer.shapley_ is None:
        return found
    explainer.black_box_ = StandIn(explainer.encoding_, explainer.pair_)  # as after loading without a model
    attributions = explainer(rows)
    values = attributions.values
    return found | {
        "contributions": values[:, None] if values.ndim == 2 else values.swapaxes(1, 2),
        "log_odds": attributions.scores.reshape(len(X), -1),
        "base_values": explainer.shapley_.base,
    }

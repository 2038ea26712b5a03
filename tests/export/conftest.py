import numpy as np
import pytest

from illume import Explainer, Objective
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

    made = {
        "two classes, mixed": (Explainer(loan_model, **quick), loan_frame),
        "three classes": (Explainer(model, **quick), X),
        "sparse, mixed": (Explainer(loan_model, objective=SPARSE, **quick), loan_frame),
        "linear, missing numbers": (Explainer(by_age, encoder="linear", **quick), numbers),
        "identity, three classes": (Explainer(model, encoder="identity", verbose=False), X),
    }
    return {name: (explained_locally(explainer.fit(rows)), rows) for name, (explainer, rows) in made.items()}


KINDS = (
    "two classes, mixed",
    "three classes",
    "sparse, mixed",
    "linear, missing numbers",
    "identity, three classes",
)


@pytest.fixture(params=KINDS)
def explained(request, explainers):
    """One explainer, its rows, and what it says about them before refinement."""
    explainer, rows = explainers[request.param]
    return explainer, rows, wanted(explainer, rows)


def wanted(explainer, rows):
    from illume.data.frames import as_frame

    X = explainer.encoding_.transform(as_frame(rows)).X
    pulled = explainer.pair_.encoder.pull_back(X, explainer.pair_.surrogate.coef_)
    return {
        "X": X,
        "slopes": pulled.slopes,
        "contributions": explainer.encoding_.gather(pulled.slopes * X[:, None]),
        "log_odds": pulled.Z @ explainer.pair_.surrogate.coef_.T + explainer.pair_.surrogate.intercept_,
        "latents": pulled.Z,
        "probabilities": explainer.pair_.surrogate.probabilities(pulled.Z),
    }

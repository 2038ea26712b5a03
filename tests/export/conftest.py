from dataclasses import replace

import numpy as np
import pytest

from illume import Explainer, Objective
from illume.data.frames import as_frame
from tests.common import FAST, brief_shapley, grouped, use_local

SPARSE = Objective(lambda_g=1.0, alpha=2, width=16)


SHORT = replace(FAST, sparsity_epochs=4)
QUICK = {"queries": 0, "verbose": False, "training": SHORT, "n_latents": 2, "twin": "learned"}
VALUED = {**QUICK, "queries": 2_000, "effort": "quick"}
SHARES = {**VALUED, "scale": "probability"}
IDENTITY = {"encoder": "identity", "contributions": "pullback", "verbose": False}
KINDS = {  # the model and rows, and the settings
    "two classes, mixed": ("loans", QUICK),
    "three classes": ("classes", QUICK),
    "sparse, mixed": ("loans", {**QUICK, "objective": SPARSE}),
    "low rank, mixed": ("loans", {**QUICK, "rank": 2}),
    "linear, missing numbers": ("numbers", {**QUICK, "encoder": "linear"}),
    "identity, three classes": ("classes", IDENTITY),
    "Shapley, mixed, an ignored column": ("noisy", {**VALUED, "encoder": "identity", "queries": 5_000}),
    "Shapley, three classes": ("classes", {**VALUED, "scale": "log-odds"}),
    "Shapley, text alone": ("text", VALUED),
    "Shapley, mixed, probabilities": ("loans", SHARES),
    "Shapley, probabilities of the first class": ("loans", {**SHARES, "positive_class": "grant"}),
    "Shapley, probabilities of three classes": ("classes", SHARES),
    "a number, mixed": ("price", QUICK),
    "Shapley, a number, an ignored column": (
        "price",
        {**VALUED, "encoder": "identity", "queries": 5_000, "output_names": ["price"]},
    ),
    "Shapley, two numbers": ("two", VALUED),
    "Shapley, the logarithm of a number": ("price", {**VALUED, "link": "log"}),
    "the logarithms of two numbers": ("two", {**QUICK, "link": "log"}),
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

    def price(frame):
        return 20_000 + 100_000 * by_text(frame) + 900 * frame["age"].to_numpy(dtype=float)

    def price_and_size(frame):
        return np.stack([price(frame), 3 + by_text(frame) * frame["income"].fillna(30.0).abs()], axis=1)

    data = {
        "price": (price, loan_frame.assign(noise=np.arange(len(loan_frame)) % 9)),
        "two": (price_and_size, loan_frame),
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
        with brief_shapley():
            fitted[kind] = use_local(Explainer(model, **grouped(**settings)).fit(rows)), rows
    assert fitted["Shapley, mixed, an ignored column"][0].quality_.ignored
    return fitted


@pytest.fixture(params=KINDS)
def explained(request, explainers):
    """One explainer, its rows, and what it says about them before refinement."""
    explainer, rows = explainers[request.param]
    return explainer, rows, wanted(explainer, rows)


def wanted(explainer, rows):
    fitted = explainer.fitted_
    encoded, surrogate = fitted.encoding.transform(as_frame(rows)), fitted.pair.surrogate
    X, pulled = encoded.X, fitted.pair.encoder.pull_back(encoded.X, surrogate.coef_)
    outputs = fitted.outputs
    found = {
        "size": outputs.unit.max() if outputs.link == "identity" else 1.0,
        "X": np.where(encoded.imputed[:, fitted.encoding.owner], np.nan, X),
        "base_values": surrogate.intercept_,
        "slopes": pulled.slopes,
        "contributions": fitted.encoding.gather(pulled.slopes * X[:, None]),
        "score": pulled.Z @ surrogate.coef_.T + surrogate.intercept_,
        "latents": pulled.Z,
        "offset": pulled.Z @ surrogate.coef_.T - (pulled.slopes * X[:, None]).sum(2),
        "predictions": surrogate.answers(pulled.Z),
    }
    if fitted.kind == "pullback":
        return found
    shapley, read = fitted.twin.model, fitted.twin.read_encoded(fitted.encoding, X, encoded.imputed)
    values = fitted.twin.values(read, found["predictions"]).values  # as without the model
    # the model's answers, made up, and what Shapley values and scores are with them
    P = made_up(outputs, len(X))

    def score(P):
        scale = shapley.scale
        return outputs.turn_total(scale.center + scale.unit * scale(P))

    def turned(values):
        return outputs.turn(values.swapaxes(1, 2))

    return found | {
        "slopes": outputs.turn(found["slopes"]),
        "contributions": turned(values),
        "score": score(found["predictions"]),
        "offset": np.zeros((len(X), values.shape[2])),
        "base_values": outputs.turn_total(shapley.base_values),
        "model_answers": P,
        "model_contributions": turned(fitted.twin.values(read, P).values),
        "model_score": score(P),
    }


def made_up(outputs, n):
    """Return answers that a model could give."""
    rng, c = np.random.default_rng(0), len(outputs)
    if outputs.task == "regression":
        return rng.lognormal(1.0, 1.0, (n, c)) * outputs.unit
    P = rng.dirichlet(np.ones(c), n)
    P[0] = np.eye(c)[0]
    return P


def assert_close(found, expected, wanted, name="", tolerance=1e-5):
    """Compare numbers, in the units of what the model answers."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * wanted["size"], err_msg=name)

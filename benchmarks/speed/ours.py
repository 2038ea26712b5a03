"""illume: a saved explainer is loaded and explains; fitting it is a cell of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.speed.peers import PEERS, Explain
from benchmarks.speed.problems import N_LATENTS, Asked, Problem

PIECE = 65_536  # more rows than this are explained piece by piece


def attributions(problem: Problem, model: Asked) -> Explain:
    """`explainer(X)`; more than 65,536 rows by `explainer.stream(X)`."""
    explainer = loaded(problem, model)
    return lambda X: explainer(X) if len(X) <= PIECE else [len(piece) for piece in explainer.stream(X)]


def rules(problem: Problem, model: Asked) -> Explain:
    """`explainer.rules(X)`."""
    return loaded(problem, model).rules


def counterfactuals(problem: Problem, model: Asked) -> Explain:
    """`explainer.counterfactuals(X, n=1)`."""
    explainer = loaded(problem, model)
    return lambda X: explainer.counterfactuals(X, n=1)


def predictions(problem: Problem, model: Asked) -> Explain:
    """`model.predict_proba(X)`, the model itself."""
    return model.predict_proba


def loaded(problem: Problem, model: Asked) -> Any:
    """Return the explainer that the cell `fit` has saved."""
    import illume

    if not problem.explainer_path.exists():
        raise FileNotFoundError(f"{problem.explainer_path.name} is not there; run --methods fit first")
    return illume.load(problem.explainer_path, model=model)


def fitted(problem: Problem, model: Asked) -> dict[str, Any]:
    """Fit with default settings but the number of latents, save, and return seconds and quality."""
    import illume

    start = time.perf_counter()
    explainer = illume.Explainer(model, n_latents=N_LATENTS, verbose=False, **shortened(problem.steps))
    explainer.fit(problem.X_train)
    done, asked = time.perf_counter(), model.seconds
    explainer.fit_rules()
    with_rules = time.perf_counter()
    explainer.save(problem.explainer_path)
    quality = explainer.quality_
    return {
        "n_train": len(problem.X_train),
        "n_latents": N_LATENTS,
        "max_steps": problem.steps or None,
        "fit_s": done - start,
        "fit_model_s": asked,
        "fit_rules_s": with_rules - done,
        "agreement": float(quality.agreement),
        "encoder": quality.encoder,
    }


def shortened(steps: int) -> dict[str, Any]:
    """Return options of a fit with no more than so many training steps; 0 changes nothing."""
    from illume.encoders.options import QUICK

    return {"training": replace(QUICK, max_steps=steps), "queries": 500} if steps else {}


METHODS: dict[str, Callable[[Problem, Asked], Explain]] = {
    "illume": attributions,
    "illume-rules": rules,
    "illume-counterfactuals": counterfactuals,
    "model": predictions,
    **PEERS,
}

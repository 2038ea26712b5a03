"""Agreement with the black box before and after refinement, for both surrogates, on test rows."""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.datasets import problem
from benchmarks.records import record
from illume import Explainer

WANTED = ("breast", "german", "compas", "wine", "adult")


def run(name: str, seed: int) -> None:
    """Refine all test rows of one data set."""
    train, test, _, model = problem(name, seed)
    explainer = Explainer(model, random_state=seed, verbose=False).fit(train)
    attributions, rules = explainer(test), explainer.rules(test)
    decided = model.predict_proba(test).argmax(1)
    scores = attributions.scores
    explained = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
    inside = np.array([rule.covers(test.iloc[[i]])[0] for i, rule in enumerate(rules)])
    encoded = explainer.encoding_.transform(explainer._checked(test)).X
    refined = attributions.refinement.refined
    record(
        "refinement",
        data=name,
        seed=seed,
        n_classes=len(explainer.class_names_),
        n_rows=len(test),
        linear_at_once=float(attributions.agreed.mean()),
        linear_after=float((explained == decided).mean()),
        tree_at_once=float(rules.refinement.agreed.mean()),
        tree_after=float(rules.faithful.mean()),
        unfaithful=int((~attributions.faithful).sum() + (~rules.faithful).sum()),
        mean_gamma_w=float(attributions.refinement.gamma_w[refined].mean()) if refined.any() else 0.0,
        mean_gamma_x=float(attributions.refinement.gamma_x[refined].mean()) if refined.any() else 0.0,
        own_rule_holds=float(inside.mean()),
        own_oblique_rule_holds=float(rules.oblique.satisfied(encoded).mean()),
        rule_source=rules.source,
    )


def main() -> None:
    """Run the data sets named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(WANTED))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.data:
        run(name, options.seed)


if __name__ == "__main__":
    main()

"""Rows a second of rules and counterfactuals, and seconds of refinement, the black box apart.

The black box is a callable that costs next to nothing; what it takes is measured and subtracted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from illume.assembly.parts import attribution_assembly, rule_assembly

from benchmarks.records import record
from illume import Explainer, Training
from illume.explanations.decision_regions import LinearRegions, TreeRegions
from illume.explanations.step_search import Refiner, carrier


class CheapBlackBox:
    """Answers from three columns, and keeps the time it takes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities of the second class."""
        start = time.perf_counter()
        answers = 1 / (1 + np.exp(-4 * (rows[:, 0] * rows[:, 1] + rows[:, 2])))
        self.seconds += time.perf_counter() - start
        return answers


def without_black_box(black_box: CheapBlackBox, call: Callable[[], object], times: int = 3) -> float:
    """Return the median seconds of a call, without what the black box takes."""
    found = []
    for _ in range(times):
        start, asked = time.perf_counter(), black_box.seconds
        call()
        found.append(time.perf_counter() - start - (black_box.seconds - asked))
    return float(np.median(found))


def refinement_seconds(explainer: Explainer, X: np.ndarray, tree: bool) -> float:
    """Refine all rows towards the other decision."""
    if tree:
        rules = rule_assembly(explainer).model.rules
        regions, decide, neighbours = TreeRegions(rules.tree, rules.decisions), rules.decide, rules.neighbours
        encoder = rules.encoder
    else:
        parts = attribution_assembly(explainer)
        regions, decide, neighbours = LinearRegions(parts.pair.surrogate), parts._decide, parts.neighbours
        encoder = parts.pair.encoder
    Z = encoder.transform(X)
    wanted = 1 - decide(Z)
    start = time.perf_counter()
    refined = Refiner(carrier(encoder, Z.shape[1]), decide, regions, neighbours)(X, Z, wanted)
    seconds = time.perf_counter() - start
    assert refined.agrees.all()
    return seconds


def main() -> None:
    """Measure one size, 10,000 rows of 30 features by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--latents", type=int, default=8)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    black_box = CheapBlackBox()
    short = Training(batch_size=256, learning_rate=3e-3, max_epochs=10, decay=True)
    explainer = Explainer(black_box, n_latents=options.latents, training=short, verbose=False)
    explainer.fit(rng.normal(size=(10_000, options.features))).fit_rules()
    X = rng.normal(size=(options.rows, options.features))
    explainer.rules(X[:500])
    explainer.counterfactuals(X[:500], n=1)
    rules = without_black_box(black_box, lambda: explainer.rules(X))
    raw = without_black_box(black_box, lambda: explainer.rules(X, polish=False))
    asked = black_box.seconds
    found = without_black_box(black_box, lambda: explainer.counterfactuals(X, n=1), times=2)
    asked = (black_box.seconds - asked) / 2
    encoded = (X - explainer.encoding_.mean) / explainer.encoding_.scale
    record(
        "rule-speed",
        rows=options.rows,
        features=options.features,
        latents=options.latents,
        source=explainer.rule_quality_.source,
        rules_per_second=options.rows / rules,
        raw_rules_per_second=options.rows / raw,
        counterfactuals_per_second=options.rows / found,
        black_box_seconds_of_counterfactuals=asked,
        refinement_seconds_linear=refinement_seconds(explainer, encoded, tree=False),
        refinement_seconds_tree=refinement_seconds(explainer, encoded, tree=True),
        leaves=explainer.rule_quality_.n_leaves,
        threads=torch.get_num_threads(),
    )


if __name__ == "__main__":
    main()

"""When an index pays: exact search and faiss among growing numbers of training rows, in one run."""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.records import record
from illume.explanations.neighbours import ExactSearch, IndexSearch, unit


def main() -> None:
    """Search 10,000 rows among 10,000, 100,000 and 1,000,000."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--latents", type=int, default=8)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(options.rows, options.latents))
    for n in (10_000, 100_000, 1_000_000):
        vectors = unit(rng.normal(size=(n, options.latents)))
        start = time.perf_counter()
        exact = ExactSearch(vectors).nearest(Z)
        exact_seconds = time.perf_counter() - start
        start = time.perf_counter()
        index = IndexSearch(vectors)
        building = time.perf_counter() - start
        start = time.perf_counter()
        near = index.nearest(Z)
        searching = time.perf_counter() - start
        loss = (unit(Z) * (vectors[exact] - vectors[near])).sum(1)
        record(
            "neighbours",
            training_rows=n,
            rows=options.rows,
            latents=options.latents,
            exact_seconds=exact_seconds,
            index_building_seconds=building,
            index_searching_seconds=searching,
            index_finds_the_nearest=float((exact == near).mean()),
            mean_loss_of_cosine=float(loss.mean()),
        )


if __name__ == "__main__":
    main()

"""Whole maps against maps of low rank on wide data: weights, time, and agreement with the black box.

Costs are measured on normal rows, in turns and by processor time. Agreement is that of `illume.Explainer`
with black boxes on generated rows that neither has seen. Whatever is chosen about maps of low rank is chosen
with `--choose`, on seeds of its own; the figures to report are those without it, on other seeds and on two
kinds more, by which nothing was chosen.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from illume.encoders.batches import Model, Rows

from benchmarks.records import record
from benchmarks.throughput import in_turns
from benchmarks.wide_data import CHOOSING, REPORTED, problem
from illume import Explainer
from illume.encoders.base import Head
from illume.encoders.meta import MetaEncoder
from illume.encoders.networks import head
from illume.encoders.options import PRESETS, QUICK
from illume.encoders.training import Trainer
from illume.fit.pairs import Pair
from illume.metrics.fidelity import fidelity

ALIGNED = PRESETS["aligned"]
WHOLE = "whole"


def normal_rows(n: int, m: int) -> Rows:
    """Return normal rows, of which the product of the first two decides."""
    X = torch.randn(n, m, generator=torch.Generator().manual_seed(0))
    p = torch.sigmoid(4 * X[:, 0] * X[:, 1])
    return Rows(X, torch.stack([1 - p, p], 1))


def one_epoch(m: int, rank: int | None, options: argparse.Namespace) -> tuple[Any, MetaEncoder]:
    """Return the training of one epoch of a few steps, to be repeated, and an encoder with its weights."""
    generator = torch.Generator().manual_seed(1)
    rows = normal_rows(options.steps_timed * QUICK.batch_size, m)
    encoder = MetaEncoder(options.latents, rank=rank, objective=ALIGNED)
    bins = encoder._bins(rows.X.double().numpy())
    maps = encoder._network(m, ALIGNED, generator, bins)
    joint = head(options.latents, 2, generator)
    onehot = torch.zeros(m, dtype=torch.bool)
    trainer = Trainer(Model(maps, joint), ALIGNED, QUICK, (rows, rows), onehot=onehot, generator=generator)
    weights = {name: each.detach().numpy().copy() for name, each in maps.state_dict().items()}
    encoder._set(weights, m, m, Head(*(each.detach().numpy() for each in joint.parameters())), bins)
    return trainer._train, encoder


def costs(m: int, options: argparse.Namespace) -> None:
    """Record weights, the time of a step and of a row, of whole maps and of low rank."""
    ranks = {WHOLE: None, "low": options.rank}
    made = {name: one_epoch(m, rank, options) for name, rank in ranks.items()}
    X = np.random.default_rng(0).normal(size=(options.rows_timed, m))
    calls = {f"{name} step": train for name, (train, _) in made.items()}
    for name, (_, encoder) in made.items():
        coef = encoder.head_.coef.astype(np.float64)
        calls[f"{name} row"] = lambda encoder=encoder, coef=coef: explain(encoder, coef, X)
    for call in calls.values():
        call()
    _, work = in_turns(calls, options.rounds)
    for name, (_, encoder) in made.items():
        record(
            "wide",
            part="cost",
            inputs=m,
            latents=options.latents,
            maps=name,
            rank=encoder.rank_,
            weights=sum(each.size for each in encoder.weights_.values()),
            step_processor_ms=1e3 * work[f"{name} step"] / options.steps_timed,
            explained_rows_per_processor_second=len(X) / work[f"{name} row"],
            batch_size=QUICK.batch_size,
            rounds=options.rounds,
            threads=torch.get_num_threads(),
        )


def explain(encoder: MetaEncoder, coef: np.ndarray, X: np.ndarray, chunk: int = 64) -> None:
    """Give all rows their slopes, a few at a time."""
    for i in range(0, len(X), chunk):
        encoder.pull_back(X[i : i + chunk], coef)


def agreement(kind: str, seed: int, model: str, options: argparse.Namespace) -> dict[str, float]:
    """Fit an explainer for every rank, record its agreement on fresh rows, and return it by name of rank."""
    m = options.inputs
    given = problem(kind, seed, m, (options.rows, options.fresh), model)
    found = {}
    for name in options.maps:
        rank = None if name == WHOLE else options.rank
        training = replace(QUICK, max_steps=options.steps)
        start = time.process_time()
        explainer = Explainer(
            given.model,
            rank=rank,
            n_latents=options.latents,
            objective=ALIGNED,
            queries=options.queries,
            training=training,
            categorical=given.categorical,
            device="cpu",
            random_state=options.seed,
            verbose=False,
        ).fit(given.rows)
        seconds = time.process_time() - start
        local, whole = (_fresh(explainer, pair, given) for pair in (explainer.local_, explainer.pair_))
        found[name] = local.agreement
        record(
            "wide",
            part="agreement",
            chosen_by=options.choose,
            kind=kind,
            seed=seed,
            fit_seed=options.seed,
            model=model,
            inputs=m,
            latents=options.latents,
            maps=name,
            rank=getattr(explainer.local_.encoder, "rank_", None),
            steps=options.steps,
            rows=options.rows,
            queries=options.queries,
            agreement=local.agreement,
            r2=local.r2,
            agreement_of_what_is_used=whole.agreement,
            global_report_agreement=explainer.quality_.baseline.agreement,
            fell_back=explainer.quality_.fell_back,
            epochs=len(explainer.history_),
            best_epoch=explainer.history_.best,
            fit_processor_seconds=seconds,
        )
    return found


def _fresh(explainer: Explainer, pair: Pair, given: Any) -> Any:
    """Return the fidelity of a pair on rows that nothing was fitted to."""
    from illume.data.frames import as_frame

    X = explainer.encoding_.transform(as_frame(given.fresh).select(explainer.schema_.names)).X
    return fidelity(given.model.predict_proba(given.fresh), pair.probabilities(X))


def agreements(options: argparse.Namespace) -> None:
    """Fit on all kinds, and print by how much whole maps agree more than low rank does."""
    lost = []
    for kind, seed in CHOOSING if options.choose else REPORTED:
        if options.kinds and kind not in options.kinds:
            continue
        for model in options.models:
            found = agreement(kind, seed, model, options)
            if len(found) > 1:
                lost.append(found[WHOLE] - found["low"])
                print(f"{kind}, {model}: whole maps agree on {lost[-1]:+.4f} more", flush=True)
    if lost:
        print(f"mean of {len(lost)}: {np.mean(lost):+.4f}, largest {max(lost):+.4f}", flush=True)


def main() -> None:
    """Measure costs, or agreements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["cost", "agreement"])
    parser.add_argument("--choose", action="store_true", help="kinds and seeds that may be looked at")
    parser.add_argument("--kinds", nargs="*", default=[], help="some of the kinds; all by default")
    parser.add_argument("--models", nargs="*", default=["boosting", "mlp"])
    parser.add_argument("--maps", nargs="*", default=[WHOLE, "low"], choices=[WHOLE, "low"])
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--latents", type=int, default=4)
    parser.add_argument("--inputs", type=int, default=500)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--fresh", type=int, default=8000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="*", default=[125, 250, 500, 1000, 2000])
    parser.add_argument("--steps-timed", type=int, default=4)
    parser.add_argument("--rows-timed", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.part == "cost":
        for m in options.sizes:
            costs(m, options)
    else:
        agreements(options)


if __name__ == "__main__":
    main()

"""`python -m benchmarks slow`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.records import RESULTS, provenance
from benchmarks.store import append, read
from benchmarks.truth.cells import methods_of, names_of

FILE = RESULTS / "slow.jsonl"
DATA, MODELS = ("adult", "bank"), ("svm", "neighbours")
METHODS = (
    "illume,illume-refine-16,shap-permutation@256,shap-kernel@256,shap-permutation@1024,shap-kernel@1024"
)
KEY = ("data", "model", "method", "rows")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the measurement."""
    parser.add_argument("--data", default="adult", help=f"of {', '.join(DATA)}")
    parser.add_argument("--models", default="", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--rows", type=int, default=10_000, help="to explain")
    parser.add_argument("--training-rows", type=int, default=20_000, help="the more, the slower the models")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="after which a peer explains no more rows"
    )
    parser.add_argument("--reference-asks", type=int, default=0, help="for scores on 25 rows; none without")
    parser.add_argument("--again", choices=("none", "failed", "all"), default="none")
    parser.add_argument("--file", type=Path, default=FILE)


def run(options: argparse.Namespace) -> int:
    """Measure what the file does not have."""
    failed = 0
    for data in names_of(DATA, options.data, "data set"):
        for model in names_of(MODELS, options.models, "model"):
            failed += _model(options, data, model)
    print(f"results: {options.file}; {failed} cells could not be measured")
    return 0


def latest(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a result file; of several for one cell, the last."""
    return list({tuple(line[name] for name in KEY): line for line in read(path)}.values())


def _model(options: argparse.Namespace, data: str, model: str) -> int:
    done = {
        tuple(line[name] for name in KEY)
        for line in latest(options.file)
        if options.again == "none" or (options.again == "failed" and line["error"] is None)
    }
    left = [m for m in methods_of(options.methods) if (data, model, m, options.rows) not in done]
    if not left:
        return 0
    slow, origin, failed = _slow(options, data, model), provenance(), 0
    for method in left:
        named = {"data": data, "model": model, "method": method, "rows": options.rows, "seed": 0}
        try:
            line = slow.evaluate(method) | {"error": None}
        except Exception as error:
            line, failed = (
                {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"},
                failed + 1,
            )
        append(options.file, named | line | origin)
        print(
            " ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in (named | line).items()
            )
        )
    return failed


def _slow(options: argparse.Namespace, data: str, model: str) -> Any:
    from benchmarks.slow.measure import Effort, Slow
    from benchmarks.slow.models import load, rate
    from benchmarks.truth.case import Case

    problem = load(data, model, options.training_rows)
    effort = Effort(
        options.rows, 25 if options.reference_asks else 50, options.seconds, options.reference_asks
    )
    return Slow(Case(problem, effort.peer_rows), effort, rate(problem.model, problem.X_test))

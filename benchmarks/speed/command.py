"""`python -m benchmarks speed` and `python -m benchmarks growth`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.records import RESULTS
from benchmarks.speed.cells import METHODS, MODELS, QUICK, ROWS, Plan, chosen

FILES = {"speed": RESULTS / "speed.jsonl", "growth": RESULTS / "growth.jsonl"}
QUICK_FILES = {"speed": Path("build/quick/speed.jsonl"), "growth": Path("build/quick/growth.jsonl")}


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of one of the two commands."""
    parser.add_argument("--quick", action="store_true", help="a few small cells, under two minutes")
    parser.add_argument("--again", action="store_true", help="measure finished cells again, too")
    parser.add_argument("--threads", type=int, default=2, help="of every process")
    parser.add_argument("--file", type=Path, help=f"of the results; else {FILES[name].name}")
    if name == "growth":
        parser.add_argument("--factors", default="", help="of n, m, k, c")
        return
    parser.add_argument("--methods", default="", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--models", default="", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--features", default="", help="of m8, m30, m100, m500, adult")
    parser.add_argument("--rows", default="", help=f"of {', '.join(map(str, ROWS))}")
    parser.add_argument("--steps", type=int, default=0, help="train illume no longer than this")


def run_speed(options: argparse.Namespace) -> int:
    """Measure what the options ask for."""
    from benchmarks.speed.run import run

    path = options.file or (QUICK_FILES if options.quick else FILES)["speed"]
    failed = run(plan(options), path, again=options.again)
    print(f"results: {path}; {failed} cells could not be measured")
    return 0


def plan(options: argparse.Namespace) -> Plan:
    """Return the cells that the options ask for."""
    base = QUICK if options.quick else Plan(steps=options.steps)
    named = ",".join(
        w if w.startswith("m") or w == "adult" else f"m{w}" for w in options.features.split(",") if w
    )
    rows = chosen(map(str, ROWS if not options.quick else base.rows), options.rows, "number of rows")
    return replace(
        base,
        data=chosen(Plan().data if named else base.data, named, "data set"),
        models=chosen(base.models, options.models, "model"),
        methods=chosen(Plan().methods if options.methods else base.methods, options.methods, "method"),
        rows=tuple(map(int, rows)),
        threads=options.threads,
    )


def run_growth(options: argparse.Namespace) -> int:
    """Measure what the options ask for."""
    from benchmarks.speed.growth import FACTORS, run

    path = options.file or (QUICK_FILES if options.quick else FILES)["growth"]
    factors = chosen(FACTORS, options.factors, "factor")
    failed = run(factors, path, quick=options.quick, again=options.again, threads=options.threads)
    print(f"results: {path}; {failed} points could not be measured")
    return 0

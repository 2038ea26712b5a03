"""`python -m benchmarks NAME [options]`: every measurement, table and check.

`NAME --help` describes one of them and lists its options. Results go to benchmarks/results, with `--quick` to
build/quick; finished cells are skipped.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import harness

COMMANDS = {
    "run": ("evaluation.plans", "run", "cells of the paper's evaluation"),
    "tables": ("evaluation.page", "tables", "tables and page of the evaluation, speed and growth"),
    "figures": ("evaluation.figures", "figures", "figures of the evaluation, speed and growth"),
    "exact": ("exact", "exact", "contributions that are read from the model, on all sets and readers"),
    "exact-speed": ("exact", "exact_speed", "their speed, beside shap and woodelf"),
    "truth": ("truth.cells", "truth", "contributions against the model's Shapley values"),
    "truth-page": ("truth.page", "truth_page", "tables and figures of truth, slow and busy"),
    "regression": (
        "regression.cells",
        "regression",
        "models of numbers: contributions, rules, counterfactuals, speed",
    ),
    "regression-page": ("regression.page", "regression_page", "tables of regression"),
    "speed": ("speed.cells", "speed", "illume and other explainers on the same models and rows"),
    "growth": ("speed.growth", "growth", "cost against rows, columns, latents and classes"),
    "slow": ("slow", "slow", "10,000 rows of models that answer slowly"),
    "busy": ("busy", "busy", "a fit on an idle machine and beside busy processes"),
    "throughput": ("throughput", "throughput", "attributions a second, and the share of the bare products"),
    "commits": ("commits", "commits", "speed of this checkout beside another's, by turns"),
    "memory": ("throughput", "memory", "memory of a fit and of streamed attributions"),
    "agreement": ("quality", "agreement", "agreement and steadiness of the latent surrogate"),
    "rule-speed": ("quality", "rule_speed", "rules and counterfactuals a second"),
    "rule-precision": ("quality", "rule_precision", "precision and coverage of rules, beside Anchor"),
    "counterfactuals": ("quality", "counterfactuals", "validity and changed features, beside DiCE"),
    "engines": ("engines", "engines", "Parquet to Parquet with processes, Ray, Spark and Dask"),
    "covertype": ("engines", "covertype", "all rows of Covertype, Parquet to Parquet"),
    "service-load": ("service", "service_load", "latency of a server at a steady rate"),
    "explorer": ("explorer", "explorer", "the explorer's engine in Node: milliseconds and bytes"),
    "killed-saves": ("crashes", "killed_saves", "kill processes while they save"),
    "mutated-files": ("mutated_files", "mutated_files", "load randomly changed files"),
    "gpu-fit": ("gpu", "gpu_fit", "a whole fit on a GPU"),
}


def main(words: list[str] | None = None) -> int:
    """Run the command that the first word names."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] not in COMMANDS:
        print(__doc__)
        print("\n".join(f"  {name:<16} {about}" for name, (_, _, about) in COMMANDS.items()))
        return 0 if words in ([], ["-h"], ["--help"]) else 2
    name, (module, attribute, _) = words[0], COMMANDS[words[0]]
    function = getattr(import_module(f"benchmarks.{module}"), attribute)
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=inspect.getdoc(function),
        formatter_class=_Formatter,
    )
    harness.add_options(parser, function)
    if not inspect.isgeneratorfunction(function):
        options = parser.parse_args(words[1:])
        return function(**harness.call_options(options, function)) or 0
    parser.add_argument("--again", choices=("none", "failed", "all"), default="none", help="cells to repeat")
    parser.add_argument("--results", type=Path, help="folder of result files")
    parser.add_argument("--list", action="store_true", help="print the cells and whether they are finished")
    options = parser.parse_args(words[1:])
    found = harness.call_options(options, function)
    results = options.results or (harness.QUICK_RESULTS if found.get("quick") else harness.RESULTS)
    if options.list:
        return harness.list_cells(name, function(**found), results)
    workers = found.get("workers", 0)
    return int(harness.run(name, function(**found), results, again=options.again, workers=workers) > 0)


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    pass


if __name__ == "__main__":
    sys.exit(main())

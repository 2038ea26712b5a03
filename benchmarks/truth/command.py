"""`python -m benchmarks truth` and `python -m benchmarks truth-page`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.data.real import VARIABLE
from benchmarks.records import RESULTS
from benchmarks.truth.cells import HELD_OUT_MODEL, KINDS, MODELS, SPLITS, Plan, data_of, methods_of, names_of

FILE = RESULTS / "truth.jsonl"
DOCS = RESULTS.parent.parent / "docs"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the measurement."""
    parser.add_argument("--split", choices=SPLITS, default="development")
    parser.add_argument("--kinds", default="", help=f"of {', '.join(KINDS)}")
    parser.add_argument(
        "--data", default="", help="these and no others, whatever the split; adult, seneca-rc-…"
    )
    parser.add_argument("--models", default="", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--methods", default="", help="illume, illume-refine-64, shap-kernel@256, …")
    parser.add_argument("--rows", type=int, default=200, help="test rows to explain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="after which a slow method explains no more"
    )
    parser.add_argument("--noise", type=float, default=0.002, help="of the reference, share of its variance")
    parser.add_argument(
        "--reference-asks", type=int, default=20_000_000, help="at most, for all rows of a case"
    )
    parser.add_argument("--again", choices=("none", "failed", "all"), default="none")
    parser.add_argument("--file", type=Path, default=FILE)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of tables and pictures."""
    parser.add_argument("--split", choices=SPLITS, default="heldout", help="whose means are shown")
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--out", type=Path, default=DOCS)


def run(options: argparse.Namespace) -> int:
    """Compare contributions with the model's Shapley values."""
    from benchmarks.truth.kinds import Limits
    from benchmarks.truth.run import run as run_cells

    wanted = plan(options)
    if any(not data.startswith("seneca") for data in wanted.data) and not os.environ.get(VARIABLE):
        raise SystemExit(f"these data sets need files; set {VARIABLE} to their folder")
    limits = Limits(options.seconds, options.noise, options.reference_asks)
    failed = run_cells(wanted, options.file, limits, again=options.again)
    print(f"results: {options.file}; {failed} cells could not be measured")
    return 0


def plan(options: argparse.Namespace) -> Plan:
    """Return the cells that the options ask for; the held-out model is not among those of development."""
    development = options.split == "development"
    models = tuple(name for name in MODELS if not development or name != HELD_OUT_MODEL)
    return Plan(
        kinds=names_of(KINDS, options.kinds, "kind"),
        data=data_of(options.split, options.data),
        models=names_of(MODELS if options.models else models, options.models, "model"),
        methods=methods_of(options.methods),
        seed=options.seed,
        rows=options.rows,
    )


def page(options: argparse.Namespace) -> int:
    """Write the tables and draw the pictures of contributions against Shapley values."""
    from benchmarks.truth.pictures import draw
    from benchmarks.truth.tables import render

    images = options.out / "images" / "results"
    for path in [
        *render(options.file, options.out / "tables", options.split),
        *draw(options.file, images, options.split),
    ]:
        print(path)
    return 0

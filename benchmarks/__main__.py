"""The paper's evaluation and the measurements of speed from the command line.

`python -m benchmarks run | list | tables | figures` is the evaluation, `speed | growth | slow | busy` what
things cost, `truth | truth-page` how near contributions come to Shapley values.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cells import PROTOCOLS, Cell
from benchmarks.data.real import VARIABLE
from benchmarks.store import RESULTS, Store

DOCS = Path(__file__).parent.parent / "docs"


def main() -> int:
    """Do what the command line says."""
    options = _parser().parse_args()
    return COMMANDS[options.command](options)


def run(options: argparse.Namespace) -> int:
    """Run the cells of a table that are not finished."""
    from benchmarks.runner import run as run_cells

    store = Store(options.results)
    failed = run_cells(
        _runnable(options), store, workers=options.workers, engine=options.engine, again=options.again
    )
    print(f"results: {store.folder}; {failed} cells failed")
    return 1 if failed else 0


def listed(options: argparse.Namespace) -> int:
    """Print the cells of a table, and whether they are finished."""
    finished = Store(options.results).finished()
    for cell in _cells(options):
        print("done" if cell.key in finished else "open", cell.key)
    return 0


def tables(options: argparse.Namespace) -> int:
    """Render tables and the page of results."""
    from benchmarks import page
    from benchmarks.speed.tables import render as render_speed
    from benchmarks.tables import render

    folder = options.out / "tables"
    for path in [
        *render(options.results, folder, _protocols(options)),
        *render_speed(options.results, folder),
    ]:
        print(path)
    page.write(options.results, options.out / "results.md")
    return 0


def figures(options: argparse.Namespace) -> int:
    """Draw the figures."""
    from benchmarks.figures import draw
    from benchmarks.speed.figures import draw as draw_speed

    folder = options.out / "images" / "results"
    for path in [*draw(options.results, folder, _protocols(options)), *draw_speed(options.results, folder)]:
        print(path)
    return 0


def speed(options: argparse.Namespace) -> int:
    """Time illume and its peers on the same models and rows."""
    from benchmarks.speed import command

    return command.run_speed(options)


def growth(options: argparse.Namespace) -> int:
    """Measure how cost grows with rows, columns, latents and classes."""
    from benchmarks.speed import command

    return command.run_growth(options)


def truth(options: argparse.Namespace) -> int:
    """Compare contributions with the model's Shapley values."""
    from benchmarks.truth import command

    return command.run(options)


def truth_page(options: argparse.Namespace) -> int:
    """Write the tables and draw the pictures of that comparison."""
    from benchmarks.truth import command

    return command.page(options)


def slow(options: argparse.Namespace) -> int:
    """Explain 10,000 rows of models that answer slowly."""
    from benchmarks.slow import command

    return command.run(options)


def busy(options: argparse.Namespace) -> int:
    """Time one fit on an idle machine and beside busy processes."""
    from benchmarks import busy as measurement

    return measurement.run(options)


def _protocols(options: argparse.Namespace) -> tuple[str, ...]:
    return PROTOCOLS if options.protocol == "both" else (options.protocol,)


def _runnable(options: argparse.Namespace) -> list[Cell]:
    """Return the wanted cells; say before any work starts where the data they need are not there."""
    found = _cells(options)
    if os.environ.get(VARIABLE):
        return found
    synthetic = [cell for cell in found if cell.black_box == "truth"]
    missing = f"{len(found) - len(synthetic)} cells need data files; set {VARIABLE} to their folder"
    if len(synthetic) < len(found) and not options.quick:
        raise SystemExit(missing)
    if len(synthetic) < len(found):
        print(f"{missing}. Only the others are run.")
    return synthetic


def _cells(options: argparse.Namespace) -> list[Cell]:
    from benchmarks.plans import QUICK, USUAL, WHOLE, cells

    scope = QUICK if options.quick else WHOLE if options.whole else USUAL
    boxes = tuple(options.black_boxes.split(",")) if options.black_boxes else scope.boxes
    found = cells(options.table, options.protocol, replace(scope, boxes=boxes, seeds=options.seeds))
    if options.methods:
        found = [cell for cell in found if cell.method in options.methods.split(",")]
    if options.data:
        found = [cell for cell in found if cell.data.startswith(tuple(options.data.split(",")))]
    return found


def _parser() -> argparse.ArgumentParser:
    from benchmarks.plans import TABLES
    from benchmarks.speed.command import add_options

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("speed", "growth"):
        add_options(commands.add_parser(name, help=COMMANDS[name].__doc__), name)
    _add_truth(commands)
    for name in ("run", "list"):
        command = commands.add_parser(name, help={"run": run, "list": listed}[name].__doc__)
        command.add_argument("--table", choices=TABLES, default="all")
        command.add_argument("--protocol", choices=PROTOCOLS, default="clean")
        command.add_argument("--quick", action="store_true", help="a few small cells of each table")
        command.add_argument("--whole", action="store_true", help="all settings that the paper tries")
        command.add_argument("--black-boxes", default="", help="of xgb, lgb, ctb, forest, svm, mlp")
        command.add_argument("--seeds", type=int, default=1, help="how many seeds, from 0")
        command.add_argument("--methods", default="", help="only these, separated by commas")
        command.add_argument("--data", default="", help="only data whose names start like this")
        command.add_argument("--again", choices=("none", "failed", "all"), default="none")
        command.add_argument("--workers", type=int, default=1, help="processes, of one thread each")
        command.add_argument("--engine", choices=("processes", "ray"), default="processes")
        command.add_argument("--results", type=Path, default=RESULTS)
    for name in ("tables", "figures"):
        command = commands.add_parser(name, help={"tables": tables, "figures": figures}[name].__doc__)
        command.add_argument("--protocol", choices=(*PROTOCOLS, "both"), default="both")
        command.add_argument("--results", type=Path, default=RESULTS)
        command.add_argument("--out", type=Path, default=DOCS)
    return parser


def _add_truth(commands: Any) -> None:
    """Add the commands that bring options of their own."""
    from benchmarks.busy import add_options as add_busy
    from benchmarks.slow.command import add_options as add_slow
    from benchmarks.truth.command import add_options, add_page_options

    added = {"truth": add_options, "truth-page": add_page_options, "slow": add_slow, "busy": add_busy}
    for name, add in added.items():
        add(commands.add_parser(name, help=COMMANDS[name].__doc__))


COMMANDS = {
    "run": run,
    "list": listed,
    "tables": tables,
    "figures": figures,
    "speed": speed,
    "growth": growth,
    "truth": truth,
    "truth-page": truth_page,
    "slow": slow,
    "busy": busy,
}


if __name__ == "__main__":
    sys.exit(main())

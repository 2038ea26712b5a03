"""The cells behind each table of the paper's evaluation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Literal

from benchmarks.data import FAMILIES
from benchmarks.data.real import VARIABLE
from benchmarks.harness import Cell, Line, key

Methods = list[tuple[str, Line]]
Pairs = tuple[tuple[str, str], ...]  # an objective and a variant of it
Protocol = Literal["clean", "paper"]

NAMES = ("data", "black_box", "method", "setting", "seed", "protocol")  # that identify a cell
LIME_SAMPLES = (100, 300, 1000, 5000)
TRAIN_ROWS = (64, 128, 256, 512)
QUICK_ROWS = 128
SLOW = ("lore", "anchor", "umap", "s-umap")
CO: Pairs = (("co", ""), ("co", "uc"), ("co", "us"))
SO2: Pairs = (("so2", ""), ("so2", "uc"), ("so2", "us"))
PLAIN: Pairs = (("none", ""), ("none", "uc"))


@dataclass(frozen=True)
class Scope:
    """The part of the paper's grid to run: black boxes, latent sizes, settings of LORE and Anchor, seeds."""

    boxes: tuple[str, ...] = ("xgb", "lgb")
    latents: tuple[int, ...] = (2, 8, 32)
    lore: tuple[int, ...] = (300,)
    anchor: tuple[tuple[int, int], ...] = ((100, 4),)
    seeds: int = 1
    quick: bool = False


USUAL = Scope()
QUICK = Scope(boxes=("xgb",), latents=(8,), quick=True)
WHOLE = Scope(
    boxes=("xgb", "lgb", "ctb"),
    latents=(2, 4, 8, 16, 32),
    lore=(300, 1000),
    anchor=tuple(product((100, 300), (4, 10))),
)


def run(
    table: str = "all",
    protocol: Protocol = "clean",
    quick: bool = False,
    whole: bool = False,
    black_boxes: tuple[str, ...] = (),
    seeds: int = 1,
    methods: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    workers: int = 1,
) -> Iterator[Cell]:
    """Run the cells of a table of the paper's evaluation.

    quick: a few small cells of each table; whole: all settings that the paper tries. black-boxes are of xgb,
    lgb, ctb, forest, svm and mlp; data selects by the start of names; workers are single-threaded processes.
    `ILLUME_DATA` names the folder of data sets, `ILLUME_DEVICE` the device that trains encoders.
    """
    if table not in TABLES:
        raise SystemExit(f"no table is called {table!r}; choose from {', '.join(TABLES)}")
    scope = QUICK if quick else WHOLE if whole else USUAL
    found = [
        cell
        for cell in cells(table, protocol, replace(scope, boxes=black_boxes or scope.boxes, seeds=seeds))
        if (not methods or cell["method"] in methods) and (not data or cell["data"].startswith(data))
    ]
    synthetic = [cell for cell in found if cell["black_box"] == "truth"]
    if len(synthetic) < len(found) and not os.environ.get(VARIABLE):
        missing = f"{len(found) - len(synthetic)} cells need data files; set {VARIABLE} to their folder"
        if not quick:
            raise SystemExit(missing)
        print(f"{missing}. Only the other cells are run.")
        found = synthetic
    for cell in found:
        yield Cell(cell, partial(_evaluate, cell), f"cells/{result_file(cell)}")


def _evaluate(cell: Line) -> Line:
    from benchmarks.evaluation.scores import evaluate

    start = time.perf_counter()
    found = evaluate(cell)
    found["times"]["cell_s"] = round(time.perf_counter() - start, 3)
    return found


def result_file(cell: Line) -> str:
    """Return the stem of the result file that a cell belongs to."""
    if cell["data"].startswith("seneca"):
        return "-".join(cell["data"].split("-")[:2])
    return "rankings" if cell["data"] in FAMILIES["rankings"] else f"real-{cell['black_box']}"


def _grid(pairs: Pairs, scope: Scope, *names: str) -> Methods:
    """Return the paper's methods for pairs of objective and variant, and all latent sizes."""
    return [
        (name, {"objective": objective, "k": k} | ({"variant": variant} if variant else {}))
        for name, (objective, variant), k in product(names, pairs, scope.latents)
    ]


def attributions(scope: Scope) -> Methods:
    lime = [("lime", {"samples": n}) for n in LIME_SAMPLES]
    ours = [*_grid(CO[:1], scope, "lin"), *_grid((*CO, *PLAIN), scope, "paper")]
    return [("illume", {}), ("inp", {}), ("shap", {}), *lime, *ours]


def correctness(scope: Scope) -> Methods:
    return [("gradient", {}), *attributions(scope)]


def rules(scope: Scope) -> Methods:
    lore = [("lore", {"samples": n}) for n in scope.lore]
    anchor = [("anchor", {"batch": batch, "beam": beam}) for batch, beam in scope.anchor]
    ours = [*_grid(SO2[:1], scope, "lin"), *_grid(SO2, scope, "paper")]
    return [("illume", {}), ("inp", {}), *ours, *lore, *anchor]


def spaces(scope: Scope) -> Methods:
    reduced = product(("pca", "isomap", "lle", "umap", "s-umap"), scope.latents)
    return [*((name, {"k": k}) for name, k in reduced), *_grid(PLAIN, scope, "paper", "lin")]


def scaling(scope: Scope) -> Methods:
    largest = {"objective": "co", "k": scope.latents[-1]}
    ours = [("illume", {"train_rows": n}) for n in TRAIN_ROWS]
    return [*ours, *(("paper", largest | {"train_rows": n}) for n in TRAIN_ROWS)]


PLANS: dict[str, tuple[str, Callable[[Scope], Methods]]] = {
    "data": ("real", lambda scope: [("none", {})]),
    "rq1-space": ("real", spaces),
    "rq2-fi": ("seneca-rc", correctness),
    "rq2-rules": ("seneca-rb", rules),
    "rq2-counterfactuals": ("seneca-rb", rules),
    "rq3-fi": ("real", attributions),
    "rq3-rules": ("real", rules),
    "rq4-times": ("seneca-rc", attributions),
    "rq4-scaling": ("seneca-rc", scaling),
    "a-ranking": ("rankings", attributions),
}
# the appendix shows the same cells for each data set
SAME = {"a-space": "rq1-space", "a-correctness": "a-ranking", "a-decisions": "rq1-space"}
SAME |= {"a-fi": "rq3-fi", "a-rules": "rq3-rules", "a-global": "rq3-fi"}
BOXED = ("a-decisions", "a-fi", "a-rules", "a-global")
TABLES = (
    *PLANS,
    *(name for name in SAME if name not in BOXED),
    *(f"{name}-{box}" for name in BOXED for box in ("lgb", "xgb")),
    "all",
)
QUICK_DATA = {"real": "titanic", "rankings": "ssin-2c"}
QUICK_DATA |= {"seneca-rc": "seneca-rc-4+0-0", "seneca-rb": "seneca-rb-4+0-0"}
COST = (
    *("none", "gradient", "inp", "pca", "shap", "lin", "lle"),
    *("isomap", "lime", "umap", "s-umap", "illume", "paper"),
)


def cells(table: str, protocol: str, scope: Scope = USUAL) -> list[Line]:
    """Return the cells behind a table, the cheap ones first.

    >>> len({cell["data"] for cell in cells("rq2-fi", "clean")})
    25
    >>> {cell["black_box"] for cell in cells("a-rules-lgb", "paper")}
    {'lgb'}
    """
    if table == "all":
        return _sort(cell for name in PLANS for cell in cells(name, protocol, scope))
    base, _, box = table.rpartition("-")
    if base in BOXED:
        table, scope = base, replace(scope, boxes=(box,))
    kind, methods = PLANS[SAME.get(table, table)]
    data = (QUICK_DATA[kind],) if scope.quick else FAMILIES[kind]
    boxes = ("truth",) if kind.startswith("seneca") else scope.boxes
    grid = product(methods(scope), data, boxes, range(scope.seeds))
    return _sort(
        dict(zip(NAMES, (name, box, method, setting, seed, protocol), strict=True))
        for (method, setting), name, box, seed in grid
        if not (scope.quick and _is_slow(method, setting))
    )


def _is_slow(method: str, setting: Line) -> bool:
    rows = setting.get("train_rows", QUICK_ROWS)
    return bool(method in SLOW or setting.get("variant") or rows != QUICK_ROWS)


def _sort(found: Iterable[Line]) -> list[Line]:
    unique = {key(cell, NAMES): cell for cell in found}.values()

    def cost(cell: Line) -> tuple[int, int]:
        rank = COST.index(cell["method"]) if cell["method"] in COST else len(COST)
        return rank, cell["setting"].get("k", 0)

    return sorted(unique, key=cost)

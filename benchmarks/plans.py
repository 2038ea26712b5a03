"""Which cells stand behind which table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from benchmarks.cells import Cell, unique
from benchmarks.data import RANKINGS, REAL, SENECA_RB, SENECA_RC

Setting = dict[str, Any]
Methods = list[tuple[str, Setting]]
Pairs = tuple[tuple[str, str], ...]  # an objective and a variant of it

LIME_SAMPLES = (100, 300, 1000, 5000)
TRAIN_ROWS = (64, 128, 256, 512)
QUICK_ROWS = 128
SLOW = ("lore", "anchor", "umap", "s-umap")
CO: Pairs = (("co", ""), ("co", "uc"), ("co", "us"))
SO2: Pairs = (("so2", ""), ("so2", "uc"), ("so2", "us"))
PLAIN: Pairs = (("none", ""), ("none", "uc"))


@dataclass(frozen=True)
class Scope:
    """How much of the paper's grid is run: black boxes, latent sizes, settings of LORE and Anchor, seeds."""

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


def trained(pairs: Pairs, scope: Scope, *names: str) -> Methods:
    """Return the paper's own methods for pairs of objective and variant, and all latent sizes."""
    return [
        (name, {"objective": objective, "k": k} | ({"variant": variant} if variant else {}))
        for name, (objective, variant), k in product(names, pairs, scope.latents)
    ]


def attributions(scope: Scope) -> Methods:
    """Return the methods of the tables on feature importance."""
    lime = [("lime", {"samples": n}) for n in LIME_SAMPLES]
    ours = [*trained(CO[:1], scope, "lin"), *trained((*CO, *PLAIN), scope, "paper")]
    return [("illume", {}), ("inp", {}), ("shap", {}), *lime, *ours]


def correctness(scope: Scope) -> Methods:
    """Return the same for the synthetic problems, where the truth is known."""
    return [("gradient", {}), *attributions(scope)]


def rules(scope: Scope) -> Methods:
    """Return the methods of the tables on decision rules."""
    lore = [("lore", {"samples": n}) for n in scope.lore]
    anchor = [("anchor", {"batch": batch, "beam": beam}) for batch, beam in scope.anchor]
    ours = [*trained(SO2[:1], scope, "lin"), *trained(SO2, scope, "paper")]
    return [("illume", {}), ("inp", {}), *ours, *lore, *anchor]


def spaces(scope: Scope) -> Methods:
    """Return the methods of the tables on the latent space; labels condition some of them."""
    reduced = product(("pca", "isomap", "lle", "umap", "s-umap"), scope.latents)
    return [*((name, {"k": k}) for name, k in reduced), *trained(PLAIN, scope, "paper", "lin")]


def scaling(scope: Scope) -> Methods:
    """Return the methods of the plot over the number of training rows."""
    largest = {"objective": "co", "k": scope.latents[-1]}
    return [
        *(("illume", {"train_rows": n}) for n in TRAIN_ROWS),
        *(("paper", largest | {"train_rows": n}) for n in TRAIN_ROWS),
    ]


def black_boxes(scope: Scope) -> Methods:
    """Return nothing but the black boxes."""
    return [("none", {})]


PLANS: dict[str, tuple[str, Callable[[Scope], Methods]]] = {
    "data": ("real", black_boxes),
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
# The appendix shows the same cells data set by data set.
SAME = {
    "a-space": "rq1-space",
    "a-correctness": "a-ranking",
    "a-decisions": "rq1-space",
    "a-fi": "rq3-fi",
    "a-rules": "rq3-rules",
    "a-global": "rq3-fi",
}
BOXED = ("a-decisions", "a-fi", "a-rules", "a-global")
TABLES = (
    *PLANS,
    *(name for name in SAME if name not in BOXED),
    *(f"{name}-{box}" for name in BOXED for box in ("lgb", "xgb")),
    "all",
)


def cells(table: str, protocol: str, scope: Scope = USUAL) -> list[Cell]:
    """Return the cells behind a table, the cheap ones first.

    >>> len({cell.data for cell in cells("rq2-fi", "clean")})
    25
    >>> {cell.black_box for cell in cells("a-rules-lgb", "paper")}
    {'lgb'}
    """
    if table == "all":
        found = [cell for name in PLANS for cell in cells(name, protocol, scope)]
        return sorted(unique(found), key=_cost)
    base, _, box = table.rpartition("-")
    if base in BOXED:
        table, scope = base, replace(scope, boxes=(box,))
    kind, methods = PLANS[SAME.get(table, table)]
    data = _few(kind) if scope.quick else DATA[kind]
    boxes = ("truth",) if kind.startswith("seneca") else scope.boxes
    found = [cell for cell in _grid(data, boxes, methods(scope), scope, protocol) if _wanted(cell, scope)]
    return sorted(unique(found), key=_cost)


DATA = {"real": REAL, "rankings": RANKINGS, "seneca-rc": SENECA_RC, "seneca-rb": SENECA_RB}


def _grid(
    data: tuple[str, ...], boxes: tuple[str, ...], methods: Methods, scope: Scope, protocol: str
) -> Iterator[Cell]:
    for (method, setting), name, box, seed in product(methods, data, boxes, range(scope.seeds)):
        yield Cell(name, box, method, setting, seed, protocol)


def _wanted(cell: Cell, scope: Scope) -> bool:
    """Leave out what a newcomer would wait too long for."""
    rows = cell.setting.get("train_rows", QUICK_ROWS)
    slow = cell.method in SLOW or cell.setting.get("variant") or rows != QUICK_ROWS
    return not (scope.quick and slow)


COST = (
    *("none", "gradient", "inp", "pca", "shap", "lin", "lle"),
    *("isomap", "lime", "umap", "s-umap", "illume", "paper"),
)


def _cost(cell: Cell) -> tuple[int, int]:
    rank = COST.index(cell.method) if cell.method in COST else len(COST)
    return rank, cell.setting.get("k", 0)


def _few(kind: str) -> tuple[str, ...]:
    """Return the small problems that a newcomer can wait for."""
    return {
        "real": ("titanic",),
        "rankings": ("ssin-2c",),
        "seneca-rc": ("seneca-rc-4+0-0",),
        "seneca-rb": ("seneca-rb-4+0-0",),
    }[kind]

"""Which cells stand behind which table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from benchmarks.cells import Cell, unique
from benchmarks.data import RANKINGS, REAL, SENECA_RB, SENECA_RC

LATENTS = (2, 8, 32)
LIME_SAMPLES = (100, 300, 1000, 5000)
BOOSTERS = ("xgb", "lgb")
SIZES = (64, 128, 256, 512, 1024)

Setting = dict[str, Any]
Methods = list[tuple[str, Setting]]


def ours(objectives: tuple[tuple[str, str], ...], latents: tuple[int, ...], *names: str) -> Methods:
    """Return the paper's own methods for (objective, variant) pairs and latent sizes."""
    return [
        (name, {"objective": objective, "k": k} | ({"variant": variant} if variant else {}))
        for name, (objective, variant), k in product(names, objectives, latents)
    ]


CO = (("co", ""), ("co", "uc"), ("co", "us"))
SO2 = (("so2", ""), ("so2", "uc"), ("so2", "us"))
DEFAULT: Methods = [("illume", {})]
INP: Methods = [("inp", {})]
LIME: Methods = [("lime", {"samples": n}) for n in LIME_SAMPLES]
SHAP: Methods = [("shap", {})]
RULE_PEERS: Methods = [("lore", {"samples": 300}), ("anchor", {"batch": 100, "beam": 4})]


def attributions(latents: tuple[int, ...]) -> Methods:
    """Return the methods of the tables on feature importance."""
    trained = [*ours(CO, latents, "paper"), *ours((("none", ""),), latents, "paper")]
    return [*DEFAULT, *INP, *SHAP, *LIME, *ours((("co", ""),), latents, "lin"), *trained]


def rules(latents: tuple[int, ...]) -> Methods:
    """Return the methods of the tables on decision rules."""
    return [*DEFAULT, *INP, *ours((("so2", ""),), latents, "lin"), *ours(SO2, latents, "paper"), *RULE_PEERS]


def spaces(latents: tuple[int, ...]) -> Methods:
    """Return the methods of the tables on the latent space; labels condition some of them."""
    reduced = [(name, {"k": k}) for name in ("pca", "isomap", "lle", "umap", "s-umap") for k in latents]
    trained = ours((("none", ""), ("none", "uc")), latents, "paper", "lin")
    return [*reduced, *trained]


def _grid(
    data: tuple[str, ...], boxes: tuple[str, ...], methods: Methods, seeds: range, protocol: str
) -> Iterator[Cell]:
    for (method, setting), name, box, seed in product(methods, data, boxes, seeds):
        yield Cell(name, box, method, setting, seed, protocol)


def _scaling(latents: tuple[int, ...]) -> Methods:
    largest = latents[-1]
    return [
        *(("illume", {"train_rows": n}) for n in SIZES[:-1]),
        *(("paper", {"objective": "co", "k": largest, "train_rows": n}) for n in SIZES[:-1]),
    ]


PLANS: dict[str, tuple[str, Callable[[tuple[int, ...]], Methods]]] = {
    "data": ("real", lambda k: [("none", {})]),
    "rq1-space": ("real", spaces),
    "rq2-fi": ("seneca-rc", lambda k: [("gradient", {}), *attributions(k)]),
    "rq2-rules": ("seneca-rb", rules),
    "rq2-counterfactuals": ("seneca-rb", rules),
    "rq3-fi": ("real", attributions),
    "rq3-rules": ("real", rules),
    "rq4-times": ("seneca-rc", attributions),
    "rq4-scaling": ("seneca-rc", _scaling),
    "a-ranking": ("rankings", attributions),
}
TABLES = (*PLANS, "all")


def cells(table: str, protocol: str, *, seeds: range = range(1), quick: bool = False) -> list[Cell]:
    """Return the cells behind a table, the quick ones first.

    >>> len({cell.data for cell in cells("rq2-fi", "clean")})
    25
    """
    if table == "all":
        found = [cell for name in PLANS for cell in cells(name, protocol, seeds=seeds, quick=quick)]
    else:
        kind, methods = PLANS[table]
        data, boxes = {
            "real": (REAL, BOOSTERS),
            "rankings": (RANKINGS, BOOSTERS),
            "seneca-rc": (SENECA_RC, ("truth",)),
            "seneca-rb": (SENECA_RB, ("truth",)),
        }[kind]
        if quick:
            data, boxes = _few(kind), boxes[:1]
        found = list(_grid(data, boxes, methods((8,) if quick else LATENTS), seeds, protocol))
    if quick:
        found = [cell for cell in found if _is_quick(cell)]
    return sorted(unique(found), key=_cost)


def _is_quick(cell: Cell) -> bool:
    setting = cell.setting
    others = setting.get("variant") or setting.get("train_rows", 128) != 128
    return cell.method not in SLOW and not others


SLOW = ("lore", "anchor", "umap", "s-umap")
COST = (
    "none",
    "gradient",
    "inp",
    "pca",
    "shap",
    "lin",
    "lle",
    "isomap",
    "lime",
    "umap",
    "s-umap",
    "illume",
    "paper",
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

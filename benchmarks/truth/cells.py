"""What is measured: a question put to a method about a model on a data set; and the plan of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.data import SENECA_RC

DEVELOPMENT = ("german", "fico", "compas", "diabetes", "spam", "yeast")
HELD_OUT = (
    "aids", "austr", "bank", "breast", "churn", "ctg", "ecoli", "home", "ionos", "sonar", "titanic", "wine",
)  # fmt: skip
FURTHER = ("adult", *SENECA_RC)
MODELS = ("xgb", "lgb", "mlp", "forest")
HELD_OUT_MODEL = "forest"  # settings are chosen with the others
TREES = ("xgb", "lgb", "forest")
FORMULA = "truth"  # the black box of a generated problem
KINDS = ("contributions", "null", "seeds")
SPLITS = ("development", "heldout", "all")

OURS = (
    "illume", "illume-thorough", "illume-refine-16", "illume-refine-64", "illume-refine-256",
    "illume-pullback",
)  # fmt: skip
SAMPLERS = ("shap-kernel", "shap-permutation", "shap-sampling", "shapiq-kernel", "shapiq-leverage")
LEAST = "least"  # as few asks a row as the method takes
BUDGETS = (LEAST, "64", "256", "1024")
PEERS = ("shap-tree", *(f"{name}@{budget}" for name in SAMPLERS for budget in BUDGETS), "lime")
METHODS = {
    "contributions": (*OURS, *PEERS),
    "null": ("illume", "illume-thorough", "illume-refine-64", "illume-pullback"),
    "seeds": ("illume", "illume-thorough", "illume-refine-64", "illume-pullback"),
}


@dataclass(frozen=True)
class TruthCell:
    """What one result line is about.

    >>> TruthCell("null", "wine", "xgb", "illume", 0, 200).key
    'null wine xgb illume 0 200'
    """

    kind: str
    data: str
    model: str
    method: str
    seed: int
    rows: int  # as many as asked for; fewer may be explained

    @property
    def key(self) -> str:
        """One line that names the cell."""
        return f"{self.kind} {self.data} {self.model} {self.method} {self.seed} {self.rows}"

    @classmethod
    def of(cls, line: dict[str, Any]) -> Self:
        """Read the cell off a result line."""
        return cls(**{name: line[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Plan:
    """Which cells a run is about."""

    kinds: tuple[str, ...] = KINDS
    data: tuple[str, ...] = DEVELOPMENT
    models: tuple[str, ...] = MODELS
    methods: tuple[str, ...] = ()  # all of a kind where none is named
    seed: int = 0
    rows: int = 200

    def cells(self) -> list[TruthCell]:
        """Return the cells; those of one data set and model stand together."""
        return [
            TruthCell(kind, data, model, method, self.seed, self.rows)
            for data in self.data
            for model in ((FORMULA,) if data in SENECA_RC else self.models)
            for kind in self.kinds
            for method in self._methods(kind)
            if method != "shap-tree" or model in TREES
        ]

    def _methods(self, kind: str) -> tuple[str, ...]:
        if not self.methods:
            return METHODS[kind]
        ours = tuple(name for name in self.methods if name.startswith("illume"))
        return self.methods if kind == "contributions" else ours


def data_of(split: str, wanted: str = "") -> tuple[str, ...]:
    """Return the data sets of a split, or those that are named, which may be any.

    >>> data_of("development")[:2], data_of("heldout", "adult,seneca-rc-4+0")
    (('german', 'fico'), ('adult', 'seneca-rc-4+0-0', 'seneca-rc-4+0-1', 'seneca-rc-4+0-2', \
'seneca-rc-4+0-3', 'seneca-rc-4+0-4'))
    """
    known = (*DEVELOPMENT, *HELD_OUT, *FURTHER)
    if not wanted:
        return {"development": DEVELOPMENT, "heldout": HELD_OUT, "all": DEVELOPMENT + HELD_OUT}[split]
    found: list[str] = []
    for name in wanted.split(","):
        mine = [data for data in known if data == name or (data in SENECA_RC and data.startswith(name))]
        if not mine:
            raise SystemExit(f"no data set is called {name!r}; there are {', '.join(known)}")
        found += mine
    return tuple(found)


def methods_of(wanted: str) -> tuple[str, ...]:
    """Return the named methods: a sampler may have any number of asks, `shap-kernel@512`.

    >>> methods_of("illume,shap-kernel@512")
    ('illume', 'shap-kernel@512')
    """
    names = tuple(name for name in wanted.split(",") if name)
    for name in names:
        base, _, budget = name.partition("@")
        sampled = base in SAMPLERS and (budget == LEAST or budget.isdigit())
        refined = name.startswith("illume-refine-") and name.rpartition("-")[2].isdigit()
        if not (sampled or refined or name in (*OURS, "illume-quick", "shap-tree", "lime")):
            raise SystemExit(f"no method is called {name!r}; there are {', '.join((*OURS, *PEERS))}")
    return names


def names_of(known: Iterable[str], wanted: str, what: str) -> tuple[str, ...]:
    """Return the wanted names in the order of the known ones, all for ""."""
    from benchmarks.speed.cells import chosen

    return chosen(known, wanted, what)

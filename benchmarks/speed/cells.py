"""What is timed: a method on so many rows of a data set, decided by a model; and the plan of a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

MODELS = ("lightgbm", "mlp")
FEATURES = (8, 30, 100, 500)
CENTRE = "m30"  # the data that ratios are asked for
ADULT = "adult"
ROWS = (1, 100, 10_000, 1_000_000)


@dataclass(frozen=True)
class Method:
    """What a plan must know of a method.

    Parameters
    ----------
    kind
        What it answers with; break-even rows are counted among methods of one kind.
    trees
        It reads the trees of the model, and can do nothing else.
    many
        It is run on the largest number of rows.
    batch
        It does something once for all rows of a call.
    probe
        So many rows of a batch are tried whatever fewer have taken.
    budget_s
        About how long one cell may take; beyond it, fewer rows are timed.
    limit_s
        After so long the process is ended.
    """

    kind: str
    trees: bool = False
    many: bool = False
    batch: bool = False
    probe: int = 100
    budget_s: float = 2.5
    limit_s: float = 30.0


METHODS = {
    "illume": Method("attributions", many=True, batch=True, budget_s=8.0, limit_s=120.0),
    "illume-rules": Method("rules", batch=True, limit_s=60.0),
    "illume-counterfactuals": Method("counterfactuals", batch=True, limit_s=60.0),
    "shap-tree": Method("attributions", trees=True, many=True, batch=True),
    "woodelf": Method(
        "attributions", trees=True, many=True, batch=True, probe=10_000, budget_s=8.0, limit_s=90.0
    ),
    "shap-kernel": Method("attributions", limit_s=60.0),
    "shap-permutation": Method("attributions", limit_s=60.0),  # compiles on its first call
    "lime": Method("attributions", limit_s=60.0),
    "anchor": Method("rules", limit_s=60.0),
    "lore": Method("rules", limit_s=60.0),
    "dice": Method("counterfactuals", limit_s=60.0),
    "model": Method("prediction", many=True, batch=True, budget_s=6.0, limit_s=90.0),
    "fit": Method("fit", limit_s=300.0),
    "limits": Method("limits", budget_s=8.0, limit_s=120.0),
}
ONCE = ("fit", "limits")  # not for numbers of rows
OURS = {
    "attributions": "illume",
    "rules": "illume-rules",
    "counterfactuals": "illume-counterfactuals",
}


@dataclass(frozen=True)
class SpeedCell:
    """What one result line is about; rows are 0 where the method is not for a number of rows.

    >>> SpeedCell("m30", "mlp", "lime", 100).key
    'm30 mlp lime 100'
    """

    data: str
    model: str
    method: str
    rows: int

    @property
    def key(self) -> str:
        """One line that names the cell."""
        return f"{self.data} {self.model} {self.method} {self.rows}"

    @classmethod
    def of(cls, line: dict[str, Any]) -> Self:
        """Read the cell off a result line."""
        return cls(**{name: line[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Job:
    """Cells that one process measures, few rows first."""

    data: str
    model: str
    method: str
    rows: tuple[int, ...]
    budget_s: float = 4.0
    limit_s: float = 45.0
    steps: int = 0  # the most training steps of illume; 0 leaves the default
    threads: int = 2

    def cells(self) -> list[SpeedCell]:
        """Return the cells, in the order in which they are measured."""
        return [SpeedCell(self.data, self.model, self.method, rows) for rows in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the process that does the job."""
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """Which cells a run is about."""

    data: tuple[str, ...] = (*(f"m{m}" for m in FEATURES), ADULT)
    models: tuple[str, ...] = MODELS
    methods: tuple[str, ...] = tuple(METHODS)
    rows: tuple[int, ...] = ROWS
    scale: float = 1.0  # of all budgets
    steps: int = 0
    threads: int = 2
    skipped: frozenset[str] = field(default_factory=frozenset)  # keys of finished cells

    def jobs(self) -> list[Job]:
        """Return a job for every data set, model and method that go together; fits come first.

        >>> [job.method for job in Plan(("m8",), ("mlp",), ("shap-tree", "lime", "fit")).jobs()]
        ['fit', 'lime']
        """
        order = sorted(self.methods, key=lambda name: (name != "fit", list(METHODS).index(name)))
        found = []
        for data in self.data:
            for model in self.models if data != ADULT else [m for m in self.models if m == "lightgbm"]:
                found += [self._job(data, model, method) for method in order if fits(method, model)]
        return [job for job in found if job.rows]

    def _job(self, data: str, model: str, method: str) -> Job:
        known = METHODS[method]
        rows = (0,) if method in ONCE else tuple(n for n in self.rows if known.many or n < max(ROWS))
        budget, limit = known.budget_s * self.scale, known.limit_s
        job = Job(data, model, method, rows, budget, limit, self.steps, self.threads)
        return replace(job, rows=tuple(c.rows for c in job.cells() if c.key not in self.skipped))


def fits(method: str, model: str) -> bool:
    """Say whether a method can explain a model at all."""
    return model == "lightgbm" or not METHODS[method].trees


QUICK = Plan(("m8",), MODELS, ("fit", "illume", "model", "shap-tree", "lime"), (1, 100), 0.25, steps=100)


def chosen(known: Iterable[str], wanted: str, what: str) -> tuple[str, ...]:
    """Return the known names that are wanted, all of them for "".

    >>> chosen(("a", "b"), "b", "method")
    ('b',)
    """
    names: Sequence[str] = [name for name in wanted.split(",") if name]
    known = tuple(known)
    for name in names:
        if name not in known:
            raise SystemExit(f"no {what} is called {name!r}; there are {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)

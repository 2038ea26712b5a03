"""A cell of the evaluation: one method, in one setting, explaining one black box on one data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

PROTOCOLS = ("clean", "paper")


@dataclass(frozen=True)
class Cell:
    """What is measured at once.

    Parameters
    ----------
    data, black_box
        Names of a data set and of a black box; `truth` is a synthetic classifier itself.
    method, setting
        Who explains, with which options.
    protocol
        `clean` keeps the rows that choose apart from the rows that are reported; `paper` repeats the
        published choices.

    Examples
    --------
    >>> Cell("breast", "xgb", "paper", {"k": 8, "objective": "co"}).key
    'breast xgb paper {"k": 8, "objective": "co"} seed 0 clean'
    """

    data: str
    black_box: str
    method: str
    setting: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    protocol: str = "clean"

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> str:
        """One line that names the cell."""
        setting = json.dumps(self.setting, sort_keys=True)
        return f"{self.data} {self.black_box} {self.method} {setting} seed {self.seed} {self.protocol}"

    @property
    def family(self) -> str:
        """The result file that the cell belongs to."""
        if self.data.startswith("seneca"):
            return "-".join(self.data.split("-")[:2])
        if self.data.startswith(("ssin", "int2")):
            return "rankings"
        return f"real-{self.black_box}"

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as the start of its result line."""
        return asdict(self)

    @classmethod
    def of(cls, line: dict[str, Any]) -> Cell:
        """Read the cell off a result line."""
        return cls(**{name: line[name] for name in cls.__dataclass_fields__})


def unique(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Leave out what was there before."""
    return iter({cell.key: cell for cell in cells}.values())

"""Why one row was decided as it was: a rule, with what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import BoolArray
from illume.data.frames import as_frame
from illume.data.schema import Feature, require_columns
from illume.results.conditions import Interval, Membership
from illume.results.oblique import ObliqueCondition

if TYPE_CHECKING:
    from illume.results.rules import Rules


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Conditions under which the black box decides alike, most of the time: a view of one row of a batch."""

    batch: Rules

    @property
    def conditions(self) -> tuple[Interval | Membership, ...]:
        """The rule itself, in the features' own units and categories."""
        return self.batch.bounds.conditions(0)

    @property
    def box(self) -> tuple[Interval | Membership, ...]:
        """The sound form: inside this box every oblique condition holds, with the row's own map."""
        return self.batch.box.conditions(0)

    @property
    def oblique(self) -> tuple[ObliqueCondition, ...]:
        """The oblique form: the leaf's conditions on weighted sums of features."""
        return self.batch.oblique.conditions(0)

    @property
    def decision(self) -> str:
        """The decision that the rule is for."""
        return self.batch.class_names[int(self.batch.decisions[0])]

    @property
    def probability(self) -> float:
        """The black box's probability of that decision, for the row itself."""
        return float(self.batch.probabilities[0, int(self.batch.decisions[0])])

    @property
    def precision(self) -> float:
        """Share of the covered report rows that the black box decides alike; NaN where none is covered."""
        return float(self.batch.precision[0])

    @property
    def precision_interval(self) -> tuple[float, float]:
        """95 % interval of the precision (Wilson's)."""
        low, high = self.batch.precision_interval
        return float(low[0]), float(high[0])

    @property
    def coverage(self) -> float:
        """Share of the report rows that the rule covers."""
        return float(self.batch.coverage[0])

    @property
    def coverage_interval(self) -> tuple[float, float]:
        """95 % interval of the coverage (Wilson's)."""
        low, high = self.batch.coverage_interval
        return float(low[0]), float(high[0])

    @property
    def n_covered(self) -> int:
        """How many report rows the precision rests on."""
        return int(self.batch.n_covered[0])

    @property
    def polished(self) -> bool:
        """Whether the bounds were chosen for precision; otherwise they are the tree's own."""
        return bool(self.batch.polished[0])

    @property
    def status(self) -> str:
        """`agreed`, `refined` or `not faithful`: whether the tree decides like the black box."""
        return str(self.batch.refinement.status[0])

    @property
    def outside_reasons(self) -> tuple[str, ...]:
        """Why the row is outside of what the explainer was fitted on; nothing if it is not."""
        novelty = self.batch.novelty
        return () if novelty is None else novelty.reasons()

    def value(self, name: str) -> Any:
        """Return the row's own value of a feature."""
        if self.batch.data is None:
            raise ValueError("the rule of a counterfactual has no row of its own")
        return self.batch.data[0, self.batch.feature_names.index(name)]

    def feature(self, name: str) -> Feature:
        """Return what was seen of a feature while fitting: its range or its categories."""
        return self.batch.bounds.features[self.batch.feature_names.index(name)]

    def covers(self, frame: Any) -> BoolArray:
        """Return which rows of a frame satisfy the rule.

        A value that was never seen satisfies no condition on its column.
        """
        rows = as_frame(frame)
        named = isinstance(frame, np.ndarray)
        wanted = self.batch.columns if named else [condition.name for condition in self.conditions]
        inside = np.ones(len(rows), dtype=bool)
        rows = require_columns(rows, wanted)
        for condition in self.conditions:
            inside &= condition.covers(rows)
        return inside

    def to_sql(self) -> str:
        """Return what goes after WHERE to select exactly the covered rows.

        Columns are quoted by double quotes; a missing value is NULL; booleans are TRUE and FALSE.
        """
        return " AND ".join(condition.to_sql() for condition in self.conditions) or "1 = 1"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        known = self.n_covered > 0
        return {
            "decision": self.decision,
            "probability": self.probability,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "text": self.text,
            "precision": self.precision if known else None,
            "precision_interval": list(self.precision_interval),
            "coverage": self.coverage,
            "n_covered": self.n_covered,
            "n_rows": self.batch.n_rows,
            "polished": self.polished,
            "status": self.status,
            "outside": bool(self.batch.outside[0]),
            "outside_reasons": list(self.outside_reasons),
            "stand_in": self.batch.stand_in,
            "box": [condition.to_dict() for condition in self.box],
            "oblique": [condition.to_dict() for condition in self.oblique],
        }

    @property
    def text(self) -> str:
        """The rule in one line."""
        premise = " and ".join(map(str, self.conditions)) or "always"
        return f"{premise} → {self.decision}"

    @property
    def measured(self) -> str:
        """What was measured of the rule, in one line."""
        if not self.n_covered:
            return f"covers none of {self.batch.n_rows} held-out rows, so its precision is not known"
        low, high = self.precision_interval
        short = f", below the wanted {self.batch.wanted:g}" if self.precision < self.batch.wanted else ""
        return (
            f"precision {self.precision:.2f} ({low:.2f} to {high:.2f}{short})  coverage {self.coverage:.2f}  "
            f"(on {self.n_covered} of {self.batch.n_rows} held-out rows)"
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "\n  ".join([self.text, self.measured, *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to know: how the row was refined, and whether the black box was there."""
        from illume.results.rules import STAND_IN

        batch = self.batch
        odd = "" if batch.novelty is None else batch.novelty.note()
        said = (batch.refinement.note(), STAND_IN if batch.stand_in else "", odd)
        return tuple(note for note in said if note)

    def _repr_html_(self) -> str:
        lines = [f"<b>{escape(self.text)}</b>", escape(self.measured), *map(escape, self.notes)]
        return f"<p>{'<br>'.join(lines)}</p>"

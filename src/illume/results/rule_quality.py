"""How good an explainer's rules are, measured on rows that chose nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class RuleQuality:
    """Figures of the rules of report rows, each measured on the other report rows.

    Parameters
    ----------
    precision, coverage, n_conditions
        Means over the rules of report rows, polished to the default precision.
    n_rules, n_rows
        How many rules, and how many report rows they were measured on.
    agreement
        Share of report rows on which the tree decides like the black box, before refinement.
    faithful
        Share of them after refinement.
    source, reason
        Which tree the rules come from, `local` or `global`, and the figures that decided, on validation rows.
    n_leaves, depth, n_latents
        The tree's size, and how many latents it reads.
    seconds
        How long it took to fit.
    """

    precision: float
    coverage: float
    n_conditions: float
    n_rules: int
    n_rows: int
    agreement: float
    faithful: float
    source: str
    reason: str
    n_leaves: int
    depth: int
    n_latents: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        return asdict(self)

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"Rules of {self.n_rules} report rows, measured on {self.n_rows} that chose nothing",
                f"  mean precision {self.precision:.3f}, mean coverage {self.coverage:.3f}, "
                f"{self.n_conditions:.1f} conditions",
                f"  the tree decides like the black box on {self.agreement:.3f} of them, "
                f"after refinement on {self.faithful:.3f}",
                f"from the {self.source} tree: {self.n_leaves} leaves, {self.depth} levels, "
                f"on {self.n_latents} {'latents' if self.source == 'local' else 'inputs'}",
                f"chosen because {self.reason}; {self.seconds:.1f} s",
            ]
        )

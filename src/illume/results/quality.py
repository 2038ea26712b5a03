"""How far an explainer can be trusted, measured on rows that chose nothing."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from illume.metrics.fidelity import Fidelity, wilson

FEW = 20  # rows that chose, or are reported on: fewer say next to nothing


@dataclass(frozen=True)
class ClassQuality:
    """Agreement on the report rows that the black box gave one class; R² of that class on all of them."""

    name: str
    agreement: float
    r2: float
    n_rows: int


@dataclass(frozen=True)
class Sampling:
    """How the rows of a fit were drawn where not all were taken: uniformly, without replacement.

    >>> print(Sampling(10_000_000, 200_000, seed=0))
    fitted on 200,000 of 10,000,000 rows, drawn at random with seed 0
    """

    n_rows: int
    n_drawn: int
    seed: int | None

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" with seed {self.seed}"
        return f"fitted on {self.n_drawn:,} of {self.n_rows:,} rows, drawn at random{seed}"


@dataclass(frozen=True)
class ContributionQuality:
    """How true contributions are on held-out rows, against walks of the model itself.

    Parameters
    ----------
    r2, low, high
        Share of the variance of the model's Shapley values that contributions explain, over rows and
        features, with a 95 % interval; the noise of the walks is taken out.
    error
        Typical (root mean square) error of a contribution, in log-odds.
    coverage
        Share of contributions whose 95 % interval holds the model's Shapley value.
    n_rows, n_asked
        How many rows this rests on, and how often the model was asked for it.
    fidelity
        R² of the model's log-odds on mixed rows that were not learned from.
    """

    r2: float
    low: float
    high: float
    error: float
    coverage: float
    n_rows: int
    n_asked: int
    fidelity: float

    @property
    def word(self) -> str:
        """How far contributions can be trusted: `high` from an R² of .9, `fair` from .7, else `low`.

        What was not measured is `unknown`.
        """
        if not math.isfinite(self.r2):
            return "unknown"
        return "high" if self.r2 >= 0.9 else "fair" if self.r2 >= 0.7 else "low"


@dataclass(frozen=True, repr=False)
class Quality:
    """Fidelity of the surrogate to the black box on report rows, and how the explainer was made.

    Parameters
    ----------
    report
        Agreement of decisions and R² of probabilities on the report rows.
    baseline
        The same for the global surrogate, a logistic regression on the inputs.
    classes
        Per class: agreement on the rows that the black box gave this class, and R² of its probability.
    encoder, n_latents, alignment
        What explains, and how much of the objective's alignment of explanations was kept.
    fell_back, reason
        Whether that is the global surrogate, because the local one was not better on validation
        rows, and the figures that decided.
    n_training, n_validation, n_queries, n_asked
        Rows of each kind, and how many rows the black box answered in all.
    seconds
        How long `fit` took.
    sampling
        How the rows were drawn; None where all rows were taken.
    """

    report: Fidelity
    baseline: Fidelity
    classes: tuple[ClassQuality, ...]
    encoder: str
    n_latents: int
    alignment: float | None
    fell_back: bool
    reason: str
    n_training: int
    n_validation: int
    n_queries: int
    n_asked: int
    seconds: float
    sampling: Sampling | None = None
    contributions: ContributionQuality | None = None
    ignored: tuple[str, ...] = ()

    @property
    def agreement(self) -> float:
        """Share of report rows on which surrogate and black box decide alike."""
        return self.report.agreement

    @property
    def r2(self) -> float:
        """R² of the black box's probabilities on report rows."""
        return self.report.r2

    @property
    def few(self) -> str:
        """What speaks against these figures where they rest on very few rows; else nothing."""
        n = self.report.n_rows
        if min(n, self.n_validation) >= FEW:
            return ""
        return (
            f"only {n} report and {self.n_validation} validation rows, so the figures mean little: were all "
            f"{n} alike, the agreement might still be {wilson(1.0, n)[0]:.2f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        return asdict(self)

    def __repr__(self) -> str:
        low, high = self.report.interval
        width = max(len("all classes"), *(len(c.name) for c in self.classes))
        lines = [
            f"Quality on {self.report.n_rows} report rows, which chose nothing",
            f"  {'':<{width}}  agreement      R²   rows",
            f"  {'all classes':<{width}}  {self.agreement:>9.3f}  {self.r2:>6.3f}  {self.report.n_rows:>5}"
            f"   95 % interval of the agreement {low:.3f} to {high:.3f}",
        ]
        lines += [
            f"  {c.name:<{width}}  {c.agreement:>9.3f}  {c.r2:>6.3f}  {c.n_rows:>5}" for c in self.classes
        ]
        what = f"{self.encoder} encoder, {self.n_latents} latents"
        if self.alignment is not None:
            what += f", alignment {self.alignment:g}"
        if self.fell_back:
            what = "fell back to the global surrogate"
        lines += [
            f"explained by: {what}; global surrogate on the same rows: {self.baseline.agreement:.3f} "
            f"(R² {self.baseline.r2:.3f})",
            f"chosen because {self.reason}",
            f"learned from {self.n_training} rows and {self.n_queries} queries; the black box "
            f"answered {self.n_asked} rows in all; {self.seconds:.1f} s",
            *([] if self.sampling is None else [str(self.sampling)]),
            *([self.few] if self.few else []),
        ]
        return "\n".join(lines)

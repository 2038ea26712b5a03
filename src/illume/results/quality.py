"""Quality of an explainer, measured on held-out rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.metrics.fidelity import Fidelity, wilson
from illume.results.effort import next_effort


@dataclass(frozen=True, eq=False)
class Calibration:
    """Rows grouped by the surrogate's probability of a class, with what the black box says of them.

    Parameters
    ----------
    name
        The class.
    edges
        Where the groups begin and end, (b + 1,), from 0 to 1.
    n_rows
        How many rows are in each group, (b,).
    surrogate, black_box
        Mean probability of both in each group, (b,); NaN in an empty one.
    low, high
        Between these lie 80 % of the black box's probabilities in each group, (b,).
    """

    name: str
    edges: FloatArray
    n_rows: IntArray
    surrogate: FloatArray
    black_box: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def error(self) -> float:
        """Mean difference of the two over all rows, group by group; NaN without rows."""
        known = self.n_rows > 0
        if not known.any():
            return float("nan")
        gap = np.abs(self.surrogate - self.black_box)[known]
        return float(np.average(gap, weights=self.n_rows[known]))


def calibration(P: FloatArray, Q: FloatArray, name: str, n_bins: int = 10) -> Calibration:
    """Group the surrogate's probabilities Q (n,) of a class, and compare with the black box's P (n,).

    >>> found = calibration(np.array([0.0, 0.4, 1.0]), np.array([0.1, 0.2, 0.9]), "yes", n_bins=2)
    >>> found.n_rows, found.surrogate.round(2), found.black_box.round(2)
    (array([2, 1]), array([0.15, 0.9 ]), array([0.2, 1. ]))
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be a positive integer, found {n_bins!r}")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    group = np.digitize(Q, edges[1:-1])
    figures = np.full((4, n_bins), np.nan)
    for b in np.unique(group):
        inside = group == b
        figures[:, b] = Q[inside].mean(), P[inside].mean(), *np.quantile(P[inside], [0.1, 0.9])
    surrogate, black_box, low, high = figures
    return Calibration(name, edges, np.bincount(group, minlength=n_bins), surrogate, black_box, low, high)


@dataclass(frozen=True, eq=False)
class ClassAgreement:
    """On what share of the rows that the black box gave each class the surrogate decides alike.

    Parameters
    ----------
    names
        The classes, (c,).
    n_rows, n_agreed
        How many rows the black box gave each class, and on how many of them the surrogate agrees, (c,).
    """

    names: tuple[str, ...]
    n_rows: IntArray
    n_agreed: IntArray

    @property
    def agreement(self) -> FloatArray:
        """The shares, (c,); NaN for a class that no row was given."""
        return np.where(self.n_rows > 0, self.n_agreed / np.maximum(self.n_rows, 1), np.nan)

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the shares (Wilson's)."""
        return wilson(np.nan_to_num(self.agreement), self.n_rows)

    @property
    def total(self) -> float:
        """The share of all rows; NaN without rows."""
        n = int(self.n_rows.sum())
        return int(self.n_agreed.sum()) / n if n else float("nan")


def class_agreement(decisions: IntArray, surrogate: IntArray, names: tuple[str, ...]) -> ClassAgreement:
    """Count decisions of the black box (n,) and how many of them the surrogate (n,) shares.

    >>> found = class_agreement(np.array([0, 0, 1]), np.array([0, 1, 1]), ("no", "yes"))
    >>> found.agreement, found.total.__round__(3)
    (array([0.5, 1. ]), 0.667)
    """
    n = np.bincount(decisions, minlength=len(names))
    agreed = np.bincount(decisions[decisions == surrogate], minlength=len(names))
    return ClassAgreement(names, n, agreed)


FEW = 20  # rows that chose, or are reported on: fewer say next to nothing
HIGH, FAIR, LOW, UNKNOWN = "high", "fair", "low", "unknown"
HIGH_R2, SURELY_HIGH_R2 = 0.9, 0.8  # measured, and the lower end of its 95 % interval
FAIR_R2, SURELY_FAIR_R2 = 0.7, 0.5
NAMED_IGNORED = 8


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
        """How far contributions can be trusted: `high`, `fair`, `low`, or `unknown` where not measured.

        `high` takes an R² of .9, whose 95 % interval begins at .8 or above, on 20 rows or more; `fair` takes
        .7 and .5.
        """
        if not math.isfinite(self.r2):
            return UNKNOWN
        if self.r2 >= HIGH_R2 and self.low >= SURELY_HIGH_R2 and self.n_rows >= FEW:
            return HIGH
        return FAIR if self.r2 >= FAIR_R2 and self.low >= SURELY_FAIR_R2 else LOW

    def __str__(self) -> str:
        if self.word == UNKNOWN:
            return f"Contributions: trust unknown; {self.n_rows} held-out rows are too few to measure it"
        known = math.isfinite(self.coverage)
        lines = [
            f"Contributions: trust {self.word}; measured on {self.n_rows} held-out rows",
            f"  R²             {self.r2:>6.3f}   95 % interval {self.low:.3f} to {self.high:.3f}",
            f"  typical error  {self.error:>6.3f}   in log-odds",
            f"  coverage       {self.coverage:>6.3f}   of 95 % intervals: how many hold the model's own "
            "value",
        ]
        return "\n".join(lines if known else lines[:-1])


@dataclass(frozen=True, repr=False)
class Quality:
    """How true explanations are, measured on report rows, which are held out; and how the explainer was made.

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
    contributions
        How true contributions are; None of kind `pullback`, where this is not measured.
    ignored
        Columns that the model ignores: their contributions are exactly 0.
    majority
        Share of the most common decision on the report rows, which is the agreement that one reaches without
        looking at a row.
    effort, n_features
        How much the fit spent on contributions, and for how many features.
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
    majority: float = math.nan
    effort: str | None = None
    n_features: int = 0

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

    @property
    def worst(self) -> ClassQuality | None:
        """The class with the lowest agreement among those that report rows have; None without any."""
        seen = [c for c in self.classes if c.n_rows and math.isfinite(c.agreement)]
        return min(seen, key=lambda c: c.agreement, default=None)

    @property
    def more(self) -> str:
        """What a fit with more effort would do, by arithmetic; nothing where truth is not measured."""
        found = self.contributions
        if found is None or not math.isfinite(found.r2) or self.effort is None:
            return ""
        missed = f"contributions miss {max(1 - found.r2, 0.0):.1%} of the variance"
        step = next_effort(self.effort, self.n_features, self.n_queries)
        if step is None:
            return f"{missed}, at the highest effort; refine=64 or more asks the model about each row"
        return (
            f"{missed}; effort={step.name!r} with queries='auto' would learn from up to {step.n_queries:,} "
            "queries "
            f"(now {self.n_queries:,}) and take about {step.ratio:.0f} times the operations to learn the "
            "model"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; what could not be measured is NaN."""
        return asdict(self)

    def __repr__(self) -> str:
        return "\n".join([*self._contributions(), *self._agreement(), *self._origin()])

    def _contributions(self) -> list[str]:
        if self.contributions is None:
            return [
                "Contributions: the surrogate's (pullback); how true they are of the model is not measured"
            ]
        names = ", ".join(self.ignored[:NAMED_IGNORED])
        others = len(self.ignored) - NAMED_IGNORED
        return [
            str(self.contributions),
            *([f"  {self.more}"] if self.more else []),
            *([f"  the model ignores {names}{f' and {others} more' if others > 0 else ''}"] if names else []),
        ]

    def _agreement(self) -> list[str]:
        n, (low, high) = self.report.n_rows, self.report.interval
        width = max(len(name) for name in ("all classes", "majority", *(c.name for c in self.classes)))
        worst = self.worst
        lines = [
            f"Surrogate of slopes, rules and counterfactuals: measured on {n} held-out report rows",
            f"  {'':<{width}}  agreement      R²   rows",
            f"  {'all classes':<{width}}  {self.agreement:>9.3f}  {self.r2:>6.3f}  {n:>5}"
            f"   95 % interval of the agreement {low:.3f} to {high:.3f}",
        ]
        if math.isfinite(self.majority):
            lines.append(
                f"  {'majority':<{width}}  {self.majority:>9.3f}  {'':>6}  {n:>5}   always the most common "
                "decision"
            )
        lines += [
            f"  {c.name:<{width}}  {c.agreement:>9.3f}  {c.r2:>6.3f}  {c.n_rows:>5}"
            + ("   the worst class" if c is worst and len(self.classes) > 1 else "")
            for c in self.classes
        ]
        return lines

    def _origin(self) -> list[str]:
        what = f"{self.encoder} encoder, {self.n_latents} latents"
        if self.alignment is not None:
            what += f", alignment {self.alignment:g}"
        if self.fell_back:
            what = "FELL BACK to the global surrogate, one linear model for all rows"
        return [
            f"explained by: {what}; global surrogate on the same rows: {self.baseline.agreement:.3f} "
            f"(R² {self.baseline.r2:.3f})",
            f"chosen because {self.reason}",
            f"learned from {self.n_training} rows and {self.n_queries} queries; the black box "
            f"answered {self.n_asked} rows in all; {self.seconds:.1f} s",
            *([] if self.sampling is None else [str(self.sampling)]),
            *([self.few] if self.few else []),
        ]


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

"""Quality of explanations, measured on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.metrics.fidelity import Fidelity, wilson
from illume.results.dictionary import NO_LABELS, DataDictionary
from illume.results.display import Shown, Table
from illume.results.noise import Noise

FEW, ENOUGH = 20, 50  # fewer held-out rows say next to nothing; with fewer, standard errors are widened
HIGH, FAIR, LOW, UNKNOWN = "high", "fair", "low", "unknown"
HIGH_R2, SURELY_HIGH_R2 = 0.9, 0.8  # measured, and the lower end of its 95 % interval
FAIR_R2, SURELY_FAIR_R2 = 0.7, 0.5
IGNORED_SHOWN = 8


@dataclass(frozen=True)
class ClassQuality:
    """Figures of one output: for a class, agreement and error on the report rows that the black box gave it.

    R² is on all report rows; so are all figures of a number.
    """

    name: str
    agreement: float
    r2: float
    n_rows: int
    error: float = math.nan


@dataclass(frozen=True)
class Sampling:
    """How the rows of a fit were drawn: uniformly, without replacement.

    >>> print(Sampling(10_000_000, 200_000, seed=0))
    fitted on 200,000 of 10,000,000 rows, drawn at random with seed 0
    """

    n_rows: int
    n_drawn: int
    seed: int | None

    def __str__(self) -> str:
        seed = "" if self.seed is None else f" with seed {self.seed}"
        return f"fitted on {self.n_drawn:,} of {count(self.n_rows, 'row')}, drawn at random{seed}"


@dataclass(frozen=True)
class NextEffort:
    """The next level of effort: its number of queries, and its training cost relative to this fit."""

    name: str
    n_queries: int
    ratio: float


@dataclass(frozen=True)
class ContributionQuality:
    """How close contributions are to the model's Shapley values on held-out rows.

    Parameters
    ----------
    r2, low, high
        Share of the variance of the model's Shapley values that contributions explain, over rows and
        features, with a 95 % interval; the noise of the estimated Shapley values is removed.
    error
        Typical (root mean square) error of a contribution; of several numbers, in standard deviations.
    coverage
        Share of contributions whose 95 % interval holds the model's Shapley value.
    n_rows, n_asked
        Number of rows measured, and of predictions that the model made for it.
    fidelity
        R² of the model's score on held-out mixed rows.
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

        `high` needs an R² of .9, a 95 % interval that begins at .8 or above, and 20 rows or more; `fair`
        needs .7 and .5.
        """
        if not math.isfinite(self.r2):
            return UNKNOWN
        if self.r2 >= HIGH_R2 and self.low >= SURELY_HIGH_R2 and self.n_rows >= FEW:
            return HIGH
        return FAIR if self.r2 >= FAIR_R2 and self.low >= SURELY_FAIR_R2 else LOW

    def describe(self, outputs: Outputs) -> str:
        """Return the figures as text."""
        if self.word == UNKNOWN:
            return f"Contributions: trust unknown; too few held-out rows to measure it ({self.n_rows})"
        lines = [
            f"Contributions: trust {self.word}; measured on {count(self.n_rows, 'held-out row')}",
            f"  R²             {self.r2:>6.3f}   95 % interval {self.low:.3f} to {self.high:.3f}",
            f"  typical error  {outputs.format_typical_error(self.error):>6}   in {outputs.error_unit}",
        ]
        if math.isfinite(self.coverage):
            meaning = "of 95 % intervals: how many hold the model's own value"
            lines.append(f"  coverage       {self.coverage:>6.3f}   {meaning}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Quality(Shown):
    """Quality of explanations on held-out report rows, and how the explainer was fitted.

    Parameters
    ----------
    report, baseline, classes
        Agreement with the black box, R² and error of its answers on the report rows; the same for the global
        surrogate, a linear model on the inputs; and by class or number.
    outputs
        What the black box answers.
    fell_back, reason
        Whether the global surrogate explains, because the local one was not better on validation rows, and
        the figures that decided.
    n_training, n_validation, n_queries, n_asked
        Rows of each kind, and the number of rows that the black box answered in all.
    sampling, contributions
        None where all rows were used; None for kind `pullback`, where contributions are not measured.
    ignored, noise
        Columns that the model ignores: their contributions are exactly 0. How far the model's answers to the
        same rows are apart; None where they are the same.
    majority
        Share of the most common decision on the report rows: the agreement of a constant prediction.
    effort, next_effort
        The effort spent on contributions, and the next level; None after the highest.
    dictionary
        What features are called in texts.
    """

    report: Fidelity
    baseline: Fidelity
    classes: tuple[ClassQuality, ...]
    outputs: Outputs
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
    next_effort: NextEffort | None = None
    noise: Noise | None = None
    dictionary: DataDictionary = NO_LABELS

    @property
    def agreement(self) -> float:
        """Share of report rows on which surrogate and black box agree.

        They decide alike, or their numbers are within a tenth of a standard deviation.
        """
        return self.report.agreement

    @property
    def error(self) -> float:
        """Mean absolute error of the surrogate's numbers, or total variation of its probabilities."""
        return self.report.error

    @property
    def r2(self) -> float:
        """R² of the black box's answers on report rows."""
        return self.report.r2

    @property
    def few(self) -> str:
        """A caution if the figures are measured on very few rows; otherwise empty."""
        n = self.report.n_rows
        if min(n, self.n_validation) >= FEW:
            return ""
        return (
            f"only {n} held-out and {self.n_validation} validation rows, so the figures mean little: were "
            f"all {n} alike, the agreement might still be {wilson(1.0, n)[0]:.2f}"
        )

    @property
    def worst(self) -> ClassQuality | None:
        """The class with the lowest agreement among those in the report rows; None without any."""
        seen = [c for c in self.classes if c.n_rows and math.isfinite(c.agreement)]
        return min(seen, key=lambda c: c.agreement, default=None)

    @property
    def source(self) -> str:
        """What the surrogate is, in words; `encoder`, `n_latents` and `alignment` say how it was made."""
        local = self.encoder == "meta" and not self.fell_back
        return f"one linear model for {'every row' if local else 'all rows'}"

    @property
    def queries_for_errors(self) -> int:
        """How many queries would measure errors of contributions on 50 rows; 0 where they are not needed."""
        n, wanted = self.contributions.n_rows if self.contributions else 0, min(ENOUGH, self.report.n_rows)
        return -(-self.n_queries * wanted // (10_000 * n)) * 10_000 if 0 < n < wanted else 0

    @property
    def more(self) -> str:
        """What a fit with more effort would cost; empty where contributions are not measured."""
        found = self.contributions
        if found is None or not math.isfinite(found.r2) or self.effort is None:
            return ""
        needed = self.queries_for_errors
        wide = f", and standard errors are wide (queries={needed:_} would narrow them)" if needed else ""
        missed = f"contributions miss {max(1 - found.r2, 0.0):.1%} of the variance{wide}"
        step = self.next_effort
        if step is None:
            return f"{missed}, at the highest effort; refine=64 or more asks the model about each row"
        return (
            f"{missed}; effort={step.name!r} with queries='auto' would learn from up to {step.n_queries:,} "
            f"queries (now {self.n_queries:,}) and take about {step.ratio:.0f} times the operations to learn "
            "the model"
        )

    @property
    def ignored_text(self) -> str:
        """Which columns the model ignores, in words; empty without any."""
        names = ", ".join(map(self.dictionary.label, self.ignored[:IGNORED_SHOWN]))
        others = len(self.ignored) - IGNORED_SHOWN
        return f"the model ignores {names}{f' and {others} more' if others > 0 else ''}" if names else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; NaN for figures that were not measured."""
        return asdict(self)

    def describe(self) -> Iterator[str | Table]:
        """Yield the printed lines, and agreement as a table."""
        yield f"Explains a model that answers with {self.outputs.kind}"
        if self.contributions is None:
            yield "Contributions: the surrogate's (pullback); how true they are of the model is not measured"
        else:
            yield from self.contributions.describe(self.outputs).splitlines()
            yield from (f"  {note}" for note in (self.more, self.ignored_text) if note)
        if self.noise is not None:
            yield self.noise.describe(self.outputs)
        n = self.report.n_rows
        yield f"Surrogate, behind slopes and rules: measured on {count(n, 'held-out row')}"
        yield Table(self._lines(), "<>>>><", head=True)
        if self.fell_back:
            yield f"FELL BACK to the global surrogate, {self.source}"
        else:
            baseline = f"{self.baseline.agreement:.3f} (R² {self.baseline.r2:.3f})"
            yield f"it is {self.source}; the global surrogate, one for all rows, agrees on {baseline}"
        yield f"chosen because {self.reason}"
        asked = f"the black box answered {count(self.n_asked, 'row')} in all; {self.seconds:.1f} s"
        yield f"learned from {count(self.n_training, 'row')} and {count(self.n_queries, 'query')}; {asked}"
        yield from (str(note) for note in (self.sampling, self.few) if note)

    def _lines(self) -> list[list[str]]:
        """Return a line for all report rows, for a constant answer, and for every class or number."""
        n, (low, high), show = self.report.n_rows, self.report.interval, self.outputs.format_answer_error
        interval = f" 95 % interval of the agreement {low:.3f} to {high:.3f}"
        lines = [["all rows", f"{self.agreement:.3f}", f"{self.r2:.3f}", show(self.error), f"{n}", interval]]
        if math.isfinite(self.majority):
            lines.append(
                ["majority", f"{self.majority:.3f}", "", "", f"{n}", " always the most common decision"]
            )
        worst = self.worst if len(self.classes) > 1 else None
        for c in self.classes if len(self.classes) > 1 else ():
            error = self.outputs.single(self.outputs.names.index(c.name)).format_answer_error(c.error)
            r2 = "" if self.outputs.shares_r2 else f"{c.r2:.3f}"
            figures = [f"{c.agreement:.3f}", r2, error, f"{c.n_rows}"]
            lines.append([c.name, *figures, " the worst" if c is worst else ""])
        note = self.outputs.agreement_note
        return [["", "agreement", "    R²", "error", " rows", note], *lines]


@dataclass(frozen=True, repr=False)
class RuleQuality(Shown):
    """Quality of the rules of report rows, each measured on the other report rows.

    Parameters
    ----------
    precision, coverage, n_conditions
        Means over the rules of report rows, polished to the default precision.
    n_rules, n_rows
        Number of rules, and of report rows that they were measured on.
    agreement, faithful
        Share of report rows on which the tree decides like the black box, before and after refinement.
    width, outputs
        Mean width of the intervals that rules on numbers end in, whose precision is the share of covered
        rows inside; and what the black box answers.
    source, reason
        The tree that the rules come from, `local` or `global`, and the figures on validation rows that
        decided.
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
    outputs: Outputs
    width: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values; NaN for figures that were not measured."""
        return asdict(self)

    def describe(self) -> Iterator[str]:
        """Yield the printed lines."""
        yield f"Rules of {count(self.n_rules, 'held-out row')}, measured on {count(self.n_rows, 'such row')}"
        means = f"mean precision {self.precision:.3f}, mean coverage {self.coverage:.3f}"
        if math.isfinite(self.width):
            width = self.outputs.format_bound(self.width)
            inside = f"{self.precision:.3f} of the rows that a rule covers are in its interval (wanted: 0.9)"
            means = f"{inside}, mean width {width}, mean coverage {self.coverage:.3f}"
        yield f"  {means}, {self.n_conditions:.1f} conditions"
        agreement = (
            f"{self.agreement:.3f} of them, on {self.faithful:.3f} after small moves towards similar rows"
        )
        if math.isfinite(self.width):
            yield f"  {self.agreement:.3f} of them hold the row's own prediction without being widened"
        else:
            yield f"  the tree decides like the model on {agreement}"
        size = f"{count(self.n_leaves, 'leaf')}, {count(self.depth, 'level')}"
        inputs = count(self.n_latents, "latent" if self.source == "local" else "input")
        yield f"from the {self.source} tree: {size}, on {inputs}"
        yield f"chosen because {self.reason}; {self.seconds:.1f} s"

"""Quality of explanations, measured on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.metrics.fidelity import Fidelity, wilson
from illume.results.dictionary import NO_LABELS, DataDictionary
from illume.results.display import Shown, Table
from illume.results.levels import EXACT, FAIR, FAIR_SHARE, HIGH, HIGH_SHARE, LOW, UNKNOWN
from illume.results.noise import Noise

FEW, ENOUGH = 20, 50  # fewer held-out rows say next to nothing; with fewer, standard errors are widened
HIGH_R2, SURELY_HIGH_R2 = HIGH_SHARE, 0.8  # measured, and the lower end of its 95 % interval
FAIR_R2, SURELY_FAIR_R2 = FAIR_SHARE, 0.5
IGNORED_SHOWN = 8
CLOSE = 0.99  # fidelity of the network, below which refining pays


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
class FewerQueries:
    """That a model is too slow for as many queries as data and effort deserve.

    >>> print(FewerQueries(10_000, 50_000, seconds=1_000))  # doctest: +NORMALIZE_WHITESPACE
    the model is slow: it was asked 10,000 queries, because 50,000 would take about 1,000 s;
    fit with queries=50_000 to ask them all
    """

    n_queries: int
    wanted: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"the model is slow: it was asked {self.n_queries:,} queries, because {self.wanted:,} would take "
            f"about {self.seconds:,.0f} s; fit with queries={self.wanted:_} to ask them all"
        )


@dataclass(frozen=True)
class FeatureErrors:
    """Of one feature's contributions on held-out rows: typical error, typical standard error, and coverage.

    All three are measured as those of all features together; NaN where there is no standard error.
    """

    name: str
    error: float
    standard_error: float
    coverage: float


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
    features
        The same by feature, of those that the model uses; empty where nothing was measured.
    """

    r2: float
    low: float
    high: float
    error: float
    coverage: float
    n_rows: int
    n_asked: int
    fidelity: float
    features: tuple[FeatureErrors, ...] = ()

    @classmethod
    def exact(cls, n_rows: int, n_asked: int) -> ContributionQuality:
        """Return that contributions are the model's own, because it was asked about all possible rows."""
        return cls(1.0, 1.0, 1.0, 0.0, 1.0, n_rows, n_asked, 1.0)

    @property
    def usual_square(self) -> float:
        """The mean square by which the model's Shapley values differ from their means; 0 where not known."""
        known = math.isfinite(self.r2) and self.r2 < 1
        return self.error**2 / (1 - self.r2) if known else 0.0

    def in_units(self, unit: float) -> ContributionQuality:
        """Return the same with errors in units."""
        features = tuple(
            replace(each, error=unit * each.error, standard_error=unit * each.standard_error)
            for each in self.features
        )
        return replace(self, error=unit * self.error, features=features)

    @property
    def word(self) -> str:
        """How far contributions can be trusted: `high`, `fair`, `low`, or `unknown` where not measured.

        `high` needs an R² of .9, a 95 % interval that begins at .8 or above, and 20 rows or more; `fair`
        needs .7 and .5. `exact` are those that follow from the model's answers to all possible rows.
        """
        if self.error == 0 and self.r2 == 1:
            return EXACT
        if not math.isfinite(self.r2):
            return UNKNOWN
        if self.r2 >= HIGH_R2 and self.low >= SURELY_HIGH_R2 and self.n_rows >= FEW:
            return HIGH
        return FAIR if self.r2 >= FAIR_R2 and self.low >= SURELY_FAIR_R2 else LOW

    def describe(self, outputs: Outputs) -> str:
        """Return the figures as text."""
        if self.word == UNKNOWN:
            return f"Contributions: trust unknown; too few held-out rows to measure it ({self.n_rows})"
        if self.word == EXACT:
            return "Contributions: exact, since they follow from the model's answers to all possible rows"
        lines = [
            f"Contributions: trust {self.word}; measured on {count(self.n_rows, 'held-out row')}",
            f"  R²             {self.r2:>6.3f}   95 % interval {self.low:.3f} to {self.high:.3f}",
            f"  typical error  {outputs.format_typical_error(self.error):>6}   in {outputs.error_unit}",
        ]
        if math.isfinite(self.coverage):
            meaning = "of 95 % intervals: how many hold the model's own value"
            lines.append(f"  coverage       {self.coverage:>6.3f}   {meaning}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SurrogateQuality:
    """Quality of the latent surrogate, behind slopes, latents and rules, on held-out report rows.

    Parameters
    ----------
    report, baseline
        Agreement with the model, R² and error of its answers; the same for the global surrogate, a linear
        model on the inputs.
    fell_back, reason
        Whether the global surrogate explains, because the local one was not better on validation rows, and
        the figures that decided.
    """

    report: Fidelity
    baseline: Fidelity
    classes: tuple[ClassQuality, ...]
    encoder: str
    n_latents: int
    fell_back: bool
    reason: str
    seconds: float

    @property
    def agreement(self) -> float:
        """Share of report rows on which surrogate and model agree."""
        return self.report.agreement

    @property
    def r2(self) -> float:
        """R² of the model's answers on report rows."""
        return self.report.r2

    @property
    def source(self) -> str:
        """What the surrogate is, in words; `encoder` and `n_latents` say how it was made."""
        local = self.encoder == "meta" and not self.fell_back
        return f"one linear model for {'every row' if local else 'all rows'}"

    def describe(self, outputs: Outputs) -> Iterator[str | Table]:
        """Yield the printed lines."""
        n = self.report.n_rows
        yield f"Latent surrogate, behind slopes, latents and rules; {count(n, 'held-out row')}"
        yield Table([agreement_line("all rows", self.report, outputs)], "<>>>")
        if self.fell_back:
            yield f"FELL BACK to the global surrogate, {self.source}"
        else:
            agrees = f"agrees on {self.baseline.agreement:.3f} (R²" if outputs.decides else "has (R²"
            baseline = f"{agrees} {self.baseline.r2:.3f})"
            yield f"it is {self.source}; the global surrogate, one for all rows, {baseline}"
        yield f"chosen because {self.reason}; {self.seconds:.1f} s"


def agreement_line(name: str, found: Fidelity, outputs: Outputs) -> list[str]:
    """Return how close answers are as a line of a table: agreement of decisions, R² and error."""
    agreement = f"agreement {found.agreement:.3f}" if outputs.decides else ""
    return [name, agreement, f"R² {found.r2:.3f}", f"error {outputs.format_answer_error(found.error)}"]


@dataclass(frozen=True, repr=False)
class Quality(Shown):
    """How true explanations are, on held-out report rows, and how the explainer was fitted.

    Parameters
    ----------
    report, classes
        How close the twin's answers are to the model's on the report rows: agreement, R² and error; and by
        class or number.
    outputs
        What the model answers.
    exact, reason
        Whether the twin was read from the model; where not, why it was learned.
    n_background
        Number of background rows.
    n_training, n_validation, n_queries, n_asked
        Rows of each kind, and the number of rows that the model answered in all.
    sampling, contributions
        None where all rows were used; None for kind `pullback`, where contributions are not measured.
    ignored, noise
        Columns that the model ignores: their contributions are exactly 0. How far the model's answers to the
        same rows are apart; None where they are the same.
    majority
        Share of the most common decision on the report rows: the agreement of a constant prediction.
    effort, next_effort, fewer
        The effort spent on contributions, and the next level; None after the highest. What a slow model was
        not asked; None where it was asked all.
    interrupted
        Whether the training was interrupted, and the best so far was kept.
    surrogate
        The quality of the latent surrogate, once it was trained.
    dictionary
        What features are called in texts.
    """

    report: Fidelity
    classes: tuple[ClassQuality, ...]
    outputs: Outputs
    exact: bool
    reason: str
    n_background: int
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
    fewer: FewerQueries | None = None
    interrupted: bool = False
    surrogate: SurrogateQuality | None = None
    dictionary: DataDictionary = NO_LABELS

    @property
    def word(self) -> str:
        """How far contributions can be trusted: `exact`, `high`, `fair`, `low`, or `unknown`."""
        if self.exact:
            return EXACT
        return UNKNOWN if self.contributions is None else self.contributions.word

    @property
    def agreement(self) -> float:
        """Share of report rows on which the twin and the model agree: they decide alike."""
        return self.report.agreement

    @property
    def error(self) -> float:
        """Mean absolute error of the twin's numbers, or total variation of its probabilities."""
        return self.report.error

    @property
    def r2(self) -> float:
        """R² of the model's answers on report rows."""
        return self.report.r2

    @property
    def few(self) -> str:
        """A caution if the figures are measured on very few rows; otherwise empty."""
        n = self.report.n_rows
        if self.exact or min(n, self.n_validation) >= FEW:
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
    def queries_for_errors(self) -> int:
        """How many queries would measure errors of contributions on 50 rows; 0 where they are not needed."""
        n, wanted = self.contributions.n_rows if self.contributions else 0, min(ENOUGH, self.report.n_rows)
        return -(-self.n_queries * wanted // (10_000 * n)) * 10_000 if 0 < n < wanted else 0

    @property
    def more(self) -> str:
        """What a fit with more effort would cost; empty where contributions are exact or not measured."""
        found = self.contributions
        if found is None or not math.isfinite(found.r2) or found.word == EXACT or self.effort is None:
            return ""
        needed = self.queries_for_errors
        wide = f", and standard errors are wide (queries={needed:_} would narrow them)" if needed else ""
        missed = f"contributions miss {max(1 - found.r2, 0.0):.1%} of the variance{wide}"
        step = self.next_effort
        if step is None:
            return f"{missed}, at the highest effort; refine=64 or more asks the model about each row"
        refine = ", or refine=64 asks the model about each row" if found.fidelity < CLOSE else ""
        return (
            f"{missed}; effort={step.name!r} would learn from {step.n_queries:,} queries (now "
            f"{self.n_queries:,}) and take about {step.ratio * self.seconds:,.0f} s{refine}"
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
        """Yield the printed lines, and how close the twin's answers are as a table."""
        yield f"Explains a model that answers with {self.outputs.kind}"
        if self.exact:
            yield f"Contributions: exact, in {self.outputs.describe_scales()}; read from the model, no errors"
        elif self.contributions is None:
            yield "Contributions: the surrogate's (pullback); how true they are of the model is not measured"
        else:
            yield from self.contributions.describe(self.outputs).splitlines()
        yield from (f"  {note}" for note in (self.more, self.ignored_text) if note)
        if self.noise is not None:
            yield self.noise.describe(self.outputs)
        if self.exact:
            yield "Twin: the model itself; what was read gives its answers to fitted and mixed rows"
        elif self.contributions is not None:
            held_out = count(self.report.n_rows, "held-out row")
            yield f"Twin: a network; measured on {held_out} (the model was not read: {self.reason})"
            yield Table(self._lines(), "<>>><")
        if self.surrogate is not None:
            yield from self.surrogate.describe(self.outputs)
        asked = f"the model answered {count(self.n_asked, 'row')} in all; {self.seconds:.1f} s"
        queries = "" if self.exact else f" and {count(self.n_queries, 'query')}"
        yield f"compared with {count(self.n_background, 'background row')}; learned from " + (
            f"{count(self.n_training, 'row')}{queries}; {asked}"
        )
        yield from (str(note) for note in (self.fewer, self.sampling, self.few) if note)

    def _lines(self) -> list[list[str]]:
        """Return a line for all report rows, and for every class or number."""
        low, high = self.report.interval
        note = f" 95 % interval {low:.3f} to {high:.3f}" if self.outputs.decides else ""
        lines = [[*agreement_line("all rows", self.report, self.outputs), note]]
        worst = self.worst if len(self.classes) > 1 else None
        for c in self.classes if len(self.classes) > 1 else ():
            own = self.outputs.single(self.outputs.names.index(c.name))
            found = Fidelity(c.agreement, c.r2, c.n_rows, c.error)
            note = f" {count(c.n_rows, 'row')}" + (", the worst" if c is worst and c.agreement < 1 else "")
            lines.append([*agreement_line(c.name, found, own), note])
        return lines


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

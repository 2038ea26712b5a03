"""What a report says and shows of a model's answers: decisions between classes, or numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from illume.data.class_outputs import Classes
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.data.scales import PROBABILITY
from illume.explanations.counterfactual_request import NUMBER_WISHES, CounterfactualRequest
from illume.explanations.rules import RuleRequest
from illume.report.words import count, enumerate_names, figure, percent, quote
from illume.results.attributions import Attributions
from illume.results.quality import Quality

LOW_AGREEMENT = 0.8
N_CLASSES = 6
N_BANDS = 5  # of predictions, with a colour each
DESIRED = 0.5  # standard deviations upwards, that counterfactuals of numbers should reach


class Answers(ABC):
    """Words and figures that depend on what a model answers."""

    verb: ClassVar[str]
    noun: ClassVar[str]
    output_noun: ClassVar[str]
    outputs_noun: ClassVar[str]
    measures: ClassVar[tuple[str, str]]
    measured: ClassVar[str]
    variance: ClassVar[str]
    support: ClassVar[str]
    decided: ClassVar[str] = ""

    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs

    @property
    def score(self) -> str:
        """What contributions add up to, in a word."""
        return "predictions"

    @abstractmethod
    def scale(self) -> str:
        """Return what contributions are in."""

    @abstractmethod
    def meanings(self) -> list[str]:
        """Return what the contributions to each output are to."""

    @abstractmethod
    def summary(self, found: Attributions) -> str:
        """Return what the model answered, in a sentence."""

    @abstractmethod
    def row_data(self, found: Attributions) -> dict[str, Any]:
        """Return the answers to all rows: arrays, and how to show them."""

    @property
    @abstractmethod
    def least_agreement(self) -> float:
        """Return how often a good twin agrees with the model at least."""

    @abstractmethod
    def is_low(self, agreement: float) -> bool:
        """Whether agreement is too low."""

    @abstractmethod
    def twin_figures(self, quality: Quality) -> str:
        """Return how close the network that learned the model is to it, in sentences."""

    @abstractmethod
    def closeness(self, found: Any) -> tuple[float, str]:
        """Return the main figure of `Fidelity`, or of one class or number, from 0 to 1; and another one."""

    def tile(self, quality: Quality) -> tuple[str, str, str]:
        """Return the main figure of a learned twin, what it is, and a note."""
        low, high = quality.report.interval
        note = f"{percent(low)} to {percent(high)}, on held-out rows"
        worst = quality.worst
        if worst is not None and len(quality.classes) > 1:
            note += f"; lowest for {quote(worst.name)}: {percent(worst.agreement)}"
        if not math.isnan(quality.majority):
            note += f"; always the most common decision: {percent(quality.majority)}"
        return percent(quality.agreement), "agreement of twin and model", note

    def error_facts(self, quality: Quality) -> list[tuple[str, str]]:
        """Return further facts on how far a twin is off."""
        return []

    def requests(
        self, n: int, options: Mapping[str, Any], page: str = "report"
    ) -> tuple[RuleRequest, CounterfactualRequest, str]:
        """Return which rules and counterfactuals a page asks for, and what these reach."""
        known = [name for name in CounterfactualRequest.__dataclass_fields__ if name != "n"]
        for name in options.keys() - set(known):
            raise TypeError(f"{page} has no option {name!r}; those of counterfactuals are {', '.join(known)}")
        own = options.keys().isdisjoint(NUMBER_WISHES[:3])
        search = CounterfactualRequest(n, **{**self.wish(own), **options})
        text = search.goal(self.outputs, np.empty((0, len(self.outputs)))).text
        usual = own and search.desired_change is not None
        half = ", about half a standard deviation of the predictions" if usual else ""
        sentence = f"Checked on the model: with these changes, it would {text}{self.wish_for(search)}{half}."
        return RuleRequest(output=search.output), search, sentence

    def wish(self, own: bool) -> dict[str, Any]:
        """Return what counterfactuals are for; `own` says that the user has not wished for other numbers."""
        return {}

    def wish_for(self, search: CounterfactualRequest) -> str:
        """Return which output the wish is about."""
        return ""


class ClassAnswers(Answers):
    """Decisions and their probabilities."""

    verb, noun, output_noun = "decides", "decision", "Class"
    outputs_noun, decided = "Classes", "decided "
    measures = "Agreement", "R²"
    measured = (
        "Agreement is the share of held-out rows on which what is named decides like the model, R² the share "
        "of the variance of the model's probabilities that it explains."
    )
    variance = "probabilities"
    support = "Positive ones support the class, negative ones oppose it."

    @property
    def score(self) -> str:
        """See `Answers`."""
        return "probabilities" if self.outputs.scale_name == PROBABILITY else "log-odds"

    def scale(self) -> str:
        """See `Answers`."""
        names = self.outputs.names
        if len(names) == 2:
            return self.meanings()[0]
        if self.outputs.scale_name == PROBABILITY:
            return "probability of each class"
        return f"log-odds of each class against the mean of all {len(names)} classes"

    def meanings(self) -> list[str]:
        """See `Answers`."""
        names = self.outputs.names
        if self.outputs.scale_name == PROBABILITY:
            return [f"probability of {quote(name)}" for name in self.outputs.explained]
        if len(names) == 2:
            at = self.outputs.at
            return [f"log-odds of {quote(names[at])} against {quote(names[1 - at])}"]
        return [f"log-odds of {quote(name)} against the mean of all classes" for name in names]

    def summary(self, found: Attributions) -> str:
        """See `Answers`."""
        counts = np.bincount(found.decisions, minlength=len(found.class_names))
        order = np.argsort(-counts, kind="stable")
        shown = [
            f"{quote(found.class_names[c])} for {counts[c]:,} ({percent(counts[c] / len(found))})"
            for c in order[:N_CLASSES]
        ]
        if len(counts) > N_CLASSES:
            shown.append(f"{count(len(counts) - N_CLASSES, 'other class')} for the rest")
        cutoff, said = self.outputs.cutoff, f"Of these rows, the model decided {enumerate_names(shown)}."
        if cutoff is None:
            return said
        name = quote(found.class_names[cutoff.positive])
        return f"{said} It decides {name} from a probability of {cutoff.threshold:g} on."

    def row_data(self, found: Attributions) -> dict[str, Any]:
        """See `Answers`."""
        rows, decisions = np.arange(len(found)), found.decisions
        positive, cutoff = (
            self.outputs.at if len(self.outputs) == 2 else self.outputs.positive,
            self.outputs.cutoff,
        )
        return {
            "classes": found.class_names,
            "decision": decisions,
            "probability": found.probabilities[rows, decisions],
            "numbers": None,
            "threshold": None if cutoff is None else cutoff.threshold,
            "threshold_class": None if cutoff is None else found.class_names[cutoff.positive],
            "edge": self.outputs.edge,
            "positive": positive,
            "towards": None if positive is None else found.probabilities[:, positive],
        }

    @property
    def least_agreement(self) -> float:
        """See `Answers`."""
        return LOW_AGREEMENT

    def is_low(self, agreement: float) -> bool:
        """See `Answers`."""
        return not agreement >= LOW_AGREEMENT

    def twin_figures(self, quality: Quality) -> str:
        """See `Answers`."""
        report, worst = quality.report, quality.worst
        low, high = report.interval
        text = (
            f"agrees with it on {percent(report.agreement)} (95 % interval {percent(low)} to {percent(high)})"
        )
        if math.isfinite(quality.majority):
            most = percent(quality.majority)
            text += f"; always predicting the most common decision would agree on {most}"
        if worst is not None and len(quality.classes) > 1:
            rows = count(worst.n_rows, "row")
            text += f". Its lowest agreement is on {quote(worst.name)}: {percent(worst.agreement)} of {rows}"
        return f"{text}."

    def closeness(self, found: Any) -> tuple[float, str]:
        """See `Answers`: agreement and R²."""
        return found.agreement, figure(found.r2)


class NumberAnswers(Answers):
    """Predictions, and bands of these that have a colour each."""

    verb, noun, output_noun = "predicts", "prediction", "Output"
    outputs_noun = "Outputs"
    measures = "R²", "Mean absolute error"
    measured = (
        "R² is the share of the variance of the model's predictions on held-out rows that what is named "
        "explains; the error is the mean difference to the model's, without its sign."
    )
    variance = "predictions"
    support = "Positive ones raise the prediction, negative ones lower it."

    def scale(self) -> str:
        """See `Answers`."""
        factors = "; a contribution c is a factor of exp(c)" if self.outputs.link == "log" else ""
        return f"{enumerate_names(self.meanings())}{factors}"

    def meanings(self) -> list[str]:
        """See `Answers`."""
        return [self.outputs.describe_scale(i) for i in range(len(self.outputs))]

    def summary(self, found: Attributions) -> str:
        """See `Answers`."""
        shown = []
        for i, name in enumerate(self.outputs.names):
            low, middle, high = np.quantile(found.predictions[:, i], [0.05, 0.5, 0.95])
            ends = " to ".join(self.outputs.format(end, i) for end in (low, high))
            shown.append(
                f"{name} from {ends} for 90 % of them ({self.outputs.format(middle, i)} in the middle)"
            )
        return f"Of these rows, the model predicted {enumerate_names(shown)}."

    def row_data(self, found: Attributions) -> dict[str, Any]:
        """See `Answers`."""
        P = found.predictions
        edges = np.unique(np.quantile(P[:, 0], np.arange(1, N_BANDS) / N_BANDS))
        ends = [self.outputs.format(edge) for edge in edges]
        bands = [f"below {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends))]
        outputs = self.outputs
        return {
            "classes": [*bands, f"from {ends[-1]}"],
            "decision": np.searchsorted(edges, P[:, 0], side="right"),
            "probability": P[:, 0],
            "numbers": {
                "answers": [outputs.headline(p) for p in P],
                "name": outputs.names[0],
                "decimals": [
                    3 if outputs.link == "log" else outputs.decimals(i) for i in range(len(outputs))
                ],
                "answer_decimals": outputs.decimals(),
                "error_unit": outputs.error_unit,
                "log": outputs.link == "log",
            },
        }

    @property
    def least_agreement(self) -> float:
        """See `Answers`; none."""
        return 0.0

    def is_low(self, agreement: float) -> bool:
        """Return False: for numbers, R² tells."""
        return False

    def tile(self, quality: Quality) -> tuple[str, str, str]:
        """See `Answers`."""
        error, rows = self.outputs.format_answer_error(quality.error), count(quality.report.n_rows, "row")
        return figure(quality.r2), "R² of the twin", f"mean absolute error {error}, on {rows} held out"

    def error_facts(self, quality: Quality) -> list[tuple[str, str]]:
        """See `Answers`."""
        return [("Mean absolute error", self.outputs.format_answer_error(quality.error))]

    def twin_figures(self, quality: Quality) -> str:
        """See `Answers`."""
        error = self.outputs.format_answer_error(quality.error)
        return f"has an R² of {quality.r2:.3f} and a mean absolute error of {error}."

    def closeness(self, found: Any) -> tuple[float, str]:
        """See `Answers`: R² and the mean absolute error."""
        return found.r2, self.outputs.format_answer_error(found.error)

    def wish(self, own: bool) -> dict[str, Any]:
        """See `Answers`."""
        change = {"desired_change": float(f"{DESIRED * self.outputs.spread[0]:.2g}")} if own else {}
        return {"output": 0, **change}

    def wish_for(self, search: CounterfactualRequest) -> str:
        """See `Answers`."""
        return f" for {self.outputs.names[self.outputs.position(search.output)]}"


KINDS: dict[type[Outputs], type[Answers]] = {Classes: ClassAnswers, Numbers: NumberAnswers}


def answers_of(outputs: Outputs) -> Answers:
    """Return what a report says of these outputs."""
    return KINDS[type(outputs)](outputs)

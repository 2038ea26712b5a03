"""Models that answer with probabilities of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.answers import label_positions, require_probabilities
from illume.data.class_words import ClassWords
from illume.data.outputs import Outputs
from illume.data.questions import Cutoff, MostLikely, Question, is_number
from illume.data.scales import (
    CLASS_SCALES,
    LEAST,
    LOG_ODDS,
    MOST,
    PROBABILITY,
    LogOdds,
    Scale,
    Shares,
    are_votes,
)
from illume.errors import BlackBoxError, OptionError, Setting

SAME = 1e-9  # probabilities that differ by no more are equal


@dataclass(frozen=True)
class Classes(ClassWords, Outputs):
    """Probabilities of classes.

    Parameters
    ----------
    labels_only
        Whether the model answers with decisions alone: each has probability 1.
    positive
        The class that explanations are for, as a position; by default the second of two, or of more classes
        the decided one.
    cutoff
        How two classes are decided, if not for the more likely one.
    scale
        What contributions add up to: `log-odds` or `probability`.
    """

    labels_only: bool = False
    positive: int | None = None
    cutoff: Cutoff | None = None
    scale: str = LOG_ODDS
    task: ClassVar[str] = "classification"
    member: ClassVar[str] = "class"
    members: ClassVar[str] = "classes"
    decides: ClassVar[bool] = True
    words: ClassVar[tuple[str, str]] = ("log_odds", "probabilities")
    disagreement: ClassVar[str] = "decides otherwise"

    @property
    def scale_name(self) -> str:
        return self.scale

    @property
    def link(self) -> str:
        return self.scale

    @property
    def error_unit(self) -> str:
        return self.scale

    def on_scale(self, scale: str) -> Self:
        return replace(self, scale=scale)

    def choose_scale(self, scale: str, P: FloatArray) -> str:
        """See `Outputs`; votes have no log-odds."""
        if scale != "auto":
            return scale
        return PROBABILITY if self.labels_only or are_votes(P) else LOG_ODDS

    def answers_of(self, S: FloatArray) -> FloatArray:
        """See `Outputs`.

        >>> Classes(("no", "yes"), scale="probability").answers_of(np.array([[0.25], [1.5]]))
        array([[0.75, 0.25],
               [0.  , 1.  ]])
        """
        if self.scale == LOG_ODDS:
            return self.answers(S)
        shares = np.clip(S, 0.0, 1.0)
        if S.shape[1] == 1:
            return np.concatenate([1.0 - shares, shares], axis=1)
        return np.asarray(shares / np.maximum(shares.sum(1, keepdims=True), 1e-300))

    def parse(self, raw: np.ndarray[Any, Any]) -> FloatArray:
        """See `Outputs`; labels become probabilities of 0 and 1."""
        if self.labels_only:
            return np.eye(len(self))[label_positions(raw, self.names)]
        P = require_probabilities(raw)
        if P.shape[1] != len(self):
            raise BlackBoxError(f"the model answered {P.shape[1]} classes, {len(self)} when fitted")
        return P

    @property
    def explained(self) -> tuple[str, ...]:
        """The positive one of two classes, or every class."""
        return (self.names[self.at],) if len(self.names) == 2 else self.names

    @property
    def at(self) -> int:
        """The position of the positive one of two classes."""
        return 1 if self.positive is None else self.positive

    @property
    def takes_threshold(self) -> bool:  # type: ignore[override]
        """Whether there are two classes with probabilities."""
        return len(self) == 2 and not self.labels_only

    def class_position(self, name: Any) -> int:
        """Return the position of a class, given by its name as text or as the model has it.

        >>> Classes(("0", "1")).class_position(np.int64(1))
        1
        """
        if str(name) not in self.names:
            known = f" {name!r} is not known; choose one of {list(self.names)}"
            raise OptionError(Setting("positive_class"), known)
        return self.names.index(str(name))

    def towards(self, positive_class: Any) -> Self:
        """See `Outputs`; decisions stay as they are."""
        if positive_class is None:
            return self
        position = self.class_position(positive_class)
        return replace(self, positive=None if len(self) == 2 and position == 1 else position)

    def ask(self, positive_class: Any, threshold: float | None) -> Self:
        plain = replace(self, positive=None, cutoff=None).towards(positive_class)
        return plain if threshold is None else replace(plain, cutoff=plain._cutoff(threshold, plain.at))

    def with_threshold(self, threshold: float | None) -> Self:
        if threshold is None:
            return self
        positive = self.at if self.cutoff is None else self.cutoff.positive
        return replace(self, cutoff=self._cutoff(threshold, positive))

    def _cutoff(self, threshold: Any, positive: int) -> Cutoff:
        if len(self) != 2:
            raise OptionError(
                Setting("threshold"),
                f" is for decisions between two classes, and the model has {len(self)}: "
                f"{list(self.names)}; leave it out",
            )
        if self.labels_only:
            raise OptionError(
                "the model answers with decisions alone, so there are no probabilities to compare with a ",
                Setting("threshold"),
                "; leave it out, or pass a model with predict_proba",
            )
        if not is_number(threshold) or not 0 < threshold < 1:
            wrong = f" must be a probability above 0 and below 1, found {threshold!r}"
            raise OptionError(Setting("threshold"), wrong)
        return Cutoff((self.names[0], self.names[1]), positive, float(threshold))

    @property
    def edge(self) -> float | None:
        """See `Outputs`.

        >>> round(Classes(("no", "yes")).ask("yes", 0.2).edge, 3)
        -1.386
        """
        if self.cutoff is None:
            return None
        of_second = self.cutoff.threshold if self.cutoff.positive == 1 else 1 - self.cutoff.threshold
        score = self.cutoff.log_odds if self.scale == LOG_ODDS else of_second
        return float(self.turn_total(np.array(score)))

    def turn(self, array: FloatArray) -> FloatArray:
        """See `Outputs`: the opposite where the first of two classes is explained."""
        return 0.0 - array if len(self) == 2 and self.positive == 0 else array

    def turn_total(self, array: FloatArray) -> FloatArray:
        """See `Outputs`: of a probability, that of the other class."""
        if self.scale == LOG_ODDS or len(self) > 2 or self.positive != 0:
            return self.turn(array)
        return 1.0 - array

    def fit_scale(self, P: FloatArray) -> Scale:
        return LogOdds.fit(P) if self.scale == LOG_ODDS else Shares()

    def read_scale(self, least: float, center: FloatArray, unit: FloatArray) -> Scale:
        if self.scale == PROBABILITY:
            return Shares()
        if not LEAST <= least <= MOST:
            raise ValueError(f"the least probability is {least!r}, expected {LEAST} to {MOST}")
        return LogOdds(least)

    def scale_of(self, link: str) -> str:
        return LOG_ODDS if link in ("logistic", "softmax") else PROBABILITY

    def scores(self, P: FloatArray) -> FloatArray:
        return LogOdds()(P)

    @property
    def unit(self) -> FloatArray:
        return np.ones(1)

    def answers(self, S: FloatArray) -> FloatArray:
        """Convert log-odds to probabilities: the logistic function for one column, else softmax.

        >>> Classes(("no", "yes")).answers(np.array([[0.0]]))
        array([[0.5, 0.5]])
        """
        from scipy.special import expit, softmax

        if S.shape[1] == 1:
            return np.column_stack([expit(-S[:, 0]), expit(S[:, 0])])
        return np.asarray(softmax(S, axis=1))

    def targets(self, P: FloatArray) -> FloatArray:
        return P

    def normalize_weights(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Subtract what all classes share, which softmax ignores."""
        coef, intercept = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
        if len(coef) == 1:
            return coef, intercept
        return coef - coef.mean(0), intercept - intercept.mean()

    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        if output is not None:
            raise OptionError(
                Setting("output"),
                " is for models that answer with numbers; this one answers with probabilities of "
                f"{list(self.names)}",
            )
        cutoff = self.with_threshold(threshold).cutoff
        return MostLikely(self.names) if cutoff is None else cutoff

    def decide(self, P: FloatArray) -> IntArray:
        """Return the decided class of each answer, as a position, (n,)."""
        return self.question().decide(P)

    def require_variety(self, P: FloatArray) -> None:
        if (np.abs(P - P[:1]) <= SAME).all():
            raise BlackBoxError(
                f"the model gives all {len(P)} rows the same answer, {self.headline(P[0])}, so there is "
                f"nothing to tell apart; fit with rows that it answers differently"
            )

    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return where the same class is decided."""
        return np.asarray(self.decide(P) == self.decide(Q))

    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return total variations."""
        return np.asarray(0.5 * np.abs(P - Q).sum(1))

    def single(self, c: int) -> Outputs:
        """Return all classes."""
        return self

    def belongs(self, P: FloatArray, c: int) -> BoolArray:
        """Return the rows of a class."""
        return np.asarray(self.decide(P) == c)

    def majority(self, P: FloatArray) -> float:
        """Return the share of the most common decision."""
        return float(np.bincount(self.decide(P)).max()) / len(P) if len(P) else math.nan

    def first(self, P: FloatArray) -> IntArray:
        """Return the only output of two classes; of more, the positive one, or else the decided one."""
        if len(self.names) == 2:
            return np.zeros(len(P), dtype=np.intp)
        return self.decide(P) if self.positive is None else np.full(len(P), self.positive)

    @property
    def leading(self) -> int:
        """See `Outputs`: of more than two classes the positive one."""
        return 0 if len(self) == 2 or self.positive is None else self.positive

    def side(self, p: FloatArray, i: int, threshold: float | None, base: float) -> int:
        """See `Outputs`: of two classes, the positive one raises the score; of more, each its own."""
        decided = int(self.question(threshold=threshold).decide(p[None])[0])
        return 1 if self.explained[i] == self.names[decided] else -1

    def probabilities(self, P: FloatArray) -> FloatArray:
        return P

    def plain(self, p: FloatArray) -> Any:
        return self.short(p)

    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the decision and its probability."""
        decided = self.decide(P)
        names = np.array(self.names, dtype=object)
        return {"decision": names[decided], "probability": P[np.arange(len(P)), decided]}

    def surrogate_columns(self, P: FloatArray, Q: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the surrogate's probability of the black box's decision."""
        return {"surrogate_probability": Q[np.arange(len(P)), self.decide(P)]}

    def batch_dict(self, P: FloatArray) -> dict[str, Any]:
        return {
            "class_names": list(self.names),
            "decisions": [self.names[c] for c in self.decide(P)],
            "probabilities": P.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "names": list(self.names),
            "labels_only": self.labels_only,
            "scale": self.scale,
            "positive": self.positive,
            "cutoff": None if self.cutoff is None else [self.cutoff.positive, self.cutoff.threshold],
        }

    @classmethod
    def _read(cls, names: tuple[str, ...], values: Mapping[str, Any]) -> Self:
        if len(names) < 2:
            raise ValueError(f"there are {len(names)} classes, expected two or more")
        if len(set(names)) < len(names):
            raise ValueError(f"the classes are {list(names)}, where one stands twice")
        found = cls(names, bool(values["labels_only"]), scale=values["scale"])
        if found.scale not in CLASS_SCALES:
            raise ValueError(f"the scale is {found.scale!r}, expected one of {CLASS_SCALES}")
        cutoff = values["cutoff"]
        for position in (values["positive"], *(() if cutoff is None else cutoff[:1])):
            if position is not None and (type(position) is not int or not 0 <= position < len(names)):
                raise ValueError(f"a class is {position!r}, expected a position among {list(names)}")
        if cutoff is not None:
            position, threshold = cutoff
            found = replace(found, cutoff=found._cutoff(threshold, position))
        return replace(found, positive=values["positive"])

    def is_valid(self, P: FloatArray) -> bool:
        return bool((P >= -1e-6).all() and (np.abs(P.sum(1) - 1) <= 1e-3).all())

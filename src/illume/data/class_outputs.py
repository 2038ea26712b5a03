"""Models that answer with probabilities of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.answers import label_positions, require_probabilities
from illume.data.number_text import signed
from illume.data.outputs import Outputs
from illume.data.questions import MostLikely, Question
from illume.data.scales import LEAST, MOST, LogOdds, Scale
from illume.errors import BlackBoxError


@dataclass(frozen=True)
class Classes(Outputs):
    """Probabilities of classes.

    With `labels_only`, the model answers with decisions alone: each has probability 1.
    """

    labels_only: bool = False
    task: ClassVar[str] = "classification"
    member: ClassVar[str] = "class"
    members: ClassVar[str] = "classes"
    decides: ClassVar[bool] = True
    scale_name: ClassVar[str] = "log-odds"
    link: ClassVar[str] = "log-odds"
    dashboard_scale: ClassVar[str] = "logodds"
    words: ClassVar[tuple[str, str]] = ("log_odds", "probabilities")
    error_unit: ClassVar[str] = "log-odds"
    disagreement: ClassVar[str] = "decides otherwise"
    agreement_note: ClassVar[str] = ""

    def parse(self, raw: np.ndarray[Any, Any]) -> FloatArray:
        """See `Outputs`; labels become probabilities of 0 and 1."""
        if self.labels_only:
            return np.eye(len(self))[label_positions(raw, self.names)]
        P = require_probabilities(raw)
        if P.shape[1] != len(self):
            raise BlackBoxError(f"the model answered {P.shape[1]} classes, {len(self)} when fitted")
        return P

    @property
    def kind(self) -> str:
        """See `Outputs`.

        >>> Classes(("no", "yes")).kind
        "probabilities of 2 classes: 'no', 'yes'"
        """
        shown = ", ".join(map(repr, self.names[:8])) + (", …" if len(self) > 8 else "")
        return (
            f"{'decisions between' if self.labels_only else 'probabilities of'} {len(self)} classes: {shown}"
        )

    @property
    def explained(self) -> tuple[str, ...]:
        """The second of two classes, or every class."""
        return self.names[1:] if len(self.names) == 2 else self.names

    def each(self, array: FloatArray, output: int | str | None = None) -> list[FloatArray]:
        """Return an array per class; that of the first of two classes is the opposite of the second's."""
        if output is not None:
            raise ValueError(f"output is for models that answer with numbers, found {output!r}; leave it out")
        if len(self) == 2:
            return [-array, array]
        return [np.ascontiguousarray(each) for each in np.moveaxis(array, -1, 0)]

    def describe_scale(self, i: int = 0) -> str:
        """Describe log-odds.

        >>> Classes(("no", "yes")).describe_scale()
        "log-odds of 'yes' against 'no'"
        """
        if len(self.names) == 2:
            return f"log-odds of {self.names[1]!r} against {self.names[0]!r}"
        return f"log-odds of {self.names[i]!r} against the mean of {len(self.names)} classes"

    @property
    def summary(self) -> str:
        """See `Outputs`.

        >>> Classes(("no", "yes")).summary
        "'no' or 'yes'"
        """
        return " or ".join(map(repr, self.names))

    @property
    def table_caption(self) -> str:
        """See `Outputs`."""
        return f"the log-odds of {'the decided class' if len(self) > 2 else repr(self.names[1])}"

    def describe_scales(self) -> str:
        """See `Outputs`."""
        n = len(self.names)
        return self.describe_scale() if n == 2 else f"log-odds of {n} classes"

    def fit_scale(self, P: FloatArray) -> Scale:
        """See `Outputs`."""
        return LogOdds.fit(P)

    def read_scale(self, least: float, center: FloatArray, unit: FloatArray) -> Scale:
        """See `Outputs`."""
        if not LEAST <= least <= MOST:
            raise ValueError(f"the least probability is {least!r}, expected {LEAST} to {MOST}")
        return LogOdds(least)

    def scores(self, P: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return LogOdds()(P)

    @property
    def unit(self) -> FloatArray:
        """See `Outputs`."""
        return np.ones(1)

    def answers(self, S: FloatArray) -> FloatArray:
        """Convert log-odds to probabilities: the logistic function for one column, else softmax.

        >>> Classes(("no", "yes")).answers(np.array([[0.0]]))
        array([[0.5, 0.5]])
        """
        from scipy.special import expit, softmax  # type: ignore[import-untyped]

        if S.shape[1] == 1:
            return np.column_stack([expit(-S[:, 0]), expit(S[:, 0])])
        return np.asarray(softmax(S, axis=1))

    def targets(self, P: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return P

    def normalize_weights(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Subtract what all classes share, which softmax ignores."""
        coef, intercept = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
        if len(coef) == 1:
            return coef, intercept
        return coef - coef.mean(0), intercept - intercept.mean()

    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        """See `Outputs`."""
        if threshold is not None or output is not None:
            raise ValueError(
                "threshold and output are for models that answer with numbers; this one answers with "
                f"probabilities of {list(self.names)}"
            )
        return MostLikely(self.names)

    def example_wish(self) -> dict[str, Any]:
        """See `Outputs`."""
        return {}

    def require_variety(self, P: FloatArray) -> None:
        """See `Outputs`."""
        decisions = np.unique(P.argmax(1))
        if len(decisions) < 2:
            raise BlackBoxError(
                f"the model decides {self.names[decisions[0]]!r} for all {len(P)} rows, so there is nothing "
                f"to tell apart; fit with rows of at least two decisions"
            )

    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return where the same class is the most likely."""
        return np.asarray(P.argmax(1) == Q.argmax(1))

    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return total variations."""
        return np.asarray(0.5 * np.abs(P - Q).sum(1))

    def single(self, c: int) -> Outputs:
        """Return all classes."""
        return self

    def belongs(self, P: FloatArray, c: int) -> BoolArray:
        """Return the rows of a class."""
        return np.asarray(P.argmax(1) == c)

    def majority(self, P: FloatArray) -> float:
        """Return the share of the most common decision."""
        return float(np.bincount(P.argmax(1)).max()) / len(P) if len(P) else math.nan

    def first(self, P: FloatArray) -> IntArray:
        """Return the decided class, or the only output of two classes."""
        return np.zeros(len(P), dtype=np.intp) if len(self.names) == 2 else P.argmax(1)

    def side(self, p: FloatArray, i: int, threshold: float | None, base: float) -> int:
        """See `Outputs`: of two classes, the second raises the score; of more, each its own."""
        self.question(threshold=threshold)
        return 1 if self.explained[i] == self.short(p) else -1

    def headline(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> Classes(("no", "yes")).headline(np.array([0.25, 0.75]))
        "'yes' with probability 0.750"
        """
        return f"{self.short(p)!r} with probability {p.max():.3f}"

    def brief(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> Classes(("no", "yes")).brief(np.array([0.25, 0.75]))
        'yes (0.75)'
        """
        return f"{self.short(p)} ({p.max():.2f})"

    def short(self, p: FloatArray) -> str:
        """Return the decided class."""
        return self.names[int(p.argmax())]

    def surrogate_short(self, p: FloatArray, q: FloatArray) -> str:
        """Return the surrogate's probability of the black box's decision."""
        return f"{q[int(p.argmax())]:.3f}"

    def format_score(self, score: float, i: int = 0) -> str:
        """See `Outputs`."""
        return signed(score)

    def format_total(self, score: float, i: int = 0) -> str:
        """See `Outputs`."""
        return signed(score)

    def format_answer_error(self, error: float) -> str:
        """See `Outputs`."""
        return f"{error:.3f}"

    def format_error(self, error: float) -> str:
        """See `Outputs`."""
        return f"{error:.3f}"

    def probabilities(self, P: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return P

    def plain(self, p: FloatArray) -> Any:
        """See `Outputs`."""
        return self.short(p)

    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the decision and its probability."""
        names = np.array(self.names, dtype=object)
        return {"decision": names[P.argmax(1)], "probability": P.max(1, initial=0.0)}

    def surrogate_columns(self, P: FloatArray, Q: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the surrogate's probability of the black box's decision."""
        return {"surrogate_probability": Q[np.arange(len(P)), P.argmax(1)]}

    def batch_dict(self, P: FloatArray, Q: FloatArray) -> dict[str, Any]:
        """See `Outputs`."""
        return {
            "class_names": list(self.names),
            "decisions": [self.names[c] for c in P.argmax(1)],
            "probabilities": P.tolist(),
            "surrogate_probabilities": Q.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """See `Outputs`."""
        return {"task": self.task, "names": list(self.names), "labels_only": self.labels_only}

    @classmethod
    def _read(cls, names: tuple[str, ...], values: Mapping[str, Any]) -> Self:
        if len(names) < 2:
            raise ValueError(f"there are {len(names)} classes, expected two or more")
        if len(set(names)) < len(names):
            raise ValueError(f"the classes are {list(names)}, where one stands twice")
        return cls(names, bool(values["labels_only"]))

    def is_valid(self, P: FloatArray) -> bool:
        """See `Outputs`."""
        return bool((P >= -1e-6).all() and (np.abs(P.sum(1) - 1) <= 1e-3).all())

"""Decisions between classes and their probabilities, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.number_text import signed
from illume.data.questions import Cutoff
from illume.data.scales import PROBABILITY


class ClassWords:
    """How `Classes` are written."""

    names: tuple[str, ...]
    labels_only: bool
    positive: int | None
    cutoff: Cutoff | None
    scale: str
    edge: Any
    explained: Any
    decide: Any
    at: Any

    @property
    def kind(self) -> str:
        """See `Outputs`.

        >>> from illume.data.class_outputs import Classes
        >>> Classes(("no", "yes")).kind
        "probabilities of 2 classes: 'no', 'yes'"
        """
        shown = ", ".join(map(repr, self.names[:8])) + (", …" if len(self.names) > 8 else "")
        cutoff = self.cutoff
        decides = (
            ""
            if cutoff is None
            else f"; {self.names[cutoff.positive]!r} from a probability of {cutoff.threshold:g}"
        )
        answers = "decisions between" if self.labels_only else "probabilities of"
        return f"{answers} {len(self.names)} classes: {shown}{decides}"

    def describe_scale(self, i: int = 0) -> str:
        """Describe log-odds.

        >>> from illume.data.class_outputs import Classes
        >>> Classes(("no", "yes")).describe_scale()
        "log-odds of 'yes' against 'no'"
        """
        if self.scale == PROBABILITY:
            return f"probability of {self.explained[i]!r}"
        if len(self.names) == 2:
            return f"log-odds of {self.explained[0]!r} against {self.names[1 - self.at]!r}"
        return f"log-odds of {self.names[i]!r} against the mean of {len(self.names)} classes"

    @property
    def summary(self) -> str:
        """See `Outputs`.

        >>> from illume.data.class_outputs import Classes
        >>> Classes(("no", "yes")).summary
        "'no' or 'yes'"
        """
        return " or ".join(map(repr, self.names))

    @property
    def table_caption(self) -> str:
        decided = len(self.names) > 2 and self.positive is None
        return f"the {self.scale} of {'the decided class' if decided else repr(self.names[self.at])}"

    def describe_scales(self) -> str:
        n = len(self.names)
        return self.describe_scale() if n == 2 else f"{self.scale} of {n} classes"

    def headline(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> from illume.data.class_outputs import Classes
        >>> Classes(("no", "yes")).headline(np.array([0.25, 0.75]))
        "'yes' with probability 0.750"
        >>> Classes(("no", "yes")).ask("yes", 0.2).headline(np.array([0.75, 0.25]))
        "'yes' with probability 0.250 (threshold 0.2)"
        """
        c, cutoff, said = self._decided(p), self.cutoff, ""
        if cutoff is not None and cutoff.threshold != 0.5:
            of = "" if c == cutoff.positive else f" of {self.names[cutoff.positive]!r}"
            said = f" (threshold {cutoff.threshold:g}{of})"
        return f"{self.names[c]!r} with probability {p[c]:.3f}{said}"

    def scale_notes(self, base: float, i: int = 0) -> Iterator[str]:
        """Say from which log-odds on the threshold decides for its class.

        >>> from illume.data.class_outputs import Classes
        >>> list(Classes(("no", "yes")).ask("yes", 0.2).scale_notes(0.0))
        ["the decision is 'yes' from -1.386 on, the log-odds of the threshold 0.2"]
        """
        cutoff = self.cutoff
        if cutoff is not None and cutoff.threshold != 0.5:
            threshold, edge = f"{cutoff.threshold:g}", self.edge
            at = 1 if self.positive is None else self.positive
            rises, bound = at == cutoff.positive, self.format_total(edge)
            where = f"from {bound} on" if rises else f"up to {bound}"
            meaning = "" if self.scale == PROBABILITY else f", the log-odds of the threshold {threshold}"
            yield f"the decision is {self.names[cutoff.positive]!r} {where}{meaning}"

    def brief(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> from illume.data.class_outputs import Classes
        >>> Classes(("no", "yes")).brief(np.array([0.25, 0.75]))
        'yes (0.75)'
        """
        c = self._decided(p)
        return f"{self.names[c]} ({p[c]:.2f})"

    def short(self, p: FloatArray) -> str:
        """Return the decided class."""
        return self.names[self._decided(p)]

    def _decided(self, p: FloatArray) -> int:
        return int(self.decide(p[None])[0])

    def surrogate_short(self, p: FloatArray, q: FloatArray) -> str:
        """Return the surrogate's probability of the black box's decision."""
        return f"{q[self._decided(p)]:.3f}"

    def format_score(self, score: float, i: int = 0) -> str:
        return signed(score)

    def format_total(self, score: float, i: int = 0) -> str:
        return f"{score:.3f}" if self.scale == PROBABILITY else signed(score)

    def format_answer_error(self, error: float) -> str:
        return f"{error:.3f}"

    def format_error(self, error: float) -> str:
        return f"{error:.3f}"

    def describe_monotony(self, P: FloatArray) -> str:
        decided = np.unique(self.decide(P))
        if len(decided) > 1:
            return ""
        said = f"the model decides {self.names[decided[0]]!r} for all {len(P):,} rows"
        y, name = P[:, self.at], self.explained[0]
        if len(self.names) > 2 or self.labels_only or y.min() == y.max():
            return said
        threshold = _split(y, 0.1 if decided[0] == self.at else 0.9)
        return (
            f"{said}; explainer.threshold = {threshold:g} would decide {name!r} for "
            f"{int((y >= threshold).sum()):,} of them, by a probability of {threshold:g} or more"
        )


def _split(y: FloatArray, share: float) -> float:
    """Return a number of few digits near a quantile of others, some of which are below, and some not.

    >>> _split(np.linspace(0.0, 0.1, 101), 0.9), _split(np.array([0.1, 0.1, 0.3]), 0.5)
    (0.09, 0.3)
    """
    low, high, wanted = float(y.min()), float(y.max()), float(np.quantile(y, share))
    wanted = wanted if wanted > low else float(y[y > low].min())
    rounded = (float(f"{wanted:.{digits}g}") for digits in range(2, 17))
    return next((number for number in rounded if low < number <= high), wanted)

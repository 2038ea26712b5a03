"""Models that answer with one or several numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.answers import require_numbers
from illume.data.number_words import NumberWords
from illume.data.outputs import Outputs
from illume.data.questions import Bands, Question, Threshold, band_edges, is_number
from illume.data.scales import LINKS, NumberScale, Scale, apply_link
from illume.errors import BlackBoxError, OptionError, Setting

CLOSE = 0.2  # standard deviations of the predictions: rules do not split rows whose numbers spread less
TOLERANCE = 0.1  # standard deviations of the predictions, within which two numbers agree


@dataclass(frozen=True)
class Numbers(NumberWords, Outputs):
    """One or several numbers.

    Parameters
    ----------
    link
        `identity`: contributions add up to the number itself; `log`: to its logarithm, so that they are
        factors of the number.
    spread
        The standard deviation of each output on the fitted rows.
    edges
        Where each output is divided into bands of similar numbers.
    """

    link: str = "identity"
    spread: tuple[float, ...] = ()
    edges: tuple[tuple[float, ...], ...] = ()
    task: ClassVar[str] = "regression"
    words: ClassVar[tuple[str, str]] = ("score", "predictions")
    member: ClassVar[str] = "output"
    members: ClassVar[str] = "outputs"
    decides: ClassVar[bool] = False
    choose_by_r2: ClassVar[bool] = True
    takes_offset: ClassVar[bool] = True
    disagreement: ClassVar[str] = "differs"

    def parse(self, raw: np.ndarray[Any, Any]) -> FloatArray:
        P = require_numbers(raw, positive=self.link == "log")
        if P.shape[1] != len(self):
            raise BlackBoxError(
                f"the model answered {P.shape[1]} numbers, expected {len(self)}: {list(self.names)}"
            )
        return P

    def fit(self, P: FloatArray) -> Self:
        """Measure how far answers (n, c) to the fitted rows are spread."""
        spread = tuple(float(each) if each > 0 else 1.0 for each in P.std(0))
        return replace(self, spread=spread, edges=tuple(band_edges(y) for y in P.T))

    @property
    def kind(self) -> str:
        """See `Outputs`.

        >>> Numbers(("price",)).kind
        'a number: price'
        """
        return f"{'a number' if len(self) == 1 else f'{len(self)} numbers'}: {', '.join(self.names)}"

    @property
    def explained(self) -> tuple[str, ...]:
        """All of them."""
        return self.names

    @property
    def scale_name(self) -> str:
        if self.link == "log":
            return "logarithm of the prediction"
        return self.names[0] if len(self.names) == 1 else "units of each output"

    @property
    def error_unit(self) -> str:
        if len(self) > 1:
            return "standard deviations of each output"
        return "logarithms" if self.link == "log" else f"units of {self.names[0]}"

    @property
    def strength_unit(self) -> str:
        return "logarithms" if self.link == "log" else self.error_unit

    def describe_scale(self, i: int = 0) -> str:
        """See `Outputs`.

        >>> Numbers(("price",), link="log").describe_scale()
        'logarithm of price'
        """
        return f"logarithm of {self.names[i]}" if self.link == "log" else self.names[i]

    @property
    def summary(self) -> str:
        """See `Outputs`.

        >>> Numbers(("price", "rent"), link="log").summary
        'numbers: price, rent; contributions are factors (link log)'
        """
        factors = "; contributions are factors (link log)" if self.link == "log" else ""
        return f"numbers: {', '.join(self.names)}{factors}"

    def describe_scales(self) -> str:
        return self.describe_scale() if len(self) == 1 else f"{len(self)} outputs: {', '.join(self.names)}"

    def fit_scale(self, P: FloatArray) -> Scale:
        return NumberScale.fit(P, self.link)

    def read_scale(self, least: float, center: FloatArray, unit: FloatArray) -> Scale:
        if center.shape != (len(self),) or unit.shape != (len(self),):
            raise ValueError(f"there are {len(center)} centers and {len(unit)} units of {len(self)} numbers")
        return NumberScale(self.link, center, unit)

    def choose_scale(self, scale: str, P: FloatArray) -> str:
        """See `Outputs`; a scale is for classes alone."""
        if scale != "auto":
            raise ValueError(
                f"scale={scale!r} is for models that answer with classes; leave it out, or see link in "
                "DataOptions"
            )
        return self.link

    def scale_of(self, link: str) -> str:
        return self.link if link == {"identity": "identity", "log": "exp"}[self.link] else ""

    def scores(self, P: FloatArray) -> FloatArray:
        return apply_link(P, self.link)

    @property
    def unit(self) -> FloatArray:
        return np.array(self.spread)

    def answers(self, S: FloatArray) -> FloatArray:
        return np.exp(S) if self.link == "log" else S

    def targets(self, P: FloatArray) -> FloatArray:
        return self.scores(P)

    def normalize_weights(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return them as they are."""
        return np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)

    def position(self, output: int | str | None) -> int:
        """Return the position of an output, given by its name or position; None for the only one."""
        if output is None and len(self.names) == 1:
            return 0
        if isinstance(output, str) and output in self.names:
            return self.names.index(output)
        if isinstance(output, (int, np.integer)) and -len(self) <= output < len(self):
            return int(output) % len(self)
        raise OptionError(Setting("output"), f" must be one of {list(self.names)}, found {output!r}")

    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        at = self.position(output)
        if threshold is None:
            return Bands(at, self.edges[at], CLOSE * self.spread[at])
        if not is_number(threshold):
            kind = "finite" if isinstance(threshold, float) else "a number"
            raise OptionError(Setting("threshold"), f" must be {kind}, found {threshold!r}")
        return Threshold(at, float(threshold))

    @property
    def strata(self) -> Question:
        """Bands of the first output."""
        return self.question(0)

    @property
    def common_unit(self) -> FloatArray:
        """The standard deviation of each of several numbers in units of their own, else 1."""
        return np.ones(1) if len(self) == 1 or self.link == "log" else self.unit

    @property
    def tolerance(self) -> FloatArray:
        """How far two answers that agree may be apart, output by output, (c,)."""
        return TOLERANCE * np.array(self.spread)

    def towards(self, positive_class: Any) -> Self:
        if positive_class is not None:
            raise OptionError(
                Setting("positive_class"),
                f" is {positive_class!r}, and the model answers with numbers, which have no classes; "
                "leave it out",
            )
        return self

    def ask(self, positive_class: Any, threshold: float | None) -> Self:
        if threshold is not None:
            raise OptionError(
                Setting("threshold"),
                f" is {threshold!r}, which is for decisions between two classes, and the model answers with "
                "numbers; give it to rules, counterfactuals or reasons instead",
            )
        return self.towards(positive_class)

    def require_variety(self, P: FloatArray) -> None:
        if (P[:1] == P).all():
            raise BlackBoxError(
                f"the model answers {self.short(P[0])} for all {len(P)} rows, so there is nothing to "
                f"explain; fit with rows that it tells apart"
            )

    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return where all numbers are within a tenth of a standard deviation."""
        return np.asarray((np.abs(P - Q) <= self.tolerance).all(1))

    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return absolute differences; of several outputs the mean, each in its standard deviations."""
        if len(self) == 1:
            return np.abs(P - Q)[:, 0]
        return np.asarray((np.abs(P - Q) / np.array(self.spread)).mean(1))

    def single(self, c: int) -> Outputs:
        """Return one of several numbers."""
        if len(self) == 1:
            return self
        return replace(
            self, names=self.names[c : c + 1], spread=self.spread[c : c + 1], edges=self.edges[c : c + 1]
        )

    def belongs(self, P: FloatArray, c: int) -> BoolArray:
        """Return all rows."""
        return np.ones(len(P), dtype=bool)

    def majority(self, P: FloatArray) -> float:
        return math.nan

    def first(self, P: FloatArray) -> IntArray:
        """Return the first output."""
        return np.zeros(len(P), dtype=np.intp)

    def side(self, p: FloatArray, i: int, threshold: float | None, base: float) -> int:
        """See `Outputs`: above or below the threshold, or else the base value."""
        if threshold is None:
            return 1 if self.scores(p[None])[0, i] >= base else -1
        return 1 if self.question(i, threshold).decide(p[None])[0] else -1

    def probabilities(self, P: FloatArray) -> FloatArray:
        raise AttributeError("the model answers with numbers: read `predictions`, there are no classes")

    def plain(self, p: FloatArray) -> Any:
        return float(p[0]) if len(self) == 1 else dict(zip(self.names, map(float, p), strict=True))

    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the prediction; with several outputs, one column for each."""
        return self._columns("prediction", P)

    def surrogate_columns(self, P: FloatArray, Q: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        return self._columns("surrogate_prediction", Q)

    def _columns(self, name: str, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        if len(self) == 1:
            return {name: np.ascontiguousarray(P[:, 0])}
        return {f"{name}: {each}": np.ascontiguousarray(P[:, i]) for i, each in enumerate(self.names)}

    def batch_dict(self, P: FloatArray) -> dict[str, Any]:
        return {"predictions": P.tolist()}

    def to_dict(self) -> dict[str, Any]:
        edges = [list(each) for each in self.edges]
        return {
            "task": self.task,
            "names": list(self.names),
            "link": self.link,
            "spread": list(self.spread),
            "edges": edges,
        }

    @classmethod
    def _read(cls, names: tuple[str, ...], values: Mapping[str, Any]) -> Self:
        edges = tuple(tuple(float(edge) for edge in each) for each in values["edges"])
        found = cls(names, str(values["link"]), tuple(float(each) for each in values["spread"]), edges)
        if (
            not len(set(names)) == len(names) > 0
            or found.link not in LINKS
            or len(edges) != len(names)
            or len(found.spread) != len(names)
        ):
            raise ValueError(f"{values!r} does not describe the numbers of a model")
        finite = np.isfinite([*found.spread, *(edge for each in edges for edge in each)]).all()
        rising = all(len(each) >= 2 and list(each) == sorted(each) for each in edges)
        if not finite or not rising or min(found.spread) <= 0:
            raise ValueError(f"{values!r} holds spreads or edges that are none")
        return found

    def is_valid(self, P: FloatArray) -> bool:
        return self.link != "log" or bool((P > 0).all())

"""Numbers that a model answers with, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.number_text import signed


class NumberWords:
    """How `Numbers` are written: with the decimals that their spread calls for."""

    names: Any
    link: Any
    spread: Any

    def format(self, number: float, i: int = 0) -> str:
        """Return a number as text, with as many decimals as its spread calls for.

        >>> from illume.data.number_outputs import Numbers
        >>> [Numbers(("price",), spread=(each,)).format(212345.678) for each in (5e4, 5.0)]
        ['212,346', '212,345.68']
        """
        return f"{number:z,.{self.decimals(i)}f}"

    def decimals(self, i: int = 0) -> int:
        """Return how many decimals numbers of an output are shown with."""
        spread = self.spread[i] if self.spread else 1.0
        return int(np.clip(2 - math.floor(math.log10(max(spread, 1e-12))), 0, 9))

    def headline(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> from illume.data.number_outputs import Numbers
        >>> Numbers(("price",), spread=(50.0,)).headline(np.array([212.3]))
        'price = 212.3'
        """
        return ", ".join(f"{name} = {self.format(p[i], i)}" for i, name in enumerate(self.names))

    def brief(self, p: FloatArray) -> str:
        return self.headline(p)

    def short(self, p: FloatArray) -> str:
        return ", ".join(self.format(each, i) for i, each in enumerate(p))

    def surrogate_short(self, p: FloatArray, q: FloatArray) -> str:
        return self.short(q)

    def format_score(self, score: float, i: int = 0) -> str:
        """Return a contribution as text; with a link, and the factor that it stands for.

        >>> from illume.data.number_outputs import Numbers
        >>> Numbers(("price",), spread=(50.0,)).format_score(12.34)
        '+12.3'
        >>> Numbers(("price",), link="log").format_score(np.log(2))
        '+0.693 (× 2.000)'
        """
        if self.link == "log":
            return f"{signed(score)} (× {math.exp(min(score, 700.0)):.3f})"
        return signed(score, self.decimals(i))

    def format_total(self, score: float, i: int = 0) -> str:
        return signed(score) if self.link == "log" else self.format(score, i)

    def format_answer_error(self, error: float) -> str:
        """Return an absolute error; of several outputs, in standard deviations."""
        return self.format(error) if len(self.names) == 1 else f"{error:.3f} standard deviations"

    def scale_notes(self, base: float, i: int = 0) -> Iterator[str]:
        """Say that contributions to a logarithm are factors."""
        if self.link == "log":
            start = self.format(math.exp(min(base, 700.0)), i)
            yield f"contributions are factors (×): {self.names[i]} is {start} times their product"

    def format_error(self, error: float) -> str:
        return f"{error:.3f}" if self.link == "log" else f"{error:,.{self.decimals()}f}"

    def format_typical_error(self, error: float) -> str:
        return self.format_error(error) if len(self.names) == 1 else f"{error:.3f}"

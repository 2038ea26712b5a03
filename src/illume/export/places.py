"""How encoded rows find their places in the table of Shapley values, in plain arrays of equal widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.shapley.codes import Coding


@dataclass(frozen=True, eq=False)
class Places:
    """The numbers first, then the categories; `order` (m,) puts them as the coding has them.

    Parameters
    ----------
    number_inputs, number_starts, number_missing
        Per number: its input, the place of its first knot, and that of its being missing, (q,).
    inner, first, knots, last_bin
        The knots between a number's first and last, infinite where there are no more, (q, k); where its knots
        begin in `knots`, the knots of all numbers; and the position of its last bin.
    category_inputs, category_mean, category_step, category_owner
        Per input that stands for a category: the input, its mean, what having it adds to the place, and the
        position of its feature among the categorical ones.
    category_missing
        Per categorical feature: the place of what is missing or unknown, (p,).
    """

    number_inputs: IntArray
    number_starts: IntArray
    number_missing: IntArray
    inner: FloatArray
    first: IntArray
    knots: FloatArray
    last_bin: IntArray
    category_inputs: IntArray
    category_mean: FloatArray
    category_step: IntArray
    category_owner: IntArray
    category_missing: IntArray
    order: IntArray

    @classmethod
    def of(cls, coding: Coding) -> Places:
        """Arrange a coding."""
        numbers, others = np.flatnonzero(coding.numeric), np.flatnonzero(~coding.numeric)
        ends = coding.starts + coding.widths
        widths = coding.widths[numbers]
        first = np.cumsum(widths) - widths
        inner = np.full((len(numbers), max(int(widths.max(initial=2)) - 2, 1)), np.inf, dtype=np.float32)
        for j, (begin, width) in enumerate(zip(first, widths, strict=True)):
            inner[j, : width - 2] = coding.knots[begin + 1 : begin + width - 1]
        sizes = coding.widths[others]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        inputs = np.repeat(coding.inputs[others], sizes) + within
        return cls(
            number_inputs=coding.inputs[numbers],
            number_starts=coding.starts[numbers],
            number_missing=ends[numbers],
            inner=inner,
            first=first,
            knots=coding.knots,
            last_bin=widths - 2,
            category_inputs=inputs,
            category_mean=coding.mean[inputs],
            category_step=within - np.repeat(sizes, sizes),
            category_owner=np.repeat(np.arange(len(others)), sizes),
            category_missing=ends[others],
            order=np.argsort(np.concatenate([numbers, others])),
        )

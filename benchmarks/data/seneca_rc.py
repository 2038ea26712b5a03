"""SENECA-RC: the sign of a random formula decides; its gradient at the boundary is the truth.

The formula and its rows depend on the number of informative columns and the problem's number,
uninformative columns on theirs too, the split on the seed. Problems that differ in uninformative
columns alone share formula and rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.data.expressions import Expression, draw
from benchmarks.data.problem import Facts, Problem, Truth, add_noise, pad
from illume._typing import BoolArray, FloatArray, IntArray

N_ROWS = 2048
SPREAD = 5.0
BALANCE = (0.2, 0.8)  # share of positives
HALVINGS = 40
STREAM = 1  # keeps the numbers apart from those of SENECA-RB
LARGEST = 1e300
LONGEST = 1e100  # entry of a gradient


@dataclass(frozen=True)
class FormulaClassifier:
    """Class 1 where the formula is above 0, surer the larger it is, in units of `scale`.

    The map from score to probability keeps the order of scores over hundreds of orders of magnitude.
    """

    expression: Expression
    scale: float  # median of |score| over the generated rows

    def positive(self, X: FloatArray) -> BoolArray:
        """Tell which rows are of class 1; a score that is no number is not."""
        return self.expression.score(X) > 0

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return 1 - p and p = (1 ± g / (1 + g)) / 2, where g = log(1 + |score| / scale), (n, 2)."""
        score = self.expression.score(X)
        with np.errstate(all="ignore"):
            ratio = np.nan_to_num(np.abs(score) / self.scale, nan=LARGEST, posinf=LARGEST)
        g = np.log1p(np.minimum(ratio, LARGEST))
        half = 0.5 * g / (1 + g)
        # a score too small to be seen beside 1/2 is above it all the same
        p = np.where(score > 0, np.maximum(0.5 + half, np.nextafter(0.5, 1)), 0.5 - half)
        return np.column_stack([1 - p, p])


def generate(t: int, number: int) -> tuple[FormulaClassifier, FloatArray]:
    """Return a formula of t columns that uses them all and has both labels, and its rows, (2048, t)."""
    rng = np.random.default_rng([STREAM, t, number])
    X = rng.normal(0, SPREAD, size=(N_ROWS, t))
    while True:
        expression = draw(t, rng)
        score = expression.score(X)
        if expression.uses(t) and BALANCE[0] <= np.mean(score > 0) <= BALANCE[1]:
            return FormulaClassifier(expression, float(np.median(np.abs(score)))), X


def problem(name: str, t: int, u: int, number: int, *, seed: int, protocol: str) -> Problem:
    """Return problem `number` with t informative and u uninformative columns."""
    classifier, X = generate(t, number)
    positive = classifier.positive(X)

    def truth(test: IntArray) -> Truth:
        boundary = boundary_gradients(classifier, X[test], X, positive)[0]
        published = classifier.expression.gradient(published_points(X, positive, test))
        return Truth(
            "gradient",
            gradient=pad(measurable(boundary), t + u, 0.0),
            published=pad(measurable(published), t + u, 0.0),
        )

    rows = add_noise(X, u, np.random.default_rng([STREAM, t, number, u]))
    facts = Facts(rows, positive.astype(int), t, classifier, truth)
    return facts.problem(name, seed, protocol)


def boundary_gradients(
    classifier: FormulaClassifier, rows: FloatArray, X: FloatArray, positive: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gradients just before the label changes on the way to the nearest row of the other label.

    With them, as points, the last one found on the row's own side and the first one on the other side.
    Halving finds one change of label; there may be others nearer. Where the gradient at that point is
    zero or infinite it is the last usable one met while halving, the row's own included; a row that has
    none gets zeros.
    """
    own = classifier.positive(rows)
    other = X[nearest(rows, X, own[:, None] != positive)]
    inner, outer = np.zeros(len(rows)), np.ones(len(rows))
    gradients = np.zeros(rows.shape)
    keep_usable(gradients, classifier.expression.gradient(rows), np.full(len(rows), True))
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        points = between(rows, other, middle)
        same = classifier.positive(points) == own
        inner, outer = np.where(same, middle, inner), np.where(same, outer, middle)
        keep_usable(gradients, classifier.expression.gradient(points), same)
    return gradients, between(rows, other, inner), between(rows, other, outer)


def between(start: FloatArray, end: FloatArray, share: FloatArray) -> FloatArray:
    """Return the point that is a `share` of the way from start to end, for each row."""
    return start + share[:, None] * (end - start)


def keep_usable(gradients: FloatArray, candidates: FloatArray, where: BoolArray) -> None:
    """Overwrite gradients by those candidates that are finite and not zero."""
    usable = where & np.isfinite(candidates).all(axis=1) & (candidates != 0).any(axis=1)
    gradients[usable] = candidates[usable]


def measurable(gradients: FloatArray) -> FloatArray:
    """Return gradients whose squares are numbers: huge ones shortened, endless ones zero.

    Near a pole they grow without end; their direction is what matters.
    """
    usable = np.where(np.isfinite(gradients).all(axis=1, keepdims=True), gradients, 0.0)
    return usable / np.maximum(np.abs(usable).max(axis=1, keepdims=True) / LONGEST, 1.0)


def published_points(X: FloatArray, positive: BoolArray, test: IntArray) -> FloatArray:
    """Return the row near the boundary that the published evaluation takes for each test row.

    Of the row's own label, it minimises .9 the distance to the nearest row of the other label
    plus .1 the distance to the row itself, which may be the row.
    """
    same = positive[test][:, None] == positive
    own = distances(X[test], X)
    closest = nearest(X[test], X, ~same)
    mixed = 0.9 * distances(X[closest], X) + 0.1 * own
    return X[np.where(same, mixed, np.inf).argmin(axis=1)]


def nearest(rows: FloatArray, X: FloatArray, allowed: BoolArray) -> IntArray:
    """Return for each row the position of its nearest allowed row of X."""
    return np.where(allowed, distances(rows, X), np.inf).argmin(axis=1)


def distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return Euclidean distances, (len(A), len(B))."""
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.sqrt(np.maximum(squares, 0.0))

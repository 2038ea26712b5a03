"""Choose the surrogate that agrees best with the black box on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from illume._typing import FloatArray, IntArray
from illume.data.class_outputs import Classes
from illume.data.outputs import Outputs
from illume.metrics.fidelity import fidelity
from illume.surrogates.base import (
    LinearAdapter,
    LinearRegressionSurrogate,
    LinearSurrogate,
    LogisticSurrogate,
    Surrogate,
)
from illume.surrogates.tree import DecisionTreeSurrogate, RegressionTreeSurrogate

Rows = tuple[FloatArray, FloatArray]  # latents and the black box's answers
MAX_ROWS = 100_000  # enough for an interpretable model
SIZES = [{"max_depth": depth, "min_samples_leaf": leaf} for depth, leaf in product((3, 5, 8, None), (5, 20))]
# Larger trees, grown on queried rows too; they have few leaves, because refinement looks at all of them.
LARGE = [{"max_leaf_nodes": leaves, "min_samples_leaf": 5} for leaves in (16, 64, 128)]


class Family(Protocol):
    """The surrogates of one kind of outputs."""

    def linear(self) -> list[Surrogate]:
        """Return the linear ones to choose from."""
        ...

    def tree(self, **size: Any) -> Surrogate:
        """Return a tree of a size."""
        ...

    def spare_trees(self) -> list[Surrogate]:
        """Return trees to take only if no other decides for as many classes."""
        ...

    def adapt(self, estimator: Any) -> Surrogate:
        """Return a scikit-learn model as a surrogate."""
        ...

    def n_reached(self, P: FloatArray, Q: FloatArray) -> int:
        """Return how many decisions a surrogate that answers Q agrees on with the black box somewhere."""
        ...


class ClassFamily:
    """Surrogates of class probabilities."""

    def __init__(self, outputs: Outputs) -> None:
        pass

    def linear(self) -> list[Surrogate]:
        return [LogisticSurrogate(C) for C in (0.01, 0.1, 1.0, 10.0)]

    def tree(self, **size: Any) -> Surrogate:
        return DecisionTreeSurrogate(DecisionTreeClassifier(random_state=0, **size))

    def spare_trees(self) -> list[Surrogate]:
        """Return a tree whose leaves may hold one row, as a rare class may get no other."""
        return [DecisionTreeSurrogate(DecisionTreeClassifier(random_state=0), spare=True)]

    def adapt(self, estimator: Any) -> Surrogate:
        if hasattr(estimator, "get_depth"):
            return DecisionTreeSurrogate(estimator)
        if hasattr(estimator, "decision_function_shape"):
            raise ValueError(f"{estimator!r} compares classes two by two and has no weights per class")
        return LinearAdapter(estimator)

    def n_reached(self, P: FloatArray, Q: FloatArray) -> int:
        decisions = P.argmax(1)
        return len(np.unique(decisions[Q.argmax(1) == decisions]))


class NumberFamily:
    """Surrogates of numbers."""

    def __init__(self, outputs: Outputs) -> None:
        self.outputs = outputs

    def linear(self) -> list[Surrogate]:
        return [LinearRegressionSurrogate(self.outputs, Ridge(alpha)) for alpha in (0.01, 1.0, 100.0)]

    def tree(self, **size: Any) -> Surrogate:
        return RegressionTreeSurrogate(DecisionTreeRegressor(random_state=0, **size))

    def spare_trees(self) -> list[Surrogate]:
        return []

    def adapt(self, estimator: Any) -> Surrogate:
        if hasattr(estimator, "get_depth"):
            return RegressionTreeSurrogate(estimator)
        return LinearRegressionSurrogate(self.outputs, estimator)

    def n_reached(self, P: FloatArray, Q: FloatArray) -> int:
        """Return 0: R² alone decides."""
        return 0


FAMILIES: dict[str, type[ClassFamily] | type[NumberFamily]] = {
    "classification": ClassFamily,
    "regression": NumberFamily,
}


def candidates(surrogate: Any, outputs: Outputs = Classes(())) -> list[Surrogate]:  # noqa: B008 -- frozen
    """Return the surrogates to choose from: `logistic`, `tree`, a scikit-learn model or one's own.

    >>> len(candidates("logistic"))
    4
    """
    family = FAMILIES[outputs.task](outputs)
    if surrogate == "logistic":
        return family.linear()
    if surrogate == "tree":
        return [family.tree(**size) for size in SIZES] + family.spare_trees()
    if hasattr(surrogate, "answers"):
        return [clone(surrogate, safe=False)]
    if isinstance(surrogate, str) or not hasattr(surrogate, "fit"):
        raise ValueError(
            f"surrogate {surrogate!r} is not known; choose 'logistic' or 'tree', or pass a linear "
            f"model or tree of scikit-learn, or an object with fit(Z, P) and answers(Z)"
        )
    return [family.adapt(surrogate)]


def large_trees(outputs: Outputs) -> list[Surrogate]:
    """Return further trees to choose from if there are queried rows to grow them on."""
    return [FAMILIES[outputs.task](outputs).tree(**size) for size in LARGE]


def best_surrogate(
    choices: Sequence[Surrogate],
    outputs: Outputs,
    training: Rows,
    validation: Rows,
    more: tuple[Sequence[Surrogate], Rows] | None = None,
) -> Surrogate:
    """Fit all on training rows (Z, P); return the one with the best fidelity on validation rows.

    Surrogates that decide for more classes come first: rows of other classes could not be explained. `more`
    are further choices with their own training rows.
    """
    Z, P = _subsample(training, outputs)
    fitted = [choice.fit(Z, P) for choice in choices]
    if more is not None:
        others, rows = more
        fitted += [choice.fit(*_subsample(rows, outputs)) for choice in others]
    if len(fitted) == 1 or not len(validation[0]):
        return fitted[0]
    (Z_val, P_val), family = validation, FAMILIES[outputs.task](outputs)

    def rank(surrogate: Surrogate) -> tuple[int, bool, float, float]:
        n_reached = family.n_reached(P, surrogate.answers(Z))
        found = fidelity(P_val, surrogate.answers(Z_val), outputs)
        return n_reached, not getattr(surrogate, "spare", False), *found.order

    return max(fitted, key=rank)


def _subsample(rows: Rows, outputs: Outputs) -> Rows:
    kept = subsample_indices(rows[1], outputs)
    return rows[0][kept], rows[1][kept]


def subsample_indices(P: FloatArray, outputs: Outputs) -> IntArray:
    """Return the rows that a surrogate learns from: of very many, evenly spaced ones of all decisions."""
    question = outputs.strata
    if len(P) <= MAX_ROWS + len(question.names):  # also rows that were subsampled before
        return np.arange(len(P))
    _, first = np.unique(question.decide(P), return_index=True)
    return np.union1d(np.arange(0, len(P), -(-len(P) // MAX_ROWS)), first)


def require_linear(surrogate: Surrogate, outputs: Outputs) -> None:
    """Raise unless a fitted surrogate has one weight per latent and explained output."""
    wanted = len(outputs.explained)
    if not isinstance(surrogate, LinearSurrogate) or len(surrogate.coef_) != wanted:
        raise ValueError(
            f"surrogate {surrogate!r} gives no attributions: coef_ must have {wanted} rows for "
            f"{len(outputs)} outputs; use 'logistic' or a linear model of scikit-learn"
        )

"""Rules that end in an interval: how much of what they cover lies inside, beside a tree on the inputs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from benchmarks.harness import Line
from benchmarks.regression.case import Case
from illume._typing import BoolArray, FloatArray, IntArray

NOMINAL = 0.9
MOST_RULES = 500
CALIBRATION_SHARE = 0.15  # of the training rows, as many as illume's validation rows
SMALLEST_LEAF = 5
LEAVES = (16, 64, 128)  # shown beside the tree of equal coverage
SIZES = tuple(sorted({round(2 ** (k / 4)) for k in range(4, 45)}))  # leaves to choose from, up to 2,048
LEAST_SCALE = 0.05  # standard deviations that are added to a leaf's width before it is scaled


def interval_figures(covers: BoolArray, intervals: FloatArray, p: FloatArray, span: float) -> Line:
    """Measure rules (n, N) and their intervals (n, 2), made for the first n of N rows with predictions p.

    A rule is measured on the rows other than its own. Widths are means over rules, in standard deviations of
    p; one without an end counts as `span`, the range of all predictions.
    """
    n = len(covers)
    others = covers.copy()
    others[np.arange(n), np.arange(n)] = False
    low, high = intervals[:, :1], intervals[:, 1:]
    inside = others & (p >= low) & (p <= high)
    count, known = others.sum(1), others.any(1)
    width = np.minimum(intervals[:, 1] - intervals[:, 0], span)
    return {
        "interval_coverage": float((inside.sum(1)[known] / count[known]).mean()),
        "pooled_coverage": float(inside.sum() / max(1, others.sum())),
        "width": float(width.mean()),
        "relative_width": float(width.mean() / p.std()),
        "coverage": float(count.mean() / (covers.shape[1] - 1)),
        "covering": float(known.mean()),
        "own": float(((p[:n] >= low[:, 0]) & (p[:n] <= high[:, 0])).mean()),
    }


@dataclass(frozen=True, eq=False)
class TreeRules:
    """A regression tree on the inputs whose leaves end in conformal intervals.

    A leaf's interval starts from the quantiles of its fitted rows and is widened or narrowed on both sides by
    the same multiple of its width for all leaves, so that calibration rows lie inside as often as wanted.
    """

    tree: DecisionTreeRegressor
    intervals: FloatArray  # (nodes, 2)

    @classmethod
    def fit(cls, X: FloatArray, p: FloatArray, calibrate: IntArray, leaves: int, seed: int = 0) -> TreeRules:
        """Fit on all rows but `calibrate`, which say how wide the intervals are."""
        fitted = np.setdiff1d(np.arange(len(X)), calibrate)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=leaves, min_samples_leaf=SMALLEST_LEAF, random_state=seed
        ).fit(X[fitted], p[fitted])
        at, tail = tree.apply(X[fitted]), (1 - NOMINAL) / 2
        ends = np.zeros((tree.tree_.node_count, 2))
        for leaf in np.unique(at):
            ends[leaf] = np.quantile(p[fitted][at == leaf], [tail, 1 - tail])
        scale = ends[:, 1] - ends[:, 0] + LEAST_SCALE * p.std()
        met = tree.apply(X[calibrate])
        outside = np.maximum(ends[met, 0] - p[calibrate], p[calibrate] - ends[met, 1]) / scale[met]
        more = conformal_quantile(outside, NOMINAL) * scale
        return cls(tree, np.column_stack([ends[:, 0] - more, ends[:, 1] + more]))

    def figures(self, X: FloatArray, p: FloatArray, span: float, owner: IntArray) -> Line:
        """Measure the leaves of rows; conditions on the columns of one feature count once."""
        at = self.tree.apply(X)[:MOST_RULES]
        covers = at[:, None] == self.tree.apply(X)
        paths, split = self.tree.decision_path(X[:MOST_RULES]).toarray() > 0, self.tree.tree_.feature
        used = [np.unique(owner[split[path & (split >= 0)]]) for path in paths]
        found = interval_figures(covers, self.intervals[at], p, span)
        return found | {"conditions": float(np.mean([len(each) for each in used]))}


def conformal_quantile(scores: FloatArray, nominal: float) -> float:
    """Return the score that a further row exceeds with a probability of at most 1 - nominal.

    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9), conformal_quantile(np.arange(1.0, 9.0), 0.9)
    (9.0, inf)
    """
    rank = int(np.ceil((len(scores) + 1) * nominal - 1e-9))
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else float("inf")


def rule_figures(case: Case, explainer: Any) -> Line:
    """Measure illume's rules, then trees: one of equal coverage, and some of usual sizes."""
    span, rows = float(np.ptp(case.p_train)), case.test.head(MOST_RULES)
    explainer.fit_rules()
    start = time.perf_counter()
    rules = explainer.rules(rows)
    seconds = time.perf_counter() - start
    covers = np.array([rule.covers(case.test) for rule in rules])
    intervals = np.asarray(rules.interval, dtype=float)
    ours = interval_figures(covers, intervals, case.p_test, span)
    ours |= {
        "conditions": float(rules.n_conditions.mean()),
        "stated_coverage": float(np.nanmean(rules.precision)),
    }
    found = ours | {
        "n_rules": len(covers),
        "n_test": len(case.test),
        "rows_per_second": len(covers) / seconds,
    }
    for name, figures in tree_figures(case, span, ours["coverage"]).items():
        found |= {f"{name}_{key}": value for key, value in figures.items()}
    return found


def tree_figures(case: Case, span: float, coverage: float) -> dict[str, Line]:
    """Measure trees of usual sizes, and the one whose leaves cover nearest to `coverage` of the test rows."""
    X, X_test = (case.encoding.transform(part) for part in (case.train, case.test))
    rng = np.random.default_rng([case.seed, 19])
    calibrate = np.sort(rng.permutation(len(X))[: round(CALIBRATION_SHARE * len(X))])

    def measure(leaves: int) -> Line:
        tree = TreeRules.fit(X, case.p_train, calibrate, leaves, case.seed)
        figures = tree.figures(X_test, case.p_test, span, case.encoding.owner)
        return figures | {"leaves": int(tree.tree.get_n_leaves())}

    equal = min(
        map(measure, SIZES), key=lambda figures: abs(np.log(figures["coverage"] / max(coverage, 1e-9)))
    )
    return {"tree": equal} | {f"tree{leaves}": measure(leaves) for leaves in LEAVES}

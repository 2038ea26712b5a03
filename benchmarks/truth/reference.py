"""Reference Shapley values, exact or by random walks, kept on disk; and scores of contributions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np

from benchmarks.harness import Line, cache_folder
from benchmarks.methods.outcome import sum_by_feature
from benchmarks.truth.case import Case
from illume import metrics
from illume._typing import BoolArray, FloatArray, IntArray

Predict = Callable[[FloatArray], FloatArray]  # rows (n, features) to outputs (n, k)
NOISE = 0.002
MOST_FEATURES = 12  # for enumeration
MOST_QUERIES = 20_000_000
ROWS_AT_ONCE = 100_000
FIRST_PAIRS = 8
MARGINS = ("xgb", "lgb")  # their trees add up to log-odds
TOP = 3
REASONS = 4
CALIBRATED = 0.6, 1.7  # bounds of stated over true errors
SAMPLES = 32
SAME = 1e-6  # share of the variance by which margins and log-odds may differ
MIXED_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Reference:
    """Shapley values, (n, features, outputs), as two independent estimates; equal if they are exact."""

    first: FloatArray
    second: FloatArray
    queries: int = 0
    how: str = ""  # "trees", "enumeration" or "walks"
    seconds: float = 0.0

    @property
    def values(self) -> FloatArray:
        return (self.first + self.second) / 2

    @property
    def noise(self) -> float:
        """The variance of the estimate as a share of the variance of the values."""
        spread = np.square(self.values - self.values.mean(axis=0)).sum()
        return float(np.square(self.first - self.second).sum() / 4 / spread) if spread > 0 else 0.0

    def head(self, n: int) -> Reference:
        return replace(self, first=self.first[:n], second=self.second[:n])

    def facts(self) -> Line:
        return {
            "reference": self.how,
            "reference_noise": self.noise,
            "reference_asks": self.queries,
            "reference_s": self.seconds,
        }


def load_reference(case: Case, noise: float = NOISE, most_queries: int = MOST_QUERIES) -> Reference:
    """Return the Shapley values of a case; they are computed once and then read from disk."""
    problem = case.problem
    name = f"{problem.name}-{problem.black_box}-{problem.seed}-{len(case.X)}-{noise:g}-{most_queries}"
    path = cache_folder("truth") / f"{name}-{case.digest()}.npz"
    if path.exists():
        with np.load(path) as kept:
            facts = int(kept["asks"]), str(kept["how"]), float(kept["seconds"])
            return Reference(kept["first"], kept["second"], *facts)
    found = compute_reference(case, noise, most_queries)
    part = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    arrays = {"first": found.first, "second": found.second, "asks": found.queries}
    np.savez_compressed(part, **arrays, how=found.how, seconds=found.seconds)
    os.replace(part, path)
    return found


def compute_reference(case: Case, noise: float = NOISE, most_queries: int = MOST_QUERIES) -> Reference:
    start = time.perf_counter()
    values, how, queries = tree_values(case), "trees", 0
    n_features = case.X.shape[1]
    if values is None and n_features <= MOST_FEATURES:
        queries = len(case.X) * 2**n_features * len(case.B)
        if queries <= most_queries:
            how, values = "enumeration", enumerate_sets(case.log_odds, case.X, case.B)
    if values is not None:
        return Reference(values, values, queries, how, time.perf_counter() - start)
    seed = case.problem.seed
    found = walk(case.log_odds, case.X, case.B, noise=noise, most_queries=most_queries, seed=seed)
    return replace(found, how="walks", seconds=time.perf_counter() - start)


def enumerate_sets(predict: Predict, X: FloatArray, background: FloatArray) -> FloatArray:
    """Return interventional Shapley values, (n, features, outputs), exact for the background.

    A product of two features is shared equally:

    >>> product = lambda X: X[:, :1] * X[:, 1:2]
    >>> enumerate_sets(product, np.array([[2.0, 3.0]]), np.zeros((1, 2)))[0, :, 0]
    array([3., 3.])
    """
    m = X.shape[1]
    sets = (np.arange(2**m)[:, None] >> np.arange(m)) % 2 == 1  # bit j of a position is feature j
    weights = np.array([factorial(s) * factorial(m - s - 1) / factorial(m) for s in range(m)])
    sizes, places = sets.sum(axis=1), np.arange(len(sets))
    found = []
    for x in X:
        worth = _set_values(predict, x, background, sets)
        without = [places[~sets[:, j]] for j in range(m)]
        found.append([weights[sizes[s]] @ (worth[s + 2**j] - worth[s]) for j, s in enumerate(without)])
    return np.array(found)


def _set_values(predict: Predict, x: FloatArray, background: FloatArray, sets: BoolArray) -> FloatArray:
    """Return the mean answer with the features of a set taken from the row, (sets, outputs)."""
    step = max(1, ROWS_AT_ONCE // len(background))
    found = []
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        answers = predict(np.where(part[:, None, :], x, background).reshape(-1, len(x)))
        found.append(answers.reshape(len(part), len(background), -1).mean(axis=1))
    return np.concatenate(found)


def walk(
    predict: Predict,
    X: FloatArray,
    background: FloatArray,
    *,
    noise: float,
    most_queries: int,
    seed: int = 0,
) -> Reference:
    """Add walks until the noise is small enough, or no more queries are allowed."""
    walker, pairs = Walker(predict, X, background, seed), FIRST_PAIRS
    while True:
        walker.add(pairs)
        found, pairs = walker.reference(), walker.pairs  # doubles the number of walks
        cost = 2 * pairs * walker.queries_per_pair * len(X)
        if found.noise <= noise or found.queries + cost > most_queries:
            return found


class Walker:
    """Walks from background rows to rows: features change one by one, in random order and in reverse.

    There are two independent halves; each uses the whole background before it repeats a row of it.
    """

    def __init__(self, predict: Predict, X: FloatArray, background: FloatArray, seed: int = 0) -> None:
        self.predict, self.X, self.background = predict, X, background
        self.rng = np.random.default_rng([seed, 11])
        self.ends, self.starts = predict(X), predict(background)
        self.pairs = 0  # in each half
        self.sums = np.zeros((2, *X.shape, self.ends.shape[1]))
        self.orders = np.argsort(self.rng.random((2, len(X), len(background))), axis=2)

    @property
    def queries_per_pair(self) -> int:
        return 2 * (self.X.shape[1] - 1)

    def add(self, pairs: int) -> None:
        """Add this number of pairs of walks to each half."""
        count = min(pairs, max(1, ROWS_AT_ONCE // max(1, self.queries_per_pair)))
        step = max(1, ROWS_AT_ONCE // max(1, self.queries_per_pair * count))
        for half in (0, 1):
            for start in range(0, len(self.X), step):
                rows = np.arange(start, min(start + step, len(self.X)))
                for first in range(0, pairs, count):
                    places = np.arange(self.pairs + first, self.pairs + min(first + count, pairs))
                    behind = self.orders[half][rows][:, places % len(self.background)]
                    self.sums[half, rows] += self._walk(rows, behind)
        self.pairs += pairs

    def reference(self) -> Reference:
        queries = len(self.X) * (1 + 2 * self.pairs * self.queries_per_pair) + len(self.background)
        return Reference(self.sums[0] / self.pairs, self.sums[1] / self.pairs, queries)

    def _walk(self, rows: IntArray, behind: IntArray) -> FloatArray:
        """Return the summed gains of features, (rows, features, outputs), over pairs of walks."""
        n, pairs = behind.shape
        n_features = self.X.shape[1]
        rank = np.argsort(self.rng.random((n, pairs, n_features)), axis=2)
        total = np.zeros((n, n_features, self.ends.shape[1]))
        for places in (rank, n_features - 1 - rank):
            total += self._gains(rows, behind, places).sum(axis=1)
        return total / 2

    def _gains(self, rows: IntArray, behind: IntArray, rank: IntArray) -> FloatArray:
        n, pairs, n_features = rank.shape
        outputs = self.ends.shape[1]
        path = np.empty((n, pairs, n_features + 1, outputs))
        path[:, :, 0] = self.starts[behind]
        path[:, :, -1] = self.ends[rows][:, None]
        if n_features > 1:
            changed = rank[:, :, None, :] < np.arange(1, n_features)[:, None]
            points = np.where(changed, self.X[rows][:, None, None], self.background[behind][:, :, None])
            answers = self.predict(points.reshape(-1, n_features))
            path[:, :, 1:-1] = answers.reshape(n, pairs, n_features - 1, outputs)
        return np.take_along_axis(np.diff(path, axis=2), rank[..., None], axis=2)


def tree_values(case: Case) -> FloatArray | None:
    """Return the exact values from TreeExplainer, (n, features, outputs), or None.

    They exist if each feature is a numeric column and the sum of the trees is the log-odds.
    """
    if case.problem.black_box not in MARGINS or case.coding.categorical or not _margins_are_log_odds(case):
        return None
    options = {"data": case.coding.encode(case.B), "feature_perturbation": "interventional"}
    try:
        from shap import TreeExplainer

        explainer = TreeExplainer(case.problem.model.classifier, **options)
        values = output_values(explainer.shap_values(case.coding.encode(case.X)), case)
    except Exception as error:  # the package is missing, or rejects some versions of models
        print(f"TreeExplainer: {error}; random walks are used")
        return None
    gain = case.log_odds(case.X) - case.log_odds(case.B).mean(axis=0)
    missed = np.square(values.sum(axis=1) - gain).mean()
    return values if missed <= 1e3 * SAME * max(gain.var(), 1e-12) else None


def output_values(found: Any, case: Case) -> FloatArray:
    """Return TreeExplainer's values as (n, features, outputs), centred over more than two classes."""
    values = np.moveaxis(np.asarray(found), 0, -1) if isinstance(found, list) else np.asarray(found)
    n_classes = len(case.problem.classes)
    if n_classes == 2:
        values = values[:, :, None] if values.ndim == 2 else values[:, :, 1:]
    else:
        every = np.zeros((*values.shape[:2], n_classes))
        every[:, :, case.problem.model.seen_] = values
        values = every - every.mean(axis=2, keepdims=True)
    owner = case.problem.encoding.owner
    return np.stack([sum_by_feature(values[:, :, c], owner) for c in range(values.shape[2])], axis=2)


def _margins_are_log_odds(case: Case) -> bool:
    """Compare margins and log-odds on mixtures of explained and background rows."""
    rng = np.random.default_rng(0)
    pick = [rows[rng.integers(len(rows), size=MIXED_ROWS)] for rows in (case.X, case.B)]
    mixed = np.where(rng.random(pick[0].shape) < rng.random((MIXED_ROWS, 1)), *pick)
    truth, X = case.log_odds(mixed), case.coding.encode(mixed)
    option = "output_margin" if case.problem.black_box == "xgb" else "raw_score"
    margins = np.asarray(case.problem.model.classifier.predict(X, **{option: True}), dtype=float)
    margins = margins.reshape(len(X), -1)
    if margins.shape[1] > 1:
        margins = margins - margins.mean(axis=1, keepdims=True)
    same = margins.shape == truth.shape
    return bool(same and np.square(margins - truth).mean() <= SAME * max(truth.var(), 1e-12))


def errors(values: FloatArray, reference: Reference) -> dict[str, float]:
    """Compare with the reference, all arrays (n, features, outputs).

    `r2` is one minus the squared error over the variance of the reference over rows; `r2_unbiased` removes
    the noise of the reference by products of its halves; `r2_scaled` is r2 after the best common factor, for
    methods in other units.
    """
    truth = reference.values
    missed, spread = np.square(values - truth).sum(), np.square(truth - truth.mean(axis=0)).sum()
    first, second = (half - half.mean(axis=0) for half in (reference.first, reference.second))
    unbiased = ((values - reference.first) * (values - reference.second)).sum()
    factor = (values * truth).sum() / max(np.square(values).sum(), 1e-300)
    return {
        "relative_error": _ratio(missed, np.square(truth).sum()),
        "r2": 1.0 - _ratio(missed, spread),
        "r2_unbiased": 1.0 - _ratio(unbiased, (first * second).sum()),
        "r2_scaled": 1.0 - _ratio(np.square(factor * values - truth).sum(), spread),
    }


def agreement(values: FloatArray, truth: FloatArray) -> dict[str, float]:
    """Compare row by row, (n, features) each: correlation, and the common share of the strongest features."""
    centred = [each - each.mean(axis=1, keepdims=True) for each in (values, truth)]
    top = min(TOP, values.shape[1])
    both = _strongest(values, top) & _strongest(truth, top)
    return {
        "correlation": float(np.mean(metrics.cosine_score(*centred))),
        "top3": float(np.mean(both.sum(axis=1) / top)),
    }


def coverage(values: FloatArray, standard_errors: FloatArray, truth: Reference) -> float:
    """Return the share of 95 % intervals that contain the reference, whose own variance is added."""
    noise = np.square(truth.first - truth.second).mean(0) / 4
    within = 1.96 * np.sqrt(np.square(standard_errors) + noise)
    return float(np.mean(np.abs(values - truth.values) <= within))


def stated_over_true(standard_errors: FloatArray, values: FloatArray, truth: Reference) -> FloatArray:
    """Return for each feature the stated error over the true one, both root mean squares over rows.

    The noise of the reference is taken out of the true error. Features without either count as 1.
    """
    noise = np.square(truth.first - truth.second).mean((0, 2)) / 4
    true = np.square(values - truth.values).mean((0, 2)) - noise
    stated = np.square(standard_errors).mean((0, 2))
    nothing = (stated == 0) & (true <= 0)
    return np.where(nothing, 1.0, np.sqrt(stated / np.maximum(true, 1e-300)))


def same_reasons(first: FloatArray, second: FloatArray, n: int = REASONS) -> float:
    """Return the share of rows with the same n largest contributions, (n_rows, features) each.

    >>> same_reasons(np.array([[3.0, 2.0, 1.0]]), np.array([[2.0, 3.0, 0.0]]), 2)
    1.0
    """
    n = min(n, first.shape[1])
    pair = (np.argsort(-values, axis=1, kind="stable")[:, :n] for values in (first, second))
    one, other = (np.sort(top, axis=1) for top in pair)
    return float((one == other).all(1).mean())


def same_or_tied_reasons(explanations: list[tuple[FloatArray, FloatArray]], n: int = REASONS) -> float:
    """Return the share of rows with the same n largest contributions, but for ties.

    Features that only one of two explanations (values, standard errors) names must be within 1.96 standard
    errors of those that only the other names, in one of the two.

    >>> first = np.array([[3.0, 2.0, 1.9]]), np.array([[0.1, 0.1, 0.1]])
    >>> same_or_tied_reasons([first, (first[0][:, [0, 2, 1]], first[1])], 2)
    1.0
    >>> same_or_tied_reasons([(first[0], 0 * first[1]), (first[0][:, [0, 2, 1]], 0 * first[1])], 2)
    0.0
    """
    tops = [
        np.argsort(-values, axis=1, kind="stable")[:, : min(n, values.shape[1])] for values, _ in explanations
    ]
    same = []
    for row, (mine, yours) in enumerate(zip(*(top.tolist() for top in tops), strict=True)):
        only, other = [k for k in mine if k not in yours], [k for k in yours if k not in mine]
        same.append(any(_tied(values[row], errors[row], only, other) for values, errors in explanations))
    return float(np.mean(same))


def _tied(values: FloatArray, errors: FloatArray, only: list[int], other: list[int]) -> bool:
    gaps = values[only][:, None] - values[other]
    return bool((np.abs(gaps) <= 1.96 * np.hypot(errors[only][:, None], errors[other])).all())


def decided_class(values: FloatArray, decisions: IntArray) -> FloatArray:
    """Return the contributions to the decided class, (n, features)."""
    if values.shape[2] == 1:
        return values[:, :, 0] * np.where(decisions == 1, 1.0, -1.0)[:, None]
    return values[np.arange(len(values)), :, decisions]


def null_shares(values: FloatArray, n_null: int) -> list[float]:
    """Return the mean size of the last features' contributions as shares of the strongest feature's.

    >>> null_shares(np.array([[[4.0], [1.0], [0.0]]]), 2)
    [0.25, 0.0]
    """
    sizes = np.abs(values).mean(axis=(0, 2))
    return [_ratio(size, sizes[:-n_null].max()) for size in sizes[-n_null:]]


def similarity(first: FloatArray, second: FloatArray) -> dict[str, float]:
    """Compare two explanations of the same rows: mean cosine, and the squared difference as a share."""
    flat = [values.reshape(len(values), -1) for values in (first, second)]
    middle = (first + second) / 2
    return {
        "cosine": float(np.mean(metrics.cosine_score(*flat))),
        "difference": _ratio(np.square(first - second).sum(), np.square(middle - middle.mean(axis=0)).sum()),
    }


def query_scores(case: Case, decided: FloatArray) -> dict[str, float]:
    """Return infidelity, and the prediction gaps of important and unimportant features."""
    encoding, n = case.problem.encoding, len(decided)
    X, classes = case.coding.encode(case.X[:n]), case.decisions[:n]
    first = np.unique(encoding.owner, return_index=True)[1]
    per_column = np.zeros(X.shape)
    per_column[:, first] = decided  # the whole contribution of a feature is on its first column
    call = (per_column, X, case.problem.model.predict_proba, classes)
    common: dict[str, Any] = {"background": case.coding.encode(case.B), "owner": encoding.owner}
    return {
        "infidelity": metrics.infidelity(*call, n_samples=SAMPLES, **common),
        "pgi": metrics.prediction_gap(*call, important=True, **common),
        "pgu": metrics.prediction_gap(*call, important=False, **common),
    }


def _strongest(values: FloatArray, top: int) -> BoolArray:
    found = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(found, np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top], True, axis=1)
    return found


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")

"""The methods of the paper: an encoder (ILL, LIN or INP), then surrogates on the latents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.data.problem import Problem
from benchmarks.methods.outcome import (
    Outcome,
    column_bounds,
    explained_classes,
    fixed_class,
    select_class,
    sum_by_feature,
)
from illume._typing import FloatArray, IntArray
from illume.data.class_outputs import Classes
from illume.encoders.base import IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder
from illume.encoders.options import PAPER, Objective
from illume.explanations.boxes import Boxes, Layout
from illume.explanations.fitted import AnsweredRows, FitRows, Pair
from illume.explanations.neighbours import ExactSearch, Neighbours, unit
from illume.explanations.refinement import LinearRegions, Refiner
from illume.explanations.tree_rules import TreeRules
from illume.fit.trials import fit_surrogate
from illume.metrics import macro_f1
from illume.metrics.fidelity import agreement

OBJECTIVES = {
    "none": Objective(lambda_co=0.0),
    "co": Objective(),
    "so": Objective(lambda_co=0.0, lambda_so=1.0),
    "so2": Objective(lambda_co=0.0, lambda_so=1.0, alpha=2),
}
VARIANTS: dict[str, dict[str, float]] = {"": {}, "uc": {"lambda_y": 0.0}, "us": {"lambda_st": 0.0}}
VALIDATION_SHARE = 0.15


def paper(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """ILLUME: a map for each row."""
    return _outcome(problem, _encoder(partial(MetaEncoder, n_bins=0), problem, setting, device), setting)


def lin(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """LIN: one trained map for all rows."""
    return _outcome(problem, _encoder(LinearEncoder, problem, setting, device), setting)


def inp(problem: Problem, setting: dict[str, Any], device: str) -> Outcome:
    """INP: surrogates on the inputs."""
    return _outcome(problem, IdentityEncoder(), setting)


def _encoder(kind: Callable[..., Any], problem: Problem, setting: dict[str, Any], device: str) -> Any:
    objective = replace(OBJECTIVES[setting["objective"]], **VARIANTS[setting.get("variant", "")])
    return kind(
        setting["k"],
        objective=objective,
        training=PAPER,
        onehot=tuple(np.flatnonzero(problem.encoding.onehot)),
        device=device,
        random_state=problem.seed,
        verbose=False,
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a problem as a protocol uses them.

    Clean: centred columns, and validation rows from the training part. Paper: 0/1 columns as they are, and
    the test rows serve as validation rows.
    """

    material: FitRows
    test: AnsweredRows
    layout: Layout
    all_train: FloatArray

    @classmethod
    def from_problem(cls, problem: Problem, n_rows: int | None = None) -> Rows:
        """Split the rows of a problem; at most `n_rows` are used for training and validation."""
        encoding, clean = problem.encoding, problem.protocol == "clean"
        some = np.random.default_rng(problem.seed).permutation(len(problem.X_train))[:n_rows]
        X_train, P_train = problem.X_train[some], problem.P_train[some]
        centre = np.where(encoding.onehot, X_train.mean(0), 0.0) if clean else np.zeros(X_train.shape[1])
        train, test = (
            AnsweredRows(X_train - centre, P_train),
            AnsweredRows(problem.X_test - centre, problem.P_test),
        )
        validation = test
        if clean:
            train, validation = _split(train, problem.seed)
        none = AnsweredRows.empty()
        layout = Layout(
            owner=encoding.owner,
            onehot=encoding.onehot,
            mean=np.where(encoding.onehot, centre, 0.0),
            scale=np.ones(len(centre)),
            low=train.X.min(0),
            high=train.X.max(0),
        )
        everything = problem.X_train - centre
        outputs = Classes(tuple(map(str, range(train.P.shape[1]))))
        return cls(FitRows(outputs, train, validation, none, none), test, layout, everything)

    def one_against_rest(self, c: int) -> Rows:
        """Return the same rows with two classes: not c, and c."""

        def two(rows: AnsweredRows) -> AnsweredRows:
            p = rows.P[:, [c]]
            return AnsweredRows(rows.X, np.hstack([1 - p, p])) if len(rows) else rows

        material = self.material
        return replace(
            self,
            material=replace(
                material,
                outputs=Classes(("rest", str(c))),
                training=two(material.training),
                validation=two(material.validation),
            ),
            test=two(self.test),
        )


def _split(train: AnsweredRows, seed: int) -> tuple[AnsweredRows, AnsweredRows]:
    decisions = train.P.argmax(1)
    rare = np.bincount(decisions)[decisions] < 4
    strata = np.where(rare, -1, decisions)
    strata = strata if np.unique(strata, return_counts=True)[1].min() > 1 else None
    kept, apart = train_test_split(
        np.arange(len(decisions)), test_size=VALIDATION_SHARE, stratify=strata, random_state=seed
    )
    return AnsweredRows(train.X[kept], train.P[kept]), AnsweredRows(train.X[apart], train.P[apart])


def _outcome(problem: Problem, encoder: Any, setting: dict[str, Any]) -> Outcome:
    rows = Rows.from_problem(problem, setting.get("train_rows"))
    start = time.perf_counter()
    train, validation = rows.material.training, rows.material.validation
    encoder.fit(train.X, train.P, validation=(validation.X, validation.P))
    classes, one = explained_classes(problem), fixed_class(problem)
    if problem.protocol == "paper" and len(problem.classes) > 2:
        rows = rows.one_against_rest(int(classes[0]))
        classes = one = np.ones(len(classes), dtype=np.intp)
    pairs = {"lr": fit_surrogate(encoder, "logistic", rows.material)}
    pairs["dt"] = fit_surrogate(encoder, "tree", rows.material)
    outcome = Outcome(np.arange(len(rows.test.X)), fit_s=time.perf_counter() - start)
    for name, pair in pairs.items():
        outcome.figures |= surrogate_figures(name, pair, rows)
    if isinstance(encoder, MetaEncoder | LinearEncoder):
        outcome.latents = encoder.transform(rows.all_train), encoder.transform(rows.test.X)
        outcome.figures["epochs"] = len(encoder.history_.epochs)
    start = time.perf_counter()
    borrow = problem.protocol == "paper"
    slopes, values, outcome.figures["lr.faithful"] = _slopes(pairs["lr"], rows, borrow)
    outcome.explain_s = time.perf_counter() - start
    owner = problem.encoding.owner
    outcome.slopes, outcome.slopes_of_one = (select_class(slopes, c) for c in (classes, one))
    outcome.contributions, outcome.contributions_of_one = (
        sum_by_feature(select_class(values, c), owner) for c in (classes, one)
    )
    maker = rule_maker(pairs["dt"], rows)
    boxes = _boxes(maker, rows, borrow)
    outcome.rules = column_bounds(boxes, rows.layout.onehot, rows.layout.owner)
    if problem.truth is not None and problem.truth.kind == "box":
        outcome.counterfactual_rules = _counterfactual_rules(maker, rows)
    return outcome


def surrogate_figures(name: str, pair: Pair, rows: Rows) -> dict[str, float]:
    """Return the agreement of a surrogate with the black box on test and validation rows."""
    Q, validation = pair.answers(rows.test.X), rows.material.validation
    return {
        f"{name}.agreement": agreement(rows.test.P, Q),
        f"{name}.f1": macro_f1(rows.test.P.argmax(1), Q.argmax(1)),
        f"{name}.validation": agreement(validation.P, pair.answers(validation.X)),
    }


def neighbours(pair: Pair, rows: Rows) -> Neighbours:
    """Return a search among valid training rows: by latents, or for INP by the paper's distance of inputs."""
    train = rows.material.training
    Z = pair.encoder.transform(train.X)
    question, answers = rows.material.outputs.question(), (train.P, pair.surrogate.answers(Z))
    found = Neighbours.of(train.X, Z, question, answers, "exact")
    if not isinstance(pair.encoder, IdentityEncoder):
        return found
    return replace(
        found,
        searches=tuple(InputSearch(rows.layout, train.X[v]) if len(v) else None for v in found.valid),
    )


class InputSearch:
    """The nearest row by cosine distance of numbers and Hamming distance of categories.

    Both are linear in inner products, so one product of scaled rows ranks all of them.
    """

    def __init__(self, layout: Layout, X: FloatArray) -> None:
        self.layout = layout
        self.search = ExactSearch(self._embed(X))

    def nearest(self, X: FloatArray) -> IntArray:
        return self.search.nearest(self._embed(X))

    def _embed(self, X: FloatArray) -> FloatArray:
        onehot, m = self.layout.onehot, X.shape[1]
        numbers = unit(X[:, ~onehot]) * np.sqrt((~onehot).sum() / m)
        categories = (X + self.layout.mean)[:, onehot] * np.sqrt(2 / m)
        return np.hstack([numbers, categories])


def _slopes(pair: Pair, rows: Rows, borrow: bool) -> tuple[FloatArray, FloatArray, float]:
    """Return slopes, contributions, and the share of rows whose explanation decides like the black box.

    Rows on which the surrogate disagrees are refined, or, as in the paper's main text, borrow the explanation
    of the nearest training row on which surrogate and black box agree on the same decision.
    """
    X, wanted = rows.test.X, rows.test.P.argmax(1)
    coef, near = pair.surrogate.coef_, neighbours(pair, rows)
    pulled = pair.encoder.pull_back(X, coef)
    slopes, values = pulled.slopes.copy(), pulled.slopes * X[:, None, :]
    other = np.flatnonzero(pair.surrogate.answers(pulled.Z).argmax(1) != wanted)
    if not len(other):
        return slopes, values, 1.0
    if borrow:
        found = near.nearest(pulled.Z[other], wanted[other])
        other, found = other[found >= 0], found[found >= 0]
        slopes[other] = pair.encoder.pull_back(near.X[found], coef).slopes
        values[other] = slopes[other] * near.X[found][:, None, :]
        return slopes, values, 1.0
    refine = Refiner(
        pair.encoder, LinearRegions(pair.surrogate, pair.surrogate.outputs.question()), near, coef
    )
    refined = refine(X[other], pulled.Z[other], wanted[other])
    slopes[other] = refined.mix(slopes[other], refined.slopes)
    values[other] = slopes[other] * X[other][:, None, :]
    return slopes, values, 1 - float(np.mean(~refined.refinement.faithful)) * len(other) / len(X)


def rule_maker(pair: Pair, rows: Rows) -> TreeRules:
    """Return the rules of a tree on latents."""
    train = rows.material.training
    question = rows.material.outputs.question()
    maker = TreeRules.of(pair, rows.layout, (train.X, train.P), question, "exact")
    return replace(maker, neighbours=neighbours(pair, rows))


def _boxes(maker: TreeRules, rows: Rows, borrow: bool) -> Boxes:
    """Return the rule of each test row, borrowed as slopes are if `borrow`."""
    X, wanted = rows.test.X.copy(), rows.test.P.argmax(1)
    if borrow:
        Z = maker.encoder.transform(X)
        other = np.flatnonzero(maker.tree.answers(Z).argmax(1) != wanted)
        found = maker.neighbours.nearest(Z[other], wanted[other])
        X[other[found >= 0]] = maker.neighbours.X[found[found >= 0]]
    return maker(X, wanted).boxes


def _counterfactual_rules(maker: TreeRules, rows: Rows) -> Any:
    """Return for each test row the rule of the most similar training row of another decision.

    As in the paper's appendix: among training rows with another decision of the tree, the most similar one of
    those whose leaf changes the fewest split conditions; the leaf is pulled back through the row's own map.
    """
    X, wanted = rows.test.X, rows.test.P.argmax(1)
    Z_train = maker.encoder.transform(rows.material.training.X)
    leaf, direction = maker.tree.apply(Z_train), unit(Z_train)
    decided = maker.tree.answers(Z_train).argmax(1)
    boxes = Boxes.whole_space(*X.shape)
    for start in range(0, len(X), maker.at_once):
        part = slice(start, start + maker.at_once)
        W, Z, _ = maker.latents(X[part], wanted[part])
        changes = maker.changes(Z)[:, leaf].astype(float)
        rank = np.where(decided == wanted[part][:, None], np.inf, changes) - unit(Z) @ direction.T / 4
        boxes[part] = maker.towards(X[part], W, Z, leaf[rank.argmin(1)])
    return column_bounds(boxes, rows.layout.onehot, rows.layout.owner)

"""Results that every plot must be able to show."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from illume import Explainer, plots
from illume.data.class_outputs import Classes
from tests.common import brief_shapley, grouped, loans


@dataclass(frozen=True)
class Material:
    """One kind of every result, for the same rows."""

    batch: Any
    latents: Any
    rules: Any
    counterfactuals: Any
    frame: Any

    @property
    def row(self):
        return self.batch[0]

    def take(self, rows):
        positions = np.arange(len(self.batch))[rows]
        parts = (self.batch, self.latents, self.rules, self.counterfactuals)
        return Material(*(part[rows] for part in parts), self.frame.iloc[positions])


def explained(explainer, frame, output=None, **wish):
    return Material(
        explainer(frame),
        explainer.latents(frame, maps=True),
        explainer.rules(frame, output=output),
        explainer.counterfactuals(frame, n=2, output=output, **wish),
        frame,
    )


QUICK = {"encoder": "identity", "contributions": "pullback"}


def two_latents():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=["a", "b"])

    def model(rows):
        weights = np.exp(np.column_stack([rows["a"], rows["b"], 0.5 - 2 * rows["a"] - rows["b"]]))
        return weights / weights.sum(1, keepdims=True)

    names = ["low", "mid", "top"]
    return Explainer(model, **grouped(class_names=names, **QUICK)).fit(X), X.iloc[:40]


def three_classes(explainer):
    """Rows on some of which the surrogate disagrees."""
    X = pd.DataFrame(np.random.default_rng(7).normal(size=(900, 4)), columns=list("abcd"))
    agreed = explainer.latents(X).agreed
    some = np.concatenate([np.flatnonzero(agreed)[:15], np.flatnonzero(~agreed)[:5]])
    return explainer, X.iloc[some].reset_index(drop=True)


def prices():
    """A model that answers with one large number, whose name looks like maths to matplotlib."""

    def model(rows):
        kind = rows["education"].map({"low": 0, "middle": 10, "high": 20}).astype(float)
        return 1000 * (rows["age"] + 2 * rows["income"].fillna(30) + 15 * rows["owner"] + kind)

    settings = {"encoder": "identity", "queries": 300, "effort": "quick", "output_names": ["price in $"]}
    with brief_shapley():
        return Explainer(model, **grouped(**settings)).fit(loans(120)), loans(30, seed=2)


def two_numbers():
    """A model that answers with two numbers, explained as factors."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=["a", "b"])

    def model(rows):
        return np.exp(np.column_stack([rows["a"] - 5.0, 2 * rows["b"] + rows["a"] + 9]))

    settings = {"link": "log", "output_names": ["rate", "a number with a name that is far too long to print"]}
    return Explainer(model, **grouped(**settings, **QUICK)).fit(X), X.iloc[:30]


def sixty_features():
    X = np.random.default_rng(0).normal(size=(90, 60)).round()
    X[:, 1] = X[:, 0]
    names = [f"the average number of measurements of the quantity {j} in a household" for j in range(60)]
    frame = pd.DataFrame(X, columns=names)
    weights = np.r_[1.0, 1.0, np.zeros(28), np.full(30, 0.5)]
    classes = ["a class with a name that is far too long to print", "_short"]

    def model(rows):
        return 1 / (1 + np.exp(-rows.to_numpy() @ weights))

    return Explainer(model, **grouped(class_names=classes, **QUICK)).fit(frame), frame.iloc[:30]


def odd(whole):
    """The same results, but nothing contributes, and every name looks like maths to matplotlib."""
    old = whole.batch.labels
    features = tuple(f"${name}$ in $ and\nmore" for name in old.features)
    outputs = Classes(("no: $x_1$", "yes, $5"))
    labels = replace(old, features=features, outputs=outputs)
    batch, rules, found = whole.batch, whole.rules, whole.counterfactuals
    zero = {name: np.zeros_like(getattr(batch, name)) for name in ("values", "offset", "rest")}
    named = tuple(
        replace(feature, name=new) for feature, new in zip(rules.bounds.features, features, strict=True)
    )
    ask = {"outputs": outputs, "question": outputs.question()}
    rules = replace(rules, bounds=replace(rules.bounds, features=named), **ask)
    latents = replace(
        whole.latents, labels=labels, Z=np.zeros_like(whole.latents.Z), X=np.zeros_like(whole.latents.X)
    )
    return Material(
        replace(batch, labels=labels, **zero),
        latents,
        rules,
        replace(found, feature_names=features, rules=rules[: len(found)], **ask),
        whole.frame.set_axis(features, axis=1),
    )


MIXED, SEVERAL, FLAT = (
    "binary, with categories and missing values",
    "three classes",
    "two latents, three classes",
)
WIDE = "60 features with long names, and ties"
NUMBER, TWO = "one number", "two numbers, explained as factors"

# Each takes the other cases and pytest's fixtures, by name
CASES = {
    MIXED: lambda get, fixture: explained(fixture("loan_explainer"), loans(40, seed=2)),
    SEVERAL: lambda get, fixture: explained(*three_classes(fixture("three_class_explainer"))),
    FLAT: lambda get, fixture: explained(*two_latents()),
    WIDE: lambda get, fixture: explained(*sixty_features()),
    NUMBER: lambda get, fixture: explained(*prices(), desired_change=20_000),
    TWO: lambda get, fixture: explained(*two_numbers(), output=1, desired_change=-10_000),
    "one class only": lambda get, fixture: get(MIXED).take(get(MIXED).batch.decisions == 0),
    "one row": lambda get, fixture: get(SEVERAL).take(slice(3, 4)),
    "all contributions 0, dollar signs in all names": lambda get, fixture: odd(get(MIXED)),
}

# From results and axes to what the plot returns
DRAW = {
    "bar of a batch": lambda m, ax: plots.bar(m.batch, ax=ax),
    "bar of a row": lambda m, ax: plots.bar(m.row, ax=ax),
    "waterfall": lambda m, ax: plots.waterfall(m.row, ax=ax),
    "beeswarm": lambda m, ax: plots.beeswarm(m.batch, ax=ax),
    "dependence": lambda m, ax: plots.dependence(m.batch, 0, ax=ax),
    "dependence on the last": lambda m, ax: plots.dependence(m.batch, -1, colour=1, ax=ax),
    "decision paths": lambda m, ax: plots.decision_paths(m.batch, highlight=0, ax=ax),
    "latent map": lambda m, ax: plots.latent_map(m.latents, highlight=0, ax=ax),
    "row map": lambda m, ax: plots.row_map(m.latents[0], ax=ax),
    "rule": lambda m, ax: plots.rule(m.rules[0], m.frame, ax=ax),
    "rule without rows": lambda m, ax: plots.rule(m.rules[0], ax=ax),
    "counterfactual": lambda m, ax: plots.counterfactual(m.counterfactuals[0], ax=ax),
    "compare": lambda m, ax: plots.compare({"illume": m.row, "_$other$": m.row.contributions()}, ax=ax),
}
DRAW_MANY = {
    "compare rows": lambda m, axes: plots.compare_rows(m.row, m.batch[-1], axes=axes),
    "quality": lambda m, axes: plots.quality(m.batch, axes=axes),
}


def texts(ax):
    """Return all that is written on axes, and around them."""
    from matplotlib.text import Text

    return [text.get_text() for text in ax.findobj(Text) if text.get_text()]

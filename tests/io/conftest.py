from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import illume
from illume import Explainer, LinearEncoder, MetaEncoder, Objective
from illume.errors import FormatError
from tests.common import (
    FAST,
    brief_shapley,
    encode_loans,
    grouped,
    linear_black_box,
    loans,
    use_local,
)

SMALL = Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_co=0.0, lambda_y=0.0, width=8)
SHORT = replace(FAST, max_epochs=1, learning_rate=1e-6)  # too short to come close
QUICK = {
    "n_latents": 2,
    "queries": 60,
    "contributions": "pullback",
    "training": FAST,
    "objective": SMALL,
    "verbose": False,
}
EXACT = {"contributions": "shapley", "twin": "exact"}
VALUED = {**QUICK, "contributions": "shapley", "effort": "quick", "queries": 2_000}


@pytest.fixture(scope="session")
def numpy_rows():
    return np.random.default_rng(3).normal(size=(60, 3))


@pytest.fixture(scope="session")
def small(numpy_rows):
    """A small explainer of a model of numbers that no linear surrogate follows."""
    return use_local(Explainer(steep, **grouped(**QUICK)).fit(numpy_rows)).fit_rules()


@pytest.fixture(scope="session")
def small_file(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("io") / "small.illume"
    small.save(path)
    return path


def bent(rows):
    """A black box of three classes over numbers and text, for any library."""
    frame = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    a = frame["age"].to_numpy(dtype=float) / 40 - 1
    b = np.nan_to_num(frame["income"].to_numpy(dtype=float), nan=30.0) / 20 - 1.5
    c = (frame["education"].astype(str) == "high").to_numpy(dtype=float)
    logits = np.stack([a * b, a - c, b * b + c - 0.5], axis=1) * 3
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def pandas_rows():
    frame = loans(120)
    frame["education"] = frame["education"].astype("category")
    frame["visits"] = pd.array([None if i % 11 == 0 else i % 4 for i in range(len(frame))], dtype="Int64")
    frame["region"] = pd.Series(["n", "s", None, "w"] * 30, dtype="string")
    frame.index = [f"row {i}" for i in range(len(frame))]
    return frame


def polars_rows():
    return pl.from_pandas(loans(100)).with_columns(
        pl.col("education").cast(pl.Categorical),
        pl.Series("size", ["s", "m", None, "l"] * 25, dtype=pl.Enum(["s", "m", "l"])),
        pl.Series("visits", [None, 1, 2, 3, 4] * 20, dtype=pl.Int16),
    )


def arrow_rows():
    import pyarrow as pa

    table = pa.Table.from_pandas(loans(100), preserve_index=False)
    at = table.column_names.index("education")
    return table.set_column(at, "education", table["education"].dictionary_encode())


def steep(rows):
    """A black box that no linear surrogate follows."""
    X = np.asarray(rows, dtype=float)
    return 1 / (1 + np.exp(-4 * (X[:, 0] * X[:, 1] + 0.3 * X[:, 2])))


# How each kind of explainer comes about: the model, the rows and the settings
KINDS = {
    "meta, three classes, pandas": lambda: (bent, pandas_rows(), {}),
    "linear, polars": lambda: (bent, polars_rows(), {"encoder": "linear"}),
    "meta with a logistic surrogate and an encoder for rules, Arrow": lambda: (
        bent,
        arrow_rows(),
        {"objective": Objective(width=8), "rule_objective": "so", "n_latents": 3},
    ),
    "identity, ridge, a tree of one's own": lambda: (
        bent,
        loans(100),
        {"encoder": "identity", "surrogate": RidgeClassifier(), "tree": DecisionTreeClassifier(max_depth=3)},
    ),
    "fell back, two classes": lambda: (
        linear_black_box([2.0, -1.0, 0.5]),
        np.random.default_rng(4).normal(size=(160, 3)),
        {"encoder": LinearEncoder(1, training=SHORT, objective=Objective(), verbose=False)},
    ),
    "a meta-encoder of one's own, two classes": lambda: (
        steep,
        np.random.default_rng(5).normal(size=(150, 3)),
        {
            "encoder": MetaEncoder(3, training=FAST, objective=SMALL, verbose=False),
            "class_names": ["no", "yes"],
        },
    ),
    "meta of low rank, three classes, and an encoder of low rank for rules": lambda: (
        bent,
        loans(100),
        {"rank": 2, "rule_objective": "so"},
    ),
    "text alone, a class never decided, unknown ignored": lambda: (
        _by_letter,
        np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "y"], ["b", "x"]] * 12, dtype=object),
        {"unknown": "ignore"},
    ),
    "Shapley values, three classes, pandas, an ignored column": lambda: (
        bent,
        pandas_rows().assign(noise=np.arange(120) % 7),
        VALUED | {"queries": 11_500, "encoder": "identity"},
    ),
    "Shapley values, a background of one's own, polars": lambda: (
        bent,
        polars_rows(),
        VALUED | {"background": polars_rows()[:25].with_columns(income=12345.5 + 0 * pl.col("income"))},
    ),
    "Shapley values, two classes, NumPy, measured errors": lambda: (
        steep,
        np.random.default_rng(3).normal(size=(80, 3)),
        VALUED | {"queries": 3_000, "validation_size": 0.25, "report_size": 0.25},
    ),
    "exact trees, three classes, pandas": lambda: (forest(), loans(100), EXACT),
    "exact linear, two classes, NumPy": lambda: (
        line(),
        np.random.default_rng(6).normal(size=(90, 3)),
        EXACT,
    ),
}


def forest():
    """A forest that is read, on rows with text."""
    X = loans(100)
    y = np.digitize(X["age"] + 20 * (X["education"] == "high"), [40, 65])
    trees = RandomForestClassifier(5, max_depth=4, random_state=0)
    return make_pipeline(FunctionTransformer(plain_loans), trees).fit(X, y)


def plain_loans(frame):
    return np.nan_to_num(encode_loans(frame), nan=30.0)


def line():
    """A linear model that is read."""
    X = np.random.default_rng(6).normal(size=(90, 3))
    return LogisticRegression().fit(X, X[:, 0] - X[:, 1] > 0)


def _by_letter(rows):
    first = np.asarray(rows)[:, 0]
    P = np.stack([(first == "a") * 0.8, (first == "b") * 0.7, np.full(len(first), 0.1)], axis=1) + 0.05
    return P / P.sum(1, keepdims=True)


@pytest.fixture(scope="session")
def saved_kinds(tmp_path_factory):
    """Return an explainer of a kind, made once, its rows, its model, and its file."""

    @cache
    def make(kind):
        model, rows, settings = KINDS[kind]()
        with brief_shapley():
            explainer = Explainer(model, **grouped(**{**QUICK, **settings})).fit(rows)
        if "fell back" not in kind and "Shapley" not in kind:
            use_local(explainer)
        explainer.fit_rules()
        path = tmp_path_factory.mktemp("io") / "kind.illume"
        explainer.save(path)
        return explainer, rows, model, path

    return make


@pytest.fixture(params=list(KINDS))
def saved(request, saved_kinds):
    return saved_kinds(request.param)


@pytest.fixture
def refused(tmp_path):
    """Return what writes bytes to a file and expects it to be refused with some words."""

    def check(content, match):
        path = tmp_path / "bad.illume"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=match):
            illume.load(path)

    return check

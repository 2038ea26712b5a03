"""Counterfactuals keep to what may change: features, directions, whole numbers, values of training rows."""

import numpy as np
import pandas as pd
import pytest

from illume.errors import SchemaError
from illume.explanations import counterfactual_search
from tests.common import linear_black_box, loans
from tests.test_counterfactuals import explainer_of

ROWS = loans(60, seed=4)
ORDER = ["low", "middle", "high"]


def changed_rows(found, rows):
    """Return the rows and their examples, one below the other, in the same order."""
    return rows.iloc[found.row].reset_index(drop=True), found.examples.reset_index(drop=True)


@pytest.fixture(scope="module")
def problems(loan_explainer, limit_explainer):
    """Rows to change, by a classifier and by a regressor, and what is wished for."""
    return [(loan_explainer, ROWS, {}), (limit_explainer, ROWS, {"desired_change": 3_000})]


@pytest.mark.parametrize("fixed", [["age"], ["age", "owner"], ["income", "education"], ["income"]])
def test_immutable_features_keep_their_values(problems, fixed):
    for explainer, rows, wish in problems:
        found = explainer.counterfactuals(rows, n=3, immutable=fixed, **wish)
        before, after = changed_rows(found, rows)
        pd.testing.assert_frame_equal(before[fixed], after[fixed])
        assert len(found.row)
        lost = found.reasons[~found.found]
        assert all(f"all features but {', '.join(fixed)}" in why for why in lost if "none of" in why)


WAYS = [
    {"age": "up"},
    {"age": "decrease", "income": "increase"},
    {"age": "up", "income": "down", "education": ORDER},
    {"education": ["high", "low"]},
]


@pytest.mark.parametrize("direction", WAYS)
def test_features_change_in_their_direction_alone(problems, direction):
    for explainer, rows, wish in problems:
        found = explainer.counterfactuals(rows, n=3, direction=direction, **wish)
        before, after = changed_rows(found, rows)
        assert len(found.row)
        for name, way in direction.items():
            changed = found.changed[:, found.feature_names.index(name)]
            rank = {value: i for i, value in enumerate(way)}.get if isinstance(way, list) else float
            step = [
                rank(b) - rank(a) for a, b in zip(before[name][changed], after[name][changed], strict=True)
            ]
            sign = -1 if way in ("down", "decrease") else 1
            assert all(sign * each > 0 for each in step), name


def test_a_missing_value_has_no_direction_and_stays(loan_explainer):
    rows = ROWS.assign(income=np.nan)
    found = loan_explainer.counterfactuals(rows, n=3, direction={"income": "up"})
    assert len(found.row)
    assert found.examples["income"].isna().all()
    assert loan_explainer.counterfactuals(rows, n=3).changed[:, 1].any()


def test_a_direction_of_a_feature_that_may_not_change_is_no_contradiction(loan_explainer):
    found = loan_explainer.counterfactuals(ROWS, immutable=["age"], direction={"age": "up", "income": "up"})
    assert not found.changed[:, 0].any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"immutable": ["agee"]}, "immutable names 'agee', which is no column; the nearest column is 'age'"),
        ({"immutable": "age"}, r"immutable must be a list of names; write \['age'\]"),
        ({"immutable": ["age"], "features_to_vary": ["age", "income"]}, "'age' cannot be both in"),
        ({"immutable": list(ROWS.columns)}, "all features are immutable"),
        ({"immutable": ["age"], "permitted_range": {"age": [20, 30]}}, "'age', which is immutable"),
        ({"direction": {"incom": "up"}}, "direction names 'incom'.*nearest column is 'income'"),
        ({"direction": {"age": "older"}}, "direction of 'age' must be 'up' or 'down', found 'older'"),
        ({"direction": {"education": "up"}}, "'education' is no number, so its direction must be a list"),
        ({"direction": {"education": ["low", "top"]}}, "holds 'top', not among its values: 'high', 'low'"),
        ({"direction": {"education": ["low", "low"]}}, "must be a list of its values"),
        ({"direction": ["age"]}, "direction must be a dictionary"),
    ],
)
def test_contradictions_and_unknown_names_are_refused_before_the_model_is_asked(
    loan_explainer, options, words
):
    asked = loan_explainer.fitted_.black_box.n_asked
    with pytest.raises(SchemaError, match=words):
        loan_explainer.counterfactuals(ROWS, **options)
    assert loan_explainer.fitted_.black_box.n_asked == asked


KINDS = {
    "int8": lambda rng, n: rng.integers(0, 50, n).astype("int8"),
    "Int64": lambda rng, n: pd.array(
        np.where(np.arange(n) % 9, rng.integers(18, 80, n), None), dtype="Int64"
    ),
    "float of whole numbers": lambda rng, n: rng.integers(0, 20, n).astype(float),
    "float32": lambda rng, n: rng.normal(size=n).astype("float32"),
    "bool": lambda rng, n: rng.random(n) < 0.5,
    "category": lambda rng, n: pd.Categorical(rng.choice(list("abc"), n)),
    "code": lambda rng, n: rng.integers(0, 4, n),
}


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: make(rng, n) for name, make in KINDS.items()})


def mixed_score(rows):
    parts = [
        rows[name].astype(float).fillna(40) for name in ("int8", "Int64", "float of whole numbers", "float32")
    ]
    scale = (15, 18, 6, 1)
    total = sum(
        (part - part_mean) / s for part, part_mean, s in zip(parts, (25, 49, 10, 0), scale, strict=True)
    )
    return total + rows["bool"].astype(float) + (rows["category"] == "a") + (rows["code"] == 2) - 1


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_whole_numbers_stay_whole_types_stay_and_values_are_those_of_training_rows(n_classes):
    cuts = [0.0, 1.0][: n_classes - 1]
    models = {
        0: lambda rows: 10 * mixed_score(rows).to_numpy(),
        2: lambda rows: 1 / (1 + np.exp(-mixed_score(rows).to_numpy())),
        3: lambda rows: np.eye(3)[np.digitize(mixed_score(rows), cuts)],
    }
    frame, rows = mixed(300, 0), mixed(60, 1)
    rows.loc[:9, "float of whole numbers"] = [99.0, -7.0] * 5  # unlike all training rows
    explainer = explainer_of(models[n_classes], categorical=["code"]).fit(frame)
    wish = {} if n_classes else {"desired_change": 5.0}
    found = explainer.counterfactuals(rows, n=3, **wish)
    before, after = changed_rows(found, rows)
    assert found.changed.any(0).sum() >= 5
    assert (after.dtypes == frame.dtypes).all()
    training = explainer.fitted_.pool.frame.native
    for j, name in enumerate(frame):
        changed = found.changed[:, j]
        assert after[name][changed].isin(training[name].dropna()).all(), name
        pd.testing.assert_series_equal(after[name][~changed], before[name][~changed])
    for name in ("int8", "Int64", "float of whole numbers", "code"):
        numbers = after[name].dropna().astype(float)
        np.testing.assert_array_equal(numbers, numbers.round())


def test_a_permitted_range_beyond_the_training_rows_is_used_to_its_end():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 300).astype("uint8"), "x": rng.normal(size=300)})
    model = lambda rows: 1 / (1 + np.exp(-(rows["age"].to_numpy(float) - 70) / 10 - rows["x"]))  # noqa: E731
    explainer = explainer_of(model).fit(frame)
    rows = pd.DataFrame({"age": np.full(5, 30, dtype="uint8"), "x": np.zeros(5)})
    within = explainer.counterfactuals(
        rows, n=1, features_to_vary=["age"], permitted_range={"age": [18, None]}
    )
    assert not within.found.any()
    for high, found_any in ((65, False), (90, True), (1_000, True)):
        asked = {"features_to_vary": ["age"], "permitted_range": {"age": [18, high]}}
        found = explainer.counterfactuals(rows, n=1, **asked)
        assert found.found.all() == found_any
        assert found.examples["age"].between(70, min(high, 255)).all()
        assert found.examples["age"].dtype == "uint8"
    far = explainer.counterfactuals(
        rows, n=1, permitted_range={"age": [80.5, 84.2]}, features_to_vary=["age"]
    )
    assert set(far.examples["age"]) == {81}


def test_values_beyond_the_training_rows_are_never_taken_for_another_feature():
    X = np.random.default_rng(0).normal(size=(300, 3))
    explainer = explainer_of(linear_black_box([1, 1, 1])).fit(X)
    found = explainer.counterfactuals(X[:40], n=3, permitted_range={"x0": [-9, 9]})
    values = explainer.fitted_.pool.frame.native
    for j in (1, 2):
        assert np.isin(found.examples[found.changed[:, j], j], values[:, j]).all()
    assert (np.abs(found.examples[:, 0]) <= 9).all()


def wide_explainer(m):
    """Explain a linear model of which most features matter little, and one of them much."""
    X = np.random.default_rng(0).normal(size=(200, m))
    weights = np.full(m, 0.02)
    weights[m // 2] = 2.0
    return explainer_of(linear_black_box(weights), encoder="identity", contributions="pullback").fit(X), X


def test_questions_about_a_row_do_not_grow_with_very_many_features(monkeypatch):
    monkeypatch.setattr(counterfactual_search, "TRIED_FEATURES", 16)
    asked = {}
    for m in (20, 80):
        explainer, X = wide_explainer(m)
        found = explainer.counterfactuals(X[:10], n=2)
        asked[m] = found.n_asked
        assert found.found.all()
        now, before = explainer.model(found.examples) > 0.5, explainer.model(X[:10])[found.row] > 0.5
        assert (now != before).all()
        assert found.changed[:, m // 2].any()
        alone = explainer.counterfactuals(X[3:4], n=2)
        assert [str(e) for e in alone[0].examples] == [str(e) for e in found[3].examples]
    assert asked[80] < 1.5 * asked[20]


def test_many_changes_are_taken_back_in_groups(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 60))
    explainer = explainer_of(lambda rows: np.where(rows[:, :3].sum(1) > 0, 0.9, 0.1), encoder="identity").fit(
        X
    )
    monkeypatch.setattr(counterfactual_search, "ONE_BY_ONE", 4)
    rows = X[X[:, :3].sum(1) < -2][:10]
    found = explainer.counterfactuals(rows, n=2, features_to_vary=[f"x{j}" for j in range(60)])
    assert found.found.all()
    assert np.median(found.n_changes) <= 3

"""Bare arrays for an explainer that was fitted on a frame: columns are taken in the order of the fit."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from illume.errors import SchemaError, UnknownCategoryError
from tests.common import global_explainer, loans


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"]).assign(c=rng.integers(0, 9, 120))


@pytest.fixture(scope="module")
def named(numbers):
    """An explainer of a model that knows its columns by name."""
    pick = make_column_transformer((StandardScaler(), ["b", "a"]), remainder="passthrough")
    model = make_pipeline(pick, LogisticRegression()).fit(numbers, numbers["a"] + numbers["b"] > 0)
    return global_explainer(model).fit(numbers)


def test_an_array_of_numbers_is_the_frame_with_the_fitted_names(named, numbers):
    rows = numbers[:20].astype(float)
    for method in (named, named.rules):
        from_array, from_frame = method(rows.to_numpy()), method(rows)
        pd.testing.assert_frame_equal(from_array.to_frame(), from_frame.to_frame())
    found, expected = (named.counterfactuals(each, n=1) for each in (rows.to_numpy(), rows))
    np.testing.assert_array_equal(found.after, expected.after)
    assert list(found.examples.columns) == ["a", "b", "c"]


def test_an_array_of_mixed_values_becomes_columns_of_the_fitted_types(loan_explainer):
    rows = loans(12, seed=4)
    found = loan_explainer(rows.astype(object).to_numpy())
    np.testing.assert_allclose(found.values, loan_explainer(rows).values, atol=1e-12)


@pytest.fixture(scope="module")
def towns():
    """Rows with a column of pandas' categories, and an explainer of a model that needs it to be one."""
    rng = np.random.default_rng(0)
    town = pd.Categorical(rng.choice(["Bonn", "Ulm", None], 120), categories=["Bonn", "Ulm"])
    rows = pd.DataFrame({"a": rng.normal(size=120), "town": town})

    def model(rows):
        assert isinstance(rows["town"].dtype, pd.CategoricalDtype)
        return 1 / (1 + np.exp(-rows["a"] - (rows["town"] == "Ulm")))

    return global_explainer(model).fit(rows), rows


@pytest.mark.parametrize("rows", [[[0.5, "Kiel"]], [[0.1, "Ulm"], [0.5, "Kiel"]]])
def test_a_category_never_seen_is_refused_in_an_array_as_in_a_frame(towns, rows):
    explainer, _ = towns
    array = np.array(rows, dtype=object)
    for given in (array, pd.DataFrame(array, columns=["a", "town"]).astype({"a": float, "town": "category"})):
        with pytest.raises(UnknownCategoryError, match=f"'town' holds 'Kiel' in row {len(rows) - 1}, not"):
            explainer(given)
    lenient = copy(explainer).set_params(unknown="ignore")
    assert lenient(array).outside.tolist() == [False] * (len(rows) - 1) + [True]
    assert lenient(array).data[-1, 1] == "Kiel"
    assert len(lenient.counterfactuals(array, n=1)) == len(rows)


def test_a_missing_category_stays_missing_in_an_array(towns):
    explainer, rows = towns
    array = rows[:20].astype(object).to_numpy()
    np.testing.assert_array_equal(explainer(array).values, explainer(rows[:20]).values)
    assert not explainer(array).outside.any()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_models_of_other_libraries_get_their_own_frames(library, numbers):
    import narwhals as nw

    def model(rows):
        assert type(rows).__module__.startswith(library)
        a, b = (nw.from_native(rows)[name].to_numpy() for name in "ab")
        return 1 / (1 + np.exp(-(a - b)))

    frame = nw.from_dict({name: numbers[name].to_list() for name in numbers}, backend=library).to_native()
    explainer = global_explainer(model).fit(frame)
    array = numbers[:9].to_numpy()
    np.testing.assert_allclose(explainer(array).values, explainer(frame[:9]).values, atol=1e-12)


def test_an_array_of_another_width_is_told_which_columns_are_expected(named, numbers):
    with pytest.raises(SchemaError, match=r"2 columns, expected 3, in the order of the fit: a, b, c; give"):
        named(numbers.to_numpy()[:, :2])


def test_an_explainer_of_arrays_asks_with_arrays(numbers):
    asked = []

    def model(rows):
        asked.append(type(rows))
        return 1 / (1 + np.exp(-rows[:, 0]))

    global_explainer(model).fit(numbers.to_numpy())(numbers.to_numpy())
    assert set(asked) == {np.ndarray}

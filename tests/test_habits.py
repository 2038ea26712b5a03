"""What users of other packages type: it works, or one line says the call of illume."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import illume
from illume import plots
from illume.errors import BlackBoxError, LabelsOnlyWarning, SchemaError
from illume.explanations import habits
from tests.common import global_explainer, loans


@pytest.fixture(scope="module")
def frame():
    return loans(120)


@pytest.fixture(scope="module")
def model():
    def answer(rows):
        assert isinstance(rows, pd.DataFrame)
        assert rows["age"].dtype == np.int64
        assert rows["owner"].dtype == bool
        income = rows["income"].fillna(30.0).to_numpy()
        return 1 / (1 + np.exp(-(income - 30) / 5 - (rows["education"] == "high") + rows["age"] / 20 - 2))

    return answer


@pytest.fixture(scope="module")
def explainer(model, frame):
    return global_explainer(model).fit(frame)


def one_line(raised):
    return "\n" not in str(raised.value)


def test_an_explainer_is_still_an_estimator(explainer, model):
    other = illume.Explainer(model, effort="quick", queries=7)
    assert repr(other.get_params()) == repr(clone(other).get_params())
    first = list(inspect.signature(illume.Explainer).parameters)[:5]
    assert first == ["model", "contributions", "twin", "scale", "background"]
    with pytest.raises(TypeError, match="model"):
        illume.Explainer()
    with pytest.raises(TypeError, match="no_such_option"):
        illume.Explainer(model, no_such_option=1)
    assert copy.deepcopy(other).queries == 7
    assert pickle.loads(pickle.dumps(illume.Explainer(len, queries=7))).queries == 7
    assert copy.copy(explainer).quality_ == explainer.quality_


@pytest.mark.parametrize("name", habits.ATTRIBUTES)
def test_names_of_other_packages_are_answered_by_the_call_of_illume(explainer, name):
    assert not hasattr(explainer, name)
    with pytest.raises(AttributeError, match=f"no '{name}'; write ") as raised:
        getattr(explainer, name)
    assert one_line(raised)


def test_properties_that_raise_keep_their_own_words(explainer, model):
    with pytest.raises(AttributeError, match="call fit_rules"):
        explainer.rule_quality_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted"):
        illume.Explainer(model).quality_  # noqa: B018
    with pytest.raises(AttributeError, match=r"no 'nonsense'$"):
        explainer.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda e, X: e.counterfactuals(X, total_CFs=4),
        lambda e, X: e(X, nsamples=100),
        lambda e, X: plots.bar(e(X), max_display=3),
    ],
)
def test_arguments_that_do_not_exist_are_named_as_python_does(explainer, frame, call):
    with pytest.raises(TypeError, match=r"unexpected keyword argument '(total_CFs|nsamples|max_display)'"):
        call(explainer, frame)


def test_rows_in_the_place_of_a_path_are_refused(explainer, frame):
    with pytest.raises(TypeError, match="path must be the name of a file, found DataFrame; ") as raised:
        explainer.report(frame["age"], frame)
    assert one_line(raised)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scatter", r"illume\.plots\.dependence\(explainer\(X\), 'column'\)$"),
        ("force", r"illume\.plots\.waterfall\(explainer\(X\)\[0\]\)$"),
        ("summary_plot", r"illume\.plots\.beeswarm\(explainer\(X\)\)$"),
        ("histogram", "one of bar, beeswarm, compare"),
    ],
)
def test_plots_of_other_packages_are_answered_by_those_of_illume(name, said):
    with pytest.raises(AttributeError, match=f"illume.plots has no '{name}'; write {said}") as raised:
        getattr(plots, name)
    assert one_line(raised)


def test_every_plot_that_is_suggested_exists():
    for called in plots._NAMES.values():
        assert called.partition("(")[0] in plots.__all__


def test_labels_in_the_place_of_rows_are_noticed(model, frame):
    for labels in (frame["age"], frame["age"].to_numpy(), frame["age"].tolist()):
        with pytest.raises(SchemaError, match=r"rows first.*explainer\.fit\(X"):
            global_explainer(model).fit(labels, frame)
    for rows in (frame, frame["age"], frame.to_numpy()):
        with pytest.raises(BlackBoxError, match=r"illume\.Explainer\(model\)\.fit\(X\)"):
            global_explainer(rows).fit(frame)


@pytest.mark.parametrize(
    "given", ["series", "object", "dict", "reversed", "list", "series list", "one frame"]
)
def test_one_row_in_any_form_is_a_batch_of_one(explainer, frame, given):
    at = 17  # whose income is missing
    row = frame.iloc[at]
    forms = {
        "series": row,
        "object": row.astype(object),
        "dict": row.to_dict(),
        "reversed": dict(reversed(row.to_dict().items())),
        "list": [row.to_dict()],
        "series list": [row],
        "one frame": frame.iloc[[at]],
    }
    found, wanted = explainer(forms[given]), explainer(frame.iloc[[at]])
    assert len(found) == 1
    np.testing.assert_array_equal(found.values, wanted.values)
    np.testing.assert_array_equal(found.predictions, wanted.predictions)
    label = f"row {at} (position 0): "  # only frames have an index
    assert repr(found[0]).removeprefix(label) == repr(wanted[0]).removeprefix(label)


def test_one_row_has_latents_rules_counterfactuals_and_a_check(explainer, frame):
    row, frame = frame.iloc[3], frame.iloc[[3]]
    np.testing.assert_array_equal(explainer.latents(row).Z, explainer.latents(frame).Z)
    assert explainer.rules(row)[0].text == explainer.rules(frame)[0].text
    assert explainer.check(row).n_rows == 1
    assert len(explainer.counterfactuals(row, n=1)) == 1
    assert len(next(explainer.stream(row.to_dict()))) == 1


def test_a_row_without_a_column_and_a_column_are_refused(explainer, frame):
    with pytest.raises(SchemaError, match="column 'income' is missing"):
        explainer(frame.iloc[0].drop("income"))
    with pytest.raises(SchemaError, match="column 'age' is missing"):
        explainer(frame["age"])
    with pytest.raises(SchemaError, match="make a data frame"):
        explainer({"age": [1, 2]})


def test_rows_of_polars_and_numpy_explainers_may_be_dicts():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for X, name in ((rows, "x0"), (pl.DataFrame(rows, schema=["a", "b"]), "a")):
        explainer = global_explainer(lambda X: 1 / (1 + np.exp(-np.asarray(X)[:, 0]))).fit(X)
        row = {name: 0.5, "b": 0.1, "x1": 0.1}
        assert explainer(row).values.shape == (1, 2)


def test_methods_of_a_model_are_asked_as_they_are_and_named_by_its_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    classifier = LogisticRegression().fit(X, np.where(X["a"] > 0, "yes", "no"))
    wanted = global_explainer(classifier).fit(X)
    found = global_explainer(classifier.predict_proba).fit(X.assign(c=1.0))  # the model uses two columns
    assert found.class_names_ == ("no", "yes")
    np.testing.assert_array_equal(found(X).values, wanted(X).values)
    with pytest.warns(LabelsOnlyWarning, match="the model itself, or its predict_proba"):
        decided = global_explainer(classifier.predict).fit(X)
    assert decided.class_names_ == ("no", "yes")
    regressor = LinearRegression().fit(X, (X["a"] > 0).astype(float))
    assert global_explainer(regressor.predict).fit(X).fitted_.outputs.task == "regression"


@pytest.fixture(scope="module")
def of_ages():
    explainer = global_explainer(lambda X: 1 / (1 + np.exp(5 - np.asarray(X, dtype=float)[:, 0] / 10)))
    return explainer.fit(pd.DataFrame({"age": np.arange(20.0, 80.0)}))


@pytest.mark.parametrize(
    "make",
    [
        lambda ages: pd.DataFrame({"age": pd.Series(ages, dtype=object)}),
        lambda ages: pd.DataFrame({"age": [str(age) for age in ages]}, dtype="string"),
        lambda ages: pl.DataFrame({"age": [str(age) for age in ages]}),
        lambda ages: pa.table({"age": [str(age) for age in ages]}),
        lambda ages: np.array(ages, dtype=object)[:, None],
        lambda ages: [{"age": age} for age in ages],
    ],
)
@pytest.mark.parametrize("guilty", ["forty", "", "41.5 years"])
def test_text_among_numbers_is_named_itself(of_ages, make, guilty):
    with pytest.raises(SchemaError, match=f"column 'age' holds text such as '{guilty}', expected numbers"):
        of_ages(make([41.0, 42.0, guilty, 43.0]))


def test_a_number_in_text_is_named_and_not_the_number_beside_it(of_ages):
    with pytest.raises(SchemaError, match="column 'age' holds text such as '42'"):
        of_ages(pd.DataFrame({"age": pd.Series([41.0, "42", 43.0], dtype=object)}))

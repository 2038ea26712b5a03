"""Scenarios that an explorer's page saved, read back as a frame."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import illume
from illume.data.frames import as_frame
from illume.data.match_dtypes import FrameBuilder
from illume.errors import FormatError
from illume.results.scenarios import describe_table
from tests.common import loans


def write(path, known, values, **changes):
    """Write what the page downloads; answers are those of two classes."""
    scenarios = [
        {"name": f"Scenario {i}", "row": str(i), "values": row, "twin": [0.25, 0.75], "model": None}
        for i, row in enumerate(values)
    ]
    content = {"format": "illume scenarios", "version": 1, "table": known, "outputs": ["no", "yes"]}
    path.write_text(json.dumps(content | {"scenarios": scenarios} | changes))
    return path


def table_of(frame):
    found = as_frame(frame)
    return describe_table(FrameBuilder(found.names, found.origin.backend, found))


@pytest.fixture
def file(tmp_path):
    def make(frame, values, **changes):
        return write(tmp_path / "scenarios.json", table_of(frame), values, **changes)

    return make


def test_columns_have_the_fitted_names_and_types(file):
    frame = loans(50).astype({"education": "category", "age": "Int32"})
    found = illume.load_scenarios(file(frame, [[41, 30.5, True, "low"], [None, None, False, None]]))
    assert found.dtypes.iloc[:4].equals(frame.dtypes)
    assert found.iloc[0, :4].tolist() == [41, 30.5, True, "low"]
    assert found.iloc[1].isna().to_dict() == {
        "age": True,
        "income": True,
        "owner": False,
        "education": True,
        "scenario": False,
        "scenario_row": False,
        "twin_no": False,
        "twin_yes": False,
        "model_no": True,
        "model_yes": True,
    }
    assert found["scenario"].tolist() == ["Scenario 0", "Scenario 1"]
    assert found["twin_yes"].tolist() == [0.75, 0.75]


def test_categories_that_are_numbers_come_back(file):
    frame = pd.DataFrame({"code": pd.Categorical([7, 9, 11]), "x": np.arange(3.0)})
    found = illume.load_scenarios(file(frame, [[9, 0.1]]))
    assert found["code"].dtype == frame["code"].dtype
    assert found["code"].tolist() == [9]


def test_polars_gives_polars(file):
    frame = pl.from_pandas(loans(30))
    found = illume.load_scenarios(file(frame, [[41, None, True, "low"]]))
    assert isinstance(found, pl.DataFrame)
    assert [found.schema[name] for name in frame.columns] == list(frame.schema.values())


def test_arrays_give_pandas_with_the_names_of_the_columns(file):
    found = illume.load_scenarios(file(np.zeros((3, 2)), [[0.5, 2]]))
    assert found.columns.tolist()[:2] == ["x0", "x1"]
    assert found.iloc[0, :2].tolist() == [0.5, 2]


def test_a_column_called_scenario_keeps_its_name(file):
    found = illume.load_scenarios(file(pd.DataFrame({"scenario": [1.0, 2.0]}), [[5]]))
    assert found["scenario"].tolist() == [5]
    assert found["scenario_"].tolist() == ["Scenario 0"]


def test_scenarios_can_be_explained_as_they_are(file, loan_explainer, loan_frame):
    fitted = loan_explainer.fitted_
    path = file(loan_frame, [[41, 30.5, True, "low"]])
    assert json.loads(path.read_text())["table"] == describe_table(fitted.dtypes)
    found = loan_explainer(illume.load_scenarios(path))
    same = pd.DataFrame({"age": [41], "income": [30.5], "owner": [True], "education": ["low"]})
    np.testing.assert_allclose(found.values, loan_explainer(same).values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "illume result"}, "these are no scenarios"),
        ({"version": 2}, "format version 2, this illume reads 1"),
        ({"scenarios": []}, "holds no scenarios"),
        ({"extra": 1}, "the file holds"),
        ({"outputs": "yes"}, "outputs is 'yes', expected list"),
        ({"scenarios": [{"name": "a"}]}, "scenario 1 holds"),
        ({"table": {"library": "os", "columns": ["a"], "types": None}}, "table.library is 'os'"),
        ({"table": {"library": "pandas", "columns": ["a", "a"], "types": None}}, "or one twice"),
    ],
)
def test_another_file_is_refused_in_words(file, changes, message):
    with pytest.raises(FormatError, match=f"scenarios.json: .*{message}"):
        illume.load_scenarios(file(loans(30), [[41, 30.5, True, "low"]], **changes))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([41, 30.5, True], "scenario 1 has 3 values, expected 4"),
        ([41, {"a": 1}, True, "low"], "scenario 1 holds {'a': 1}, expected text"),
        (["much", 30.5, True, "low"], "the values do not fit the columns"),
    ],
)
def test_values_that_do_not_fit_are_refused_in_words(file, row, message):
    with pytest.raises(FormatError, match=message):
        illume.load_scenarios(file(loans(30), [row]))


def test_answers_are_numbers(file):
    one = {"name": "a", "row": "0", "values": [1, 2.0, True, "low"], "twin": [0.5], "model": None}
    with pytest.raises(FormatError, match=r"scenario 1 has the answers \[0.5\], expected 2 numbers"):
        illume.load_scenarios(file(loans(30), [], scenarios=[one]))


def test_a_file_that_is_cut_off_says_so(tmp_path):
    path = tmp_path / "cut.json"
    path.write_text('{"format": "illume scen')
    with pytest.raises(FormatError, match=r"cut.json: the file is not valid JSON"):
        illume.load_scenarios(path)

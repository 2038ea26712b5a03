"""Results come back from JSON and Parquet with every bit, and files that are not theirs are refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import illume
from illume.errors import FormatError
from tests.common import grouped
from tests.io.common import same

SUFFIXES = ("json", "parquet")


@pytest.fixture(scope="module")
def results(loan_explainer, loan_frame, three_class_explainer, three_class):
    X = loan_frame.head(40)
    named = X.set_axis([f"row {i}" for i in range(len(X))]).rename_axis("who")
    return {
        "attributions": loan_explainer(X),
        "attributions of named rows": loan_explainer(named),
        "attributions of three classes": three_class_explainer(three_class[1].head(30)),
        "top features": loan_explainer(X).top(2),
        "no attributions": loan_explainer(X)[:0],
        "rules": loan_explainer.rules(named),
        "rules without categories": three_class_explainer.rules(three_class[1].head(30)),
        "rules without their rows": replace(loan_explainer.rules(X.head(3)), data=None),
        "no rules": loan_explainer.rules(X)[:0],
        "counterfactuals": loan_explainer.counterfactuals(named.head(8)),
        "counterfactuals of three classes": three_class_explainer.counterfactuals(three_class[1].head(8)),
        "counterfactuals that are none": loan_explainer.counterfactuals(
            X.head(4), max_changes=1, min_probability=0.999
        ),
    }


NAMES = (
    *("attributions", "attributions of named rows", "attributions of three classes", "top features"),
    *("no attributions", "rules", "rules without categories", "rules without their rows", "no rules"),
    *("counterfactuals", "counterfactuals of three classes", "counterfactuals that are none"),
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", NAMES)
def test_a_result_comes_back_with_every_bit(results, name, suffix, tmp_path):
    path = tmp_path / f"result.{suffix}"
    results[name].save(path)
    found = illume.load_result(str(path))
    assert same(found, results[name])
    assert repr(found) == repr(results[name])
    if len(found):
        assert repr(found[0]) == repr(results[name][0])
        assert found.to_frame().equals(results[name].to_frame())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_results_of_polars_rows_come_back_as_such(loan_explainer, loan_model, loan_frame, suffix, tmp_path):
    explainer = illume.Explainer(
        lambda rows: loan_model.predict_proba(rows.to_pandas()), **grouped(**loan_settings(loan_explainer))
    )
    rows = pl.from_pandas(loan_frame)
    explainer.fit(rows)
    for result in (explainer(rows), explainer.counterfactuals(rows[:5])):
        result.save(tmp_path / f"result.{suffix}")
        found = illume.load_result(tmp_path / f"result.{suffix}")
        assert same(found, result)
        assert isinstance(found.to_frame(), pl.DataFrame)


def loan_settings(explainer):
    return {"n_latents": 2, "queries": 0, "training": explainer.surrogate_options.training, "verbose": False}


def test_json_is_read_by_anybody(results, tmp_path):
    results["attributions"].save(tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (found["format"], found["version"], found["kind"]) == ("illume result", 4, "Attributions")
    values = found["rows"]["values"]
    assert np.array_equal(np.reshape(values["values"], values["shape"]), results["attributions"].values)
    assert found["plain"]["labels.features"] == list(results["attributions"].feature_names)


def test_parquet_is_read_by_anybody(results, tmp_path):
    results["counterfactuals"].save(tmp_path / "a.parquet")
    found = pd.read_parquet(tmp_path / "a.parquet")
    assert len(found) == len(results["counterfactuals"])
    assert np.array_equal(found["examples.distance"].map(len), results["counterfactuals"].n_found)
    assert np.array_equal(np.stack(found["probabilities"]), results["counterfactuals"].probabilities)
    assert json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"illume"])["version"] == 4


def test_other_names_are_refused(results, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .json or .parquet, found 'a.csv'"):
        results["rules"].save(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="must end in"):
        illume.load_result("a.pickle")


def test_files_that_are_no_results_are_refused(tmp_path):
    for name, content, said in (
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b'{"format": "other"}', "no result of illume"),
        ("a.json", b'{"format": "illume result", "version": 5}', "version 5, this illume reads 4; update"),
        ("a.json", b'{"format": "illume result", "version": 3}', "version 3, .*; save the result again"),
        ("a.json", b'{"format": "illume result", "version": 4}', "head holds"),
        ("a.parquet", b"PAR1 nonsense PAR1", "no Parquet file, or a damaged one"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=said):
            illume.load_result(tmp_path / name)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(FormatError, match="but no result of illume"):
        illume.load_result(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (["kind"], "Popen", "kind 'Popen', expected one of"),
        (["rows", "values"], None, "expected dict"),
        (["rows", "values", "type"], "complex128", "of type 'complex128'"),
        (["rows", "values", "type"], "int64", "values holds int64, expected floating"),
        (["rows", "values", "shape"], [1, 1], "does not hold float64 of shape"),
        (["rows", "values", "shape"], [2**40, 2**40], "of type 'float64' and shape"),
        (["rows", "values", "values"], ["x"], "does not hold float64"),
        (["rows", "more"], {"type": "bool", "shape": [0], "values": []}, "unknown parts"),
        (["plain", "labels.features"], "abc", "expected list"),
        (["plain", "labels.features"], ["a"], "do not fit together"),
        (["plain", "origin.backend"], "spark", "backend is 'spark'"),
        (["rows", "imputed"], {"type": "bool", "shape": [1], "values": [True]}, "imputed has 1 rows"),
    ],
)
def test_changed_results_are_refused(results, tmp_path, where, value, said):
    path = tmp_path / "a.json"
    results["attributions"].save(path)
    found = inner = json.loads(path.read_text(encoding="utf-8"))
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(FormatError, match=said):
        illume.load_result(path)


def test_a_parquet_file_whose_columns_do_not_fit_is_refused(results, tmp_path):
    path = tmp_path / "a.parquet"
    results["counterfactuals"].save(path)
    table = pq.read_table(path)
    for changed, said in (
        (table.drop_columns(["decisions"]), "column decisions is missing"),
        (table.slice(0, 3), "before holds 12 of object, expected"),
        (
            table.set_column(table.column_names.index("decisions"), "decisions", [[None] * len(table)]),
            "missing values",
        ),
        (
            table.set_column(table.column_names.index("decisions"), "decisions", [["a"] * len(table)]),
            "expected",
        ),
    ):
        pq.write_table(changed, path)
        with pytest.raises(FormatError, match=said):
            illume.load_result(path)


def test_without_the_black_box_a_saved_result_still_says_so(loan_explainer, loan_frame, tmp_path):
    loan_explainer.save(tmp_path / "a.illume")
    illume.load(tmp_path / "a.illume")(loan_frame.head(3)).save(tmp_path / "a.json")
    assert "without the black box" in repr(illume.load_result(tmp_path / "a.json"))

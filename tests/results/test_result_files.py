"""Results come back from JSON and Parquet bit by bit, and other files raise an error."""

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
from illume.results.result_tables import write_table
from tests.common import FAST, brief_shapley, grouped, loans
from tests.io.common import same

SUFFIXES = ("json", "parquet")


@pytest.fixture(scope="module")
def results(loan_explainer, loan_pullback, loan_frame, three_class_explainer, three_class):
    X, Y = loan_frame.head(40), three_class[1].head(30)
    named = X.set_axis([f"row {i}" for i in range(len(X))]).rename_axis("who")
    hopeless = loan_explainer.counterfactuals(X.head(4), max_changes=1, min_probability=0.999)
    return {
        "attributions": loan_explainer(X),
        "attributions of named rows": loan_explainer(named),
        "attributions of three classes": three_class_explainer(Y),
        "pulled-back attributions": loan_pullback(X),
        "top features": loan_explainer(X).top(2),
        "no attributions": loan_explainer(X)[:0],
        "rules": loan_explainer.rules(named),
        "rules without categories": three_class_explainer.rules(Y),
        "rules without their rows": replace(loan_explainer.rules(X.head(3)), data=None),
        "no rules": loan_explainer.rules(X)[:0],
        "counterfactuals": loan_explainer.counterfactuals(named.head(8)),
        "counterfactuals of three classes": three_class_explainer.counterfactuals(Y.head(8)),
        "no counterfactuals": hopeless,
        **number_results(X),
    }


def number_results(X):
    """Results of a model of one number, and of the logarithms of two."""

    def price(frame):
        return 2_000.0 * frame["age"].to_numpy() + 50_000.0 * (frame["education"] == "high").to_numpy()

    def two(frame):
        return np.stack([price(frame), frame["age"].to_numpy(dtype=float)], axis=1)

    with brief_shapley():
        one = illume.Explainer(price, **grouped(queries=400, effort="quick", output_names=["price"])).fit(X)
        both = illume.Explainer(two, **grouped(queries=400, effort="quick", link="log")).fit(X)
    return {
        "attributions of a number": one(X),
        "attributions of two numbers": both(X),
        "rules that end in intervals": one.rules(X),
        "rules that end in intervals of one of two numbers": both.rules(X, output=1),
        "rules for a threshold": one.rules(X, threshold=100_000),
        "counterfactuals in a range": one.counterfactuals(X.head(8), desired_range=[100_000, 150_000]),
        "counterfactuals by a change": both.counterfactuals(X.head(8), desired_change=10, output=1),
        "counterfactuals across a threshold": one.counterfactuals(X.head(8), threshold=100_000),
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_result_comes_back_with_every_bit(results, suffix, tmp_path):
    path = tmp_path / f"result.{suffix}"
    for name, result in results.items():
        result.save(path)
        found = illume.load_result(str(path))
        assert same(found, result), name
        assert repr(found) == repr(result), name
        if len(found):
            assert repr(found[0]) == repr(result[0]), name
            assert found.to_frame().equals(result.to_frame()), name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_results_of_polars_rows_come_back_as_such(loan_model, loan_frame, suffix, tmp_path):
    model = lambda rows: loan_model.predict_proba(rows.to_pandas())  # noqa: E731
    rows = pl.from_pandas(loan_frame)
    explainer = illume.Explainer(model, **grouped(n_latents=2, queries=0, training=FAST)).fit(rows)
    for result in (explainer(rows), explainer.counterfactuals(rows[:5])):
        result.save(tmp_path / f"result.{suffix}")
        found = illume.load_result(tmp_path / f"result.{suffix}")
        assert same(found, result)
        assert isinstance(found.to_frame(), pl.DataFrame)


def test_json_and_parquet_are_read_by_any_program(results, tmp_path):
    result = results["attributions"]
    result.save(tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (found["format"], found["version"], found["kind"]) == ("illume result", 8, "Attributions")
    values = found["rows"]["values"]
    assert np.array_equal(np.reshape(values["values"], values["shape"]), result.values)
    assert found["plain"]["labels.features"] == list(result.feature_names)
    result = results["counterfactuals"]
    result.save(tmp_path / "a.parquet")
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert np.array_equal(table["examples.distance"].map(len), result.n_found)
    assert np.array_equal(np.stack(table["predictions"]), result.predictions)
    assert json.loads(pq.read_metadata(tmp_path / "a.parquet").metadata[b"illume"])["version"] == 8


def test_other_suffixes_raise(results, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .json or .parquet, found 'a.csv'"):
        results["rules"].save(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="must end in"):
        illume.load_result("a.pickle")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b'{"format": "other"}', "no result of illume"),
        (
            "a.json",
            b'{"format": "illume result", "version": 9}',
            "format 9; this version reads 8.; update illume",
        ),
        (
            "a.json",
            b'{"format": "illume result", "version": 3}',
            r"\(format 3; .*; explain and save the result again",
        ),
        ("a.json", b'{"format": "illume result", "version": 8}', "head holds"),
        ("a.parquet", b"PAR1 nonsense PAR1", "no result of illume, or it was changed"),
        ("a.parquet", None, "is no result of illume, or it was changed"),
    ],
)
def test_files_that_are_no_results_raise(name, content, message, tmp_path):
    if content is None:
        pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        illume.load_result(tmp_path / name)


def require_refused(result, path, where, value, message):
    """Save a result, change one part of its file, and expect that it does not load."""
    result.save(path)
    found = inner = json.loads(path.read_text(encoding="utf-8"))
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        illume.load_result(path)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (["kind"], "Popen", "kind 'Popen', expected one of"),
        (["rows", "values"], None, "expected dict"),
        (["rows", "values", "type"], "complex128", "of type 'complex128'"),
        (["rows", "values", "type"], "int64", "values holds int64, expected floating"),
        (["rows", "values", "shape"], [1, 1], r"values holds \d+ of float64, expected \(1, 1\)"),
        (["rows", "values", "shape"], [2**40, 2**40], "of type 'float64' and shape"),
        (["rows", "values", "values"], ["x"], "does not hold float64"),
        (["rows", "values", "values"], {"0": 1.0}, r"values is \{'0': 1.0\}, expected list"),
        (["rows", "data", "values"], "x" * 200, "data is .x+.*, expected list"),
        (["rows", "more"], {"type": "bool", "shape": [0], "values": []}, "unknown parts"),
        (["plain", "labels.features"], "abc", "expected list"),
        (["plain", "labels.features"], ["a"], "do not fit together"),
        (["plain", "origin.backend"], "spark", "backend is 'spark'"),
        (["plain", "kind"], "lime", "kind of contributions is 'lime'"),
        (["plain", "kind"], None, "kind"),
        (["rows", "imputed"], {"type": "bool", "shape": [1], "values": [True]}, "imputed has 1 rows"),
        (
            ["rows", "standard_errors"],
            {"type": "float32", "shape": [40, 1], "values": [0.0] * 40},
            r"standard_errors has the shape \(40, 1\)",
        ),
    ],
)
def test_changed_results_raise(results, tmp_path, where, value, message):
    require_refused(results["attributions"], tmp_path / "a.json", where, value, message)


@pytest.mark.parametrize(
    ("name", "where", "value", "message"),
    [
        ("attributions of a number", ["plain", "labels.outputs", "spread"], [0.0], "labels.outputs"),
        ("attributions of a number", ["plain", "labels.outputs", "names"], ["a", "b"], "labels.outputs"),
        ("rules that end in intervals", ["rows", "interval", "shape"], [20, 4], "interval"),
        ("rules that end in intervals", ["rows", "interval", "type"], "object", "interval"),
        ("rules for a threshold", ["plain", "question", "kind"], "Guess", "kind is 'Guess'"),
        ("rules for a threshold", ["plain", "question", "threshold"], "high", "question"),
        ("rules for a threshold", ["plain", "question", "output"], 5, "question"),
        ("rules that end in intervals", ["plain", "question", "edges"], [3.0, 1.0], "question"),
    ],
)
def test_changed_results_of_numbers_raise(results, tmp_path, name, where, value, message):  # noqa: PLR0917
    require_refused(results[name], tmp_path / "a.json", where, value, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["decisions"]), "column decisions is missing"),
        (lambda table: table.slice(0, 3), r"before holds \d+ of object, expected \(\d+, \d+\)"),
        (lambda table: with_decisions(table, [None] * len(table)), "missing values"),
        (
            lambda table: with_decisions(table, ["a"] * len(table)),
            "decisions is of BYTE_ARRAY",
        ),
    ],
)
def test_a_parquet_file_whose_columns_do_not_fit_raises(results, tmp_path, change, message):
    path = tmp_path / "a.parquet"
    results["counterfactuals"].save(path)
    head = pq.read_metadata(path).metadata[b"illume"]
    path.write_bytes(write_table(change(pq.read_table(path)), head))
    with pytest.raises(FormatError, match=message):
        illume.load_result(path)


def with_decisions(table, values):
    return table.set_column(table.column_names.index("decisions"), "decisions", [values])


def test_without_the_black_box_a_saved_result_still_says_so(loan_explainer, tmp_path):
    loan_explainer.save(tmp_path / "a.illume")
    illume.load(tmp_path / "a.illume")(loans(3)).save(tmp_path / "a.json")
    assert "without the model" in repr(illume.load_result(tmp_path / "a.json"))

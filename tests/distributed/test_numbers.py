"""Explanations of models that answer with numbers have fixed columns, too."""

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from illume.distributed import explain_parquet, explain_partition, output_schema
from tests.distributed.common import keyed, write_files

ASKED = [
    ("attributions", {}),
    ("rules", {}),
    ("rules", {"interval": 0.8}),
    ("rules", {"threshold": 50_000}),
    ("counterfactuals", {"n": 1, "desired_range": [60_000, None]}),
    ("counterfactuals", {"n": 2, "desired_change": -2_000.0}),
    ("counterfactuals", {"n": 1, "threshold": 50_000}),
]


@pytest.mark.parametrize(("kind", "options"), ASKED)
def test_the_schema_is_that_of_every_answer_even_to_one_row_or_none(kind, options, limit_explainer):
    table = pa.Table.from_pandas(keyed(12))
    question = {name: value for name, value in options.items() if name == "threshold"}
    schema = output_schema(limit_explainer, kind, keep={"key": pa.int64()}, **question)
    for some in (table, table[:1], table[:0]):
        found = explain_partition(some, limit_explainer, kind, keep=["key"], **options)
        assert found.schema.equals(schema)
    assert schema.field("prediction").type == pa.float64()
    assert "probability" not in schema.names


def test_contributions_add_up_to_the_prediction(limit_explainer, limit_model):
    rows = keyed(30)
    table = explain_partition(rows, limit_explainer)
    total = table[["base_value", "offset", "age", "income", "owner", "education"]].sum(axis=1)
    np.testing.assert_allclose(total, limit_model.predict(rows.drop(columns="key")))
    np.testing.assert_array_equal(total.round(6), table["prediction"].round(6))
    assert set(table["output"]) == {"limit"}


def test_rules_have_an_interval_or_the_side_of_a_threshold(limit_explainer):
    rows = keyed(20)
    table = explain_partition(rows, limit_explainer, "rules", interval=0.8)
    expected = limit_explainer.rules(rows, interval=0.8)
    np.testing.assert_array_equal(table[["interval_low", "interval_high"]], expected.interval)
    assert table["prediction"].between(table["interval_low"], table["interval_high"]).all()
    table = explain_partition(rows, limit_explainer, "rules", threshold=50_000)
    sides = np.where(table["prediction"] >= 50_000, "at least 50,000", "below 50,000")
    assert table["decision"].tolist() == sides.tolist()


def test_counterfactuals_are_in_the_range(limit_explainer):
    options = {"n": 1, "desired_range": [60_000, 70_000]}
    table = explain_partition(keyed(20), limit_explainer, "counterfactuals", **options)
    found = table[table["example"] >= 0]
    assert len(found) > 5
    assert found["prediction"].between(60_000, 70_000).all()


@pytest.mark.parametrize("float32", [False, True])
def test_several_numbers_have_columns_each(two_numbers, float32):
    model, X, explainer = two_numbers
    table = explain_partition(X, explainer, float32=float32)
    P = model.predict(X)
    for i, name in enumerate(("size", "weight")):
        np.testing.assert_allclose(table[f"prediction: {name}"], P[:, i])
        parts = [f"{each}[{name}]" for each in ("base_value", "offset", "a", "b", "c")]
        np.testing.assert_allclose(table[parts].sum(axis=1), P[:, i], atol=1e-4)
    assert "output" not in table.columns


@pytest.mark.parametrize("output", ["weight", 1])
def test_rules_and_counterfactuals_are_about_one_of_several_numbers(two_numbers, output):
    _, X, explainer = two_numbers
    rules = explain_partition(X[:20], explainer, "rules", output=output)
    assert rules["prediction: weight"].between(rules["interval_low"], rules["interval_high"]).all()
    wish = {"output": output, "desired_range": [50, None], "n": 1}
    found = explain_partition(X[:20], explainer, "counterfactuals", **wish)
    assert (found["prediction: weight"] >= 50).all()
    with pytest.raises(ValueError, match=r"output must be one of \['size', 'weight'\], found None"):
        explain_partition(X[:20], explainer, "rules")


@pytest.mark.parametrize(("kind", "options"), ASKED[2:5])
def test_a_folder_holds_what_one_frame_would_get(kind, options, limit_explainer, limit_model, tmp_path):
    rows = keyed(40)
    limit_explainer.save(tmp_path / "limit.illume")
    joblib.dump(limit_model, tmp_path / "limit.joblib")
    given = {"explainer": tmp_path / "limit.illume", "model": tmp_path / "limit.joblib", "trust_model": True}
    given |= {"kind": kind, "keep": ["key"], **options}
    source = write_files(tmp_path / "rows", rows)
    explain_parquet(source, tmp_path / "out", workers=0, **given)
    found = pd.read_parquet(tmp_path / "out")
    pd.testing.assert_frame_equal(found, explain_partition(rows, **given).reset_index(drop=True))


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("rules", {"precision": 0.9}, "precision is for rules that end in a decision"),
        ("rules", {"threshold": 1, "interval": 0.9}, "interval is for rules that end in numbers"),
        ("rules", {"threshold": "high"}, "threshold must be a number"),
        ("counterfactuals", {}, "say which numbers are desired"),
        ("counterfactuals", {"desired_class": "yes"}, "are for classifiers"),
        ("counterfactuals", {"desired_change": 1, "threshold": 1}, "found desired_change and threshold"),
    ],
)
def test_wrong_options_are_told_before_any_row_is_explained(kind, options, said, limit_explainer):
    with pytest.raises(ValueError, match=said):
        explain_partition(keyed(5)[:0], limit_explainer, kind, **options)


def test_options_of_numbers_are_refused_for_classes(loan_explainer):
    for kind, options in (("rules", {"interval": 0.9}), ("counterfactuals", {"desired_range": [0, 1]})):
        with pytest.raises(ValueError, match="numbers"):
            explain_partition(keyed(5)[:0], loan_explainer, kind, **options)

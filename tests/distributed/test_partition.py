import json
import os
from copy import copy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from illume import Explainer, SurrogateOptions
from illume.distributed import explain_partition, output_schema
from illume.distributed.output_columns import OutputFormat
from illume.distributed.packed_explainer import load_explainer, pack
from illume.distributed.spark import decode_dictionaries
from illume.errors import BlackBoxError, SchemaError
from illume.fit import ask
from tests.common import FAST, grouped
from tests.distributed.common import KINDS, Fails, assert_same, keyed, poisoned


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_that_of_every_answer_even_to_one_row_or_none(kind, rows, given, loan_explainer):
    whole, one, none = (explain_partition(rows[:n], kind=kind, **given) for n in (20, 1, 0))
    assert whole.dtypes.equals(one.dtypes)
    assert whole.dtypes.equals(none.dtypes)
    assert len(none) == 0
    table = pa.Table.from_pandas(rows[:5])
    schema = output_schema(loan_explainer, kind, keep={"key": pa.int64()})
    for some in (table, table[:0], table.to_batches()[0]):
        assert explain_partition(some, kind=kind, **given).schema.equals(schema)


def test_attributions_are_those_of_the_explainer_and_add_up(rows, given, loan_explainer):
    table, result = explain_partition(rows, **given), loan_explainer(rows)
    names = list(result.feature_names)
    np.testing.assert_allclose(table[names], result.values, atol=1e-9)
    np.testing.assert_allclose(table[["base_value", "offset", *names]].sum(axis=1), result.scores, atol=1e-9)
    assert table["decision"].tolist() == [row.decision for row in result]
    assert table["trust"].tolist() == result.trust.level.tolist() == ["exact"] * len(rows)
    assert (table["contribution_error"] == 0).all()
    assert table["outside"].tolist() == result.outside.tolist()
    assert table["output"].unique().tolist() == ["refuse"]
    assert table["key"].tolist() == rows["key"].tolist()
    assert not table["stand_in"].any()
    assert explain_partition(rows[:3], given["explainer"])["stand_in"].all()  # without the model
    packed = explain_partition(rows, pack(loan_explainer), keep=["key"])
    assert_same(packed, explain_partition(rows, loan_explainer, keep=["key"]))


def test_the_decided_class_or_all_of_several_classes(three_class_explainer, three_class):
    _, X = three_class
    result = three_class_explainer(X)
    one = explain_partition(X, three_class_explainer)
    every = explain_partition(X, three_class_explainer, classes="all", float32=True)
    at = np.arange(len(X))
    np.testing.assert_allclose(one[list("abcd")], result.values[at, :, result.decisions], atol=1e-9)
    assert one["output"].tolist() == one["decision"].tolist()
    wide = every[[f"{name}[{c}]" for name in "abcd" for c in ("low", "mid", "top")]]
    assert set(wide.dtypes) == {np.dtype(np.float32)}
    np.testing.assert_allclose(wide.to_numpy().reshape(result.values.shape), result.values, atol=1e-5)
    base = every[["base_value[low]", "base_value[mid]", "base_value[top]"]].iloc[0]
    np.testing.assert_allclose(base, result.base_values[0], atol=1e-5)


@pytest.fixture(scope="module")
def shapley_explainer(three_class):
    model, X = three_class
    settings = {"n_latents": 2, "queries": 2_000, "effort": "quick", "training": FAST, "verbose": False}
    settings["twin"] = "learned"
    return Explainer(model, **grouped(**settings)).fit(X)


@pytest.mark.parametrize("classes", ["decided", "all"])
@pytest.mark.parametrize("float32", [False, True])
def test_standard_errors_have_columns_of_their_own(shapley_explainer, three_class, classes, float32):
    X, explainer = three_class[1].head(20), shapley_explainer
    options = {"classes": classes, "float32": float32, "standard_errors": True}
    found, result = explain_partition(X, explainer, **options), explainer(X)
    assert list(found.columns) == output_schema(explainer, **options).names
    assert set(found["kind"]) == {"shapley"}
    np.testing.assert_allclose(found["contribution_error"], result.trust.contribution_error)
    assert found["trust"].tolist() == result.trust.level.tolist()
    errors, at = result.standard_errors[:, 1], np.arange(20)
    assert np.isfinite(errors).all()
    if classes == "all":
        columns = found[[f"b (standard error)[{name}]" for name in result.class_names]]
        np.testing.assert_allclose(columns, errors, rtol=1e-6)
    else:
        np.testing.assert_allclose(found["b (standard error)"], errors[at, result.decisions], rtol=1e-6)
        total = found["base_value"] + found[list("abcd")].sum(axis=1)
        np.testing.assert_allclose(total, result.scores[at, result.decisions], rtol=1e-4)


def test_options_reach_the_explainer_and_errors_are_left_out_by_default(shapley_explainer, three_class):
    X = three_class[1].head(5)
    found = explain_partition(X, shapley_explainer, classes="all", refine=12)
    names = [f"{name}[{output}]" for name in "abcd" for output in shapley_explainer.class_names_]
    np.testing.assert_array_equal(found[names], shapley_explainer(X, refine=12).values.reshape(5, -1))
    assert not [name for name in found.columns if "standard error" in name]


def test_rules_are_those_of_the_explainer(rows, given, loan_explainer):
    table = explain_partition(rows, kind="rules", max_conditions=1, **given)
    result = loan_explainer.rules(rows, max_conditions=1)
    assert table["rule"].tolist() == result.to_frame()["rule"].tolist()
    np.testing.assert_allclose(table["precision"], result.precision)
    for text, rule in zip(table["conditions"], result, strict=True):
        assert json.loads(text) == [condition.to_dict() for condition in rule.conditions]


def test_every_row_has_a_counterfactual_or_says_why_not(rows, given, loan_explainer):
    asked = {"n": 2, "features_to_vary": ["owner", "education"]}
    table = explain_partition(rows, kind="counterfactuals", first_row=1000, **asked, **given)
    result = loan_explainer.counterfactuals(rows, **asked)
    assert table["row"].unique().tolist() == list(range(1000, 1060))
    none = table[table["example"] < 0]
    assert none["row"].tolist() == (1000 + np.flatnonzero(~result.found)).tolist()
    assert len(none)
    assert (none["reason"] != "").all()
    some = table[table["example"] >= 0]
    assert (some["reason"] == "").all()
    assert some["row"].tolist() == (1000 + result.row).tolist()
    np.testing.assert_allclose(some["distance"], result.distance)
    for line, example in zip(some.itertuples(), map(result.example, range(len(some))), strict=True):
        changed = {change.feature: str(change.after) for change in example.changes}
        assert {each["feature"] for each in json.loads(line.changes)} == set(changed)
        assert {name for name in rows.columns[:4] if not pd.isna(getattr(line, name))} == set(changed)
        assert all(str(getattr(line, name)) == value for name, value in changed.items())


def test_frames_of_all_libraries_get_the_same_answer(rows, given):
    pl = pytest.importorskip("polars")
    expected = explain_partition(rows, **given)
    for frame in (pa.Table.from_pandas(rows), pl.from_pandas(rows)):
        found = explain_partition(frame, **given)
        assert type(found) is type(frame)
        assert_same(found.to_pandas(), expected)


def test_an_explainer_of_arrays_takes_columns_by_position(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    explainer = Explainer(_by_first, queries=0, surrogate_options=SurrogateOptions(encoder="identity")).fit(X)
    table = pa.table({"key": np.arange(80), "left": X[:, 0], "right": X[:, 1]})
    found = explain_partition(table, explainer, keep=["key"])
    np.testing.assert_allclose(found["x0"], explainer(X).values[:, 0])
    assert explain_partition(X, explainer)["x0"].tolist() == found["x0"].to_pylist()


def _by_first(rows):
    assert isinstance(rows, np.ndarray)
    return 1 / (1 + np.exp(-2 * rows[:, 0]))


def test_names_that_are_taken_get_an_underscore(three_class):
    model, X = three_class
    renamed = X.rename(columns={"a": "decision", "b": "key"})
    explainer = Explainer(
        lambda frame: model.predict_proba(frame.set_axis(list("abcd"), axis=1)),
        queries=0,
        surrogate_options=SurrogateOptions(encoder="identity"),
    ).fit(renamed)
    found = explain_partition(renamed, explainer, keep=["key"])
    assert {"decision", "decision_", "key", "key_"} <= set(found.columns)
    assert found["key_"].tolist() == renamed["key"].tolist()
    result = explainer(renamed)
    np.testing.assert_allclose(found["decision"], result.values[np.arange(150), 0, result.decisions])


def test_texts_are_categories_for_the_model_where_they_were(loan_frame):
    X = loan_frame.assign(education=loan_frame["education"].astype("category"))

    def model(frame):
        assert str(frame["education"].dtype) == "category"
        return np.clip(frame["age"].to_numpy() / 100, 0, 1)

    explainer = Explainer(model, queries=0, surrogate_options=SurrogateOptions(encoder="identity")).fit(X)
    assert_same(
        explain_partition(keyed(9), explainer, keep=["key"]),
        explain_partition(keyed(9).astype({"education": "category"}), explainer, keep=["key"]),
    )


def test_a_file_is_read_once_until_it_changes(files, tmp_path, loan_explainer):
    path = tmp_path / "a.illume"
    path.write_bytes(files[0].read_bytes())
    first = load_explainer(path)
    assert load_explainer(str(path)) is first
    os.utime(path, ns=(1, 1))
    assert load_explainer(path) is not first
    packed = pack(loan_explainer)
    assert packed.load() is pack(loan_explainer).load()
    assert packed.load().fitted_.rules.ready
    assert not pack(loan_explainer, rules=False).load().fitted_.rules.ready  # rows alone need none


def test_kept_columns_can_be_given_types_and_spark_gets_plain_strings(rows, loan_explainer):
    table = pa.Table.from_pandas(rows[:3])
    found = explain_partition(table, loan_explainer, keep={"key": pa.float32()})
    assert found.schema.field("key").type == pa.float32()
    plain = decode_dictionaries(found)
    assert plain.schema.field("decision").type == pa.string()
    assert plain.schema.names == ["key", *output_schema(loan_explainer).names]


def test_rows_of_later_pieces_count_from_the_start_of_a_frame(files, loan_model, monkeypatch):
    monkeypatch.setattr(OutputFormat, "piece_rows", lambda layout: 7)
    with pytest.raises(BlackBoxError, match=r"failing rows: 30$"):
        explain_partition(poisoned(60), files[0], model=Fails(loan_model))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "rulez"}, ValueError, "kind must be one of"),
        ({"classes": "some"}, ValueError, "classes must be one of"),
        ({"keep": "key"}, ValueError, r"write \['key'\]"),
        ({"keep": ["kex"]}, SchemaError, "nearest column is 'key'"),
        ({"trust_model": False}, ValueError, "pass trust_model=True"),
        ({"frame": keyed(3).drop(columns="income")}, SchemaError, "column 'income' is missing"),
    ],
)
def test_what_cannot_work_is_refused(options, error, message, rows, given):
    with pytest.raises(error, match=message):
        explain_partition(**{"frame": rows, **given, **options})


def test_models_that_cannot_be_sent_or_used_are_refused(rows, files, loan_explainer):
    with pytest.raises(ValueError, match="save it with joblib"):
        pack(files[0], model=(each for each in "ab"))
    with pytest.raises(ValueError, match="its own model"):
        explain_partition(rows, loan_explainer, model=len)


def test_a_question_is_measured_once_for_all_partitions(rows, loan_explainer, monkeypatch):
    calls = []
    measure = ask.twin_figures
    monkeypatch.setattr(ask, "twin_figures", lambda *given: calls.append(1) or measure(*given))
    explainer = copy(loan_explainer)
    for _ in range(3):
        found = explain_partition(rows, explainer, positive_class="grant", threshold=0.83, unknown="ignore")
    assert len(calls) == 1
    assert set(found["output"]) == {"grant"}

import io
import json

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from illume.distributed import output_schema
from illume.distributed.output_columns import OutputFormat
from tests.common import CLOSE

KINDS = ("attributions", "rules", "counterfactuals")


@pytest.fixture(scope="module")
def explain(run, explainer, model, folder):
    """Call `illume explain` on the new rows, with the model, trusted."""

    def call(*words, rows=folder / "new.csv", **options):
        answer = run("explain", explainer, rows, "--model", model, "--trust-model", *words, **options)
        assert answer.exit_code == 0, answer.stderr
        return answer

    return call


def test_stdout_is_the_table_and_nothing_else(explain, rows, loaded):
    answer = explain("--keep customer")
    table = pd.read_csv(io.StringIO(answer.stdout))
    expected = loaded(rows)
    assert answer.stderr == ""
    assert table["row"].tolist() == list(range(12))
    assert table["customer"].tolist() == rows["customer"].tolist()
    np.testing.assert_allclose(table[list(expected.feature_names)], expected.values, atol=1e-9)
    assert set(table["output"]) == {"refuse"}
    assert table["decision"].tolist() == [expected[i].decision for i in range(12)]
    total = table[["base_value", "offset", *loaded.schema_.names]].sum(axis=1)
    np.testing.assert_allclose(total, expected.scores, atol=1e-9)


def test_an_unknown_category_is_named_with_file_row_and_the_option_that_helps(
    run, explain, explainer, rows, tmp_path
):
    strange = tmp_path / "strange.csv"
    rows.assign(education=["low"] * 9 + ["doctorate"] + ["high"] * 2).to_csv(strange, index=False)
    answer = run("explain", explainer, strange)
    assert answer.exit_code == 1
    assert f"column 'education' holds 'doctorate' in row 9 of {strange} (rows count from 0)" in answer.stderr
    assert "with --unknown ignore" in answer.stderr
    assert "explainer.unknown" not in answer.stderr
    table = pd.read_csv(io.StringIO(explain("--unknown ignore", rows=strange).stdout))
    assert len(table) == 12
    assert table["outside"][9]


def test_rules_are_those_of_the_library(explain, rows, loaded):
    table = pd.read_csv(io.StringIO(explain("--kind rules --max-conditions 2").stdout))
    expected = loaded.rules(rows, max_conditions=2).to_frame()
    assert table["rule"].fillna("").tolist() == expected["rule"].tolist()


def test_counterfactuals_have_every_feature_as_a_column_and_only_what_changes_is_filled(
    explain, rows, loaded
):
    table = pd.read_csv(io.StringIO(explain("-k counterfactuals -n 1").stdout))
    found = loaded.counterfactuals(rows, n=1)
    assert table["row"].tolist() == list(range(12))
    assert table.columns[-4:].tolist() == list(loaded.schema_.names)
    changed = table[list(loaded.schema_.names)].notna().to_numpy()
    assert (changed[found.found] == found.changed).all()
    assert not changed[~found.found].any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_has_the_columns_that_a_folder_has(explain, loaded, kind, tmp_path):
    explain("-k", kind, "-o", tmp_path / "out.parquet", "--keep customer")
    columns = pd.read_parquet(tmp_path / "out.parquet").columns.tolist()
    expected = output_schema(loaded, kind, keep={"customer": pa.string()}).names
    assert columns == expected if kind == "counterfactuals" else columns == ["row", *expected]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_holds_the_same_rows(explain, tmp_path, kind):
    answers = {
        name: explain("-k", kind, "-o", tmp_path / f"out.{name}")
        for name in ("csv", "parquet", "json", "jsonl")
    }
    assert all(answer.stdout == "" for answer in answers.values())
    assert answers["csv"].stderr.endswith(
        f"{kind.capitalize()} of 12 rows written to {tmp_path / 'out.csv'}\n"
    )
    csv, parquet = pd.read_csv(tmp_path / "out.csv"), pd.read_parquet(tmp_path / "out.parquet")
    assert csv.columns.tolist() == parquet.columns.tolist()
    assert csv["row"].tolist() == parquet["row"].tolist()
    records = json.loads((tmp_path / "out.json").read_text())
    assert records == [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [record["row"] for record in records] == list(range(12))
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.parquet", "out.json", "out.jsonl"}


def test_json_lines_go_to_stdout(explain, loaded, rows):
    records = [json.loads(line) for line in explain("--json --keep", "customer").stdout.splitlines()]
    assert records[3]["kept"] == {"customer": rows["customer"][3]}
    assert records[3]["score"] == pytest.approx(float(loaded(rows)[3].score))


def test_pieces_make_no_difference(explain, monkeypatch):
    whole = {kind: explain("-k", kind).stdout for kind in KINDS}
    monkeypatch.setattr(OutputFormat, "piece_rows", lambda table: 5)
    for kind, answer in whole.items():
        pieces = explain("-k", kind).stdout
        left, right = (pd.read_csv(io.StringIO(text)) for text in (answer, pieces))
        pd.testing.assert_frame_equal(left, right, atol=1e-9)


def test_long_tables_have_a_line_per_feature(explain):
    table = pd.read_csv(io.StringIO(explain("--long --keep", "customer").stdout))
    assert len(table) == 12 * 4
    assert table.columns.tolist()[:3] == ["row", "customer", "feature"]


def test_rows_come_from_stdin_too(explain, folder):
    text = (folder / "new.csv").read_text()
    assert explain(rows="-", input=text).stdout == explain().stdout


def test_text_that_looks_like_numbers_stays_text(run, explainer, folder, tmp_path):
    (tmp_path / "t.csv").write_text("age,income,owner,education\n30,20.0,True,7\n")
    answer = run("explain", explainer, tmp_path / "t.csv")
    assert answer.exit_code == 1
    assert "'7'" in answer.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-k rules -n 2",), 2, "-n goes with --kind counterfactuals, not with --kind rules"),
        (("--precision 0.9",), 2, "--precision goes with --kind rules"),
        (("--json -o", "a.csv"), 2, "name a .json file"),
        (("--json --long",), 2, "--long is for CSV and Parquet"),
        (("-o a.xlsx",), 2, "must end in .parquet or .csv or .json or .jsonl"),
        (("-o absent/a.csv",), 1, "create it first"),
        (("--keep customr",), 1, "the nearest column is 'customer'"),
        (("-k counterfactuals --desired maybe",), 2, "maybe"),
        (("-k counterfactuals --vary agee",), 1, "agee"),
        (("-k counterfactuals --immutable agee",), 1, "the nearest column is 'age'"),
        (("-k counterfactuals --direction age",), 2, "--direction must be COLUMN=up or COLUMN=down"),
        (("-k counterfactuals --direction age=older",), 1, "direction of 'age' must be 'up' or 'down'"),
        (("--immutable age",), 2, "--immutable goes with --kind counterfactuals"),
    ],
)
def test_what_cannot_work_is_one_line(run, model, words, code, said):
    folder = model.parent
    about = ("explain", folder / "loans.illume", folder / "new.csv", "--model", model, "--trust-model")
    answer = run(*about, *words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert said in answer.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "age,incme,owner,education\n30,2,True,low\n",
            "column 'income' is missing; the nearest column is 'incme'",
        ),
        ("age,income,owner,education\n", "holds no rows"),
        ("age,income,owner,education\n30,lots,True,low\n", "'income'"),
        ("age,income,owner,education\n30,2,True,doctorate\n", "doctorate"),
    ],
)
def test_rows_that_do_not_fit_are_named_and_nothing_is_written(run, explainer, tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    answer = run("explain", explainer, tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    assert answer.exit_code == 1
    assert said in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_failure_in_the_middle_leaves_the_old_file(run, explainer, rows, tmp_path, monkeypatch):
    place, out = tmp_path / "place", tmp_path / "place" / "out.csv"
    place.mkdir()
    out.write_text("old")
    rows.assign(education=["low"] * 9 + ["doctorate"] * 3).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(OutputFormat, "piece_rows", lambda table: 5)
    answer = run("explain", explainer, tmp_path / "new.csv", "-o", out)
    assert answer.exit_code == 1
    assert "in row 9 of" in answer.stderr
    assert out.read_text() == "old"
    assert [path.name for path in place.iterdir()] == ["out.csv"]


def test_without_the_model_its_twin_answers_and_every_line_says_so(run, explainer, folder):
    answer = run("explain", explainer, folder / "new.csv")
    assert answer.exit_code == 0
    assert pd.read_csv(io.StringIO(answer.stdout))["stand_in"].all()
    assert answer.stderr == (
        "note: without the model, its twin answers; give it with --model FILE --trust-model\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind counterfactuals",), "verified on the model; give it with --model FILE"),
        (("-o", "ROWS"), "is also an input"),
    ],
)
def test_counterfactuals_need_the_model_and_an_output_is_no_input(run, model, words, said):
    rows = model.parent / "new.csv"
    answer = run(
        "explain", model.parent / "loans.illume", rows, *(rows if word == "ROWS" else word for word in words)
    )
    assert answer.exit_code == 2
    assert said in answer.stderr


def test_another_model_than_the_explained_one_is_a_warning_even_when_quiet(run, explainer, folder, tmp_path):
    table = pd.read_csv(folder / "loans.csv")
    other = make_pipeline(make_column_transformer(("passthrough", ["age"])), LogisticRegression())
    joblib.dump(other.fit(table, table["decision"]), tmp_path / "m.joblib")
    words = ("--model", tmp_path / "m.joblib", "--trust-model --quiet")
    answer = run("explain", explainer, folder / "new.csv", *words)
    assert answer.stderr.startswith("warning: this model is not the one that was explained")
    assert answer.stderr.count("\n") == 1


@pytest.fixture
def source(rows, tmp_path):
    """A folder of two Parquet files."""
    folder = tmp_path / "rows"
    folder.mkdir()
    rows[:7].to_parquet(folder / "a.parquet")
    rows[7:].to_parquet(folder / "b.parquet")
    return folder


@pytest.fixture
def explain_folder(run, explainer, source, tmp_path):
    """Call `illume explain` on the folder, in this process."""
    return lambda *words: run("explain", explainer, source, *words, "--workers 0")


def test_a_folder_is_explained_into_a_folder_and_not_twice(explain_folder, model, tmp_path, loaded, rows):
    words = ("--model", model, "--trust-model -o", tmp_path / "out", "--keep customer")
    first, again = explain_folder(*words), explain_folder(*words)
    assert first.exit_code == again.exit_code == 0, first.stderr
    assert "Attributions of 12 rows written to" in first.stderr
    assert "2 of 2 parts by an earlier run" in again.stderr
    table = pd.read_parquet(tmp_path / "out")
    assert table["customer"].tolist() == rows["customer"].tolist()
    assert table["income"].tolist() == pytest.approx(loaded(rows).values[:, 1], abs=CLOSE["atol"])


def test_two_processes_explain_a_folder_by_default(run, explainer, source, tmp_path, monkeypatch):
    given = []

    def stop(*words, workers, **options):
        given.append(workers)
        raise KeyboardInterrupt

    monkeypatch.setattr("illume.distributed.explain_parquet", stop)
    assert run("explain", explainer, source, "-o", tmp_path / "out").exit_code == 130
    assert given == [2]


def test_options_of_rules_and_counterfactuals_reach_the_parts(explain_folder, model, tmp_path):
    refused = explain_folder("--model", model, "-k rules -o", tmp_path / "rules")
    assert refused.exit_code == 1
    assert "runs code in it" in refused.stderr
    trusted = ("--model", model, "--trust-model")
    explain_folder(*trusted, "-k rules --max-conditions 1 -o", tmp_path / "rules")
    assert (pd.read_parquet(tmp_path / "rules")["n_conditions"] <= 1).all()
    for limit in ("--vary income,age", "--immutable owner,education --direction age=down,income=up"):
        out = tmp_path / limit[:6]
        explain_folder(*trusted, "-k counterfactuals -n 1", limit, "-o", out)
        assert pd.read_parquet(out)["education"].isna().all()


def test_limits_of_counterfactuals_are_those_of_the_library(explain, rows, loaded):
    limits = "--immutable owner --direction age=down,income=up --direction education=low<middle<high"
    table = pd.read_csv(io.StringIO(explain("-k counterfactuals -n 2 --long", limits).stdout))
    direction = {"age": "down", "income": "up", "education": ["low", "middle", "high"]}
    found = loaded.counterfactuals(rows, n=2, immutable=["owner"], direction=direction)
    assert table["feature"].tolist() == found.to_frame("long")["feature"].tolist()
    assert table["after"].tolist() == found.to_frame("long")["after"].tolist()


def test_an_unknown_category_is_named_by_its_file_and_can_be_ignored(explain_folder, rows, source, tmp_path):
    rows[7:].assign(education="doctorate").to_parquet(source / "b.parquet")
    answer = explain_folder("-o", tmp_path / "out")
    assert answer.exit_code == 1
    assert f"holds 'doctorate' in row 0 of {source / 'b.parquet'} (rows count from 0)" in answer.stderr
    assert "--unknown ignore" in answer.stderr
    answer = explain_folder("-o", tmp_path / "out", "--unknown ignore")
    assert answer.exit_code == 0
    assert "its twin answers" in answer.stderr
    table = pd.read_parquet(tmp_path / "out")
    assert len(table) == 12
    assert table["stand_in"].all()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "name it with -o FOLDER"),
        (("-o out.csv",), 2, "name it with -o FOLDER"),
        (("-o out --json",), 2, "do not go with folders"),
        (("-o out --model no.joblib",), 1, "no.joblib does not exist"),
        (("-o out --keep custommer",), 1, "nearest column is 'customer'"),
    ],
)
def test_what_cannot_work_with_folders_is_refused(words, code, message, explain_folder):
    answer = explain_folder(*words)
    assert answer.exit_code == code
    assert message in answer.stderr


def test_missing_and_damaged_files_are_named(run, explain_folder, source, tmp_path):
    answer = run("explain", tmp_path / "no.illume", source, "-o", tmp_path / "out")
    assert "create it with `illume fit`" in answer.stderr
    (source / "c.parquet").write_bytes(b"not at all")
    answer = explain_folder("-o", tmp_path / "out")
    assert answer.exit_code == 1
    assert "c.parquet cannot be read as Parquet" in answer.stderr

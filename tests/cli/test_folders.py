import pandas as pd
import pytest


@pytest.fixture
def source(rows, tmp_path):
    """A folder of two Parquet files."""
    folder = tmp_path / "rows"
    folder.mkdir()
    rows[:7].to_parquet(folder / "a.parquet")
    rows[7:].to_parquet(folder / "b.parquet")
    return folder


@pytest.fixture
def explain(run, explainer, source, tmp_path):
    """Call `illume explain` on the folder, in this process."""
    return lambda *words: run("explain", explainer, source, *words, "--workers", 0)


def test_a_folder_is_explained_into_a_folder_and_not_twice(explain, model, tmp_path, loaded, rows):
    words = ("--model", model, "--trust-model", "-o", tmp_path / "out", "--keep", "customer")
    first, again = explain(*words), explain(*words)
    assert first.exit_code == again.exit_code == 0, first.stderr
    assert "Attributions of 12 rows written to" in first.stderr
    assert "2 of 2 parts by an earlier run" in again.stderr
    table = pd.read_parquet(tmp_path / "out")
    assert table["customer"].tolist() == rows["customer"].tolist()
    assert table["income"].tolist() == pytest.approx(loaded(rows).values[:, 1], abs=1e-9)


def test_options_of_rules_and_counterfactuals_reach_the_parts(explain, model, tmp_path):
    rules = explain("--model", model, "-k", "rules", "--max-conditions", 1, "-o", tmp_path / "rules")
    assert "runs code in it" in rules.stderr
    assert (pd.read_parquet(tmp_path / "rules")["n_conditions"] <= 1).all()
    words = ("-k", "counterfactuals", "--vary", "income,age", "-n", 1, "-o", tmp_path / "examples")
    explain("--model", model, *words)
    assert pd.read_parquet(tmp_path / "examples")["education"].isna().all()


def test_an_unknown_category_is_named_by_its_file_and_can_be_ignored(explain, rows, source, tmp_path):
    rows[7:].assign(education="doctorate").to_parquet(source / "b.parquet")
    answer = explain("-o", tmp_path / "out")
    assert answer.exit_code == 1
    assert f"holds 'doctorate' in row 0 of {source / 'b.parquet'} (rows count from 0)" in answer.stderr
    assert "--unknown ignore" in answer.stderr
    assert explain("-o", tmp_path / "out", "--unknown", "ignore").exit_code == 0
    assert len(pd.read_parquet(tmp_path / "out")) == 12


def test_without_the_model_that_is_said(explain, tmp_path):
    answer = explain("-o", tmp_path / "out")
    assert "guessed by the surrogate" in answer.stderr
    assert pd.read_parquet(tmp_path / "out")["stand_in"].all()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "name it with -o FOLDER"),
        (("-o", "out.csv"), 2, "name it with -o FOLDER"),
        (("-o", "out", "--json"), 2, "do not go with folders"),
        (("-o", "out", "--model", "no.joblib"), 1, "no.joblib does not exist"),
        (("-o", "out", "--keep", "custommer"), 1, "nearest column is 'customer'"),
    ],
)
def test_what_cannot_work_is_refused(words, code, message, explain):
    answer = explain(*words)
    assert answer.exit_code == code
    assert message in answer.stderr


def test_an_explainer_that_is_not_there_is_named(run, source, tmp_path):
    answer = run("explain", tmp_path / "no.illume", source, "-o", tmp_path / "out")
    assert "`illume fit` makes one" in answer.stderr


def test_a_file_that_is_no_parquet_file_is_named(explain, source, tmp_path):
    (source / "c.parquet").write_bytes(b"not at all")
    answer = explain("-o", tmp_path / "out")
    assert answer.exit_code == 1
    assert "c.parquet cannot be read as Parquet" in answer.stderr

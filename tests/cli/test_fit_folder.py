"""`illume fit` reads a folder of Parquet files as the library does."""

import json

import joblib
import numpy as np
import pytest

import illume
from tests.cli.conftest import loan_table

FEW = ("--n-latents", 2, "--queries", 0)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The same 200 rows as loans.parquet, in three files."""
    path = tmp_path_factory.mktemp("parts")
    table = loan_table(200)
    for i, rows in enumerate(np.array_split(np.arange(200), 3)):
        table.iloc[rows].to_parquet(path / f"part-{i}.parquet", index=False)
    return path


def test_a_folder_is_read_piece_by_piece_and_rows_are_drawn(run, parts, model, fast, tmp_path):
    words = (
        "--target",
        "decision",
        "--drop",
        "customer",
        "--row-budget",
        90,
        "--model",
        model,
        "--trust-model",
    )
    done = run("fit", parts, *words, *FEW, "-o", tmp_path / "drawn.illume", "--json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["n_rows"] == 200
    assert answer["quality"]["sampling"] == {"n_rows": 200, "n_drawn": 90, "seed": 0}
    assert "Fitting the explainer on 90 of 200 rows and 4 features" in done.stderr
    by_hand = illume.Explainer(
        joblib.load(model),
        queries=0,
        verbose=False,
        surrogate_options=illume.SurrogateOptions(n_latents=2),
        data_options=illume.DataOptions(row_budget=90),
    ).fit(parts)
    written = illume.load(tmp_path / "drawn.illume", model=by_hand.model)
    rows = loan_table(20, seed=5)
    np.testing.assert_allclose(written(rows).values, by_hand(rows).values, rtol=1e-5, atol=1e-8)


def test_a_model_is_trained_on_drawn_rows(run, parts, fast, tmp_path):
    words = ("--target", "decision", "--train", "gbm", "--row-budget", 100)
    done = run("fit", parts, *words, *FEW, "-o", tmp_path / "own.illume", "--json")
    assert done.exit_code == 0, done.stderr
    assert "note: 100 of 200 rows are learned from, drawn at random with seed 0" in done.stderr
    assert json.loads(done.stdout)["features"] == ["age", "income", "owner", "education"]


def test_what_cannot_be_read_is_said_in_one_line(run, parts, model, tmp_path):
    for words, said in (
        ((tmp_path,), "has no Parquet files (*.parquet), but nothing; expected a Parquet file, or a folder"),
        ((parts, "--target", "decisio"), "--target names 'decisio', which is no column; the nearest column"),
        ((parts, "--drop", "agee"), "--drop names 'agee', which is no column"),
    ):
        done = run("fit", *words, "--model", model, "-o", tmp_path / "none.illume")
        assert done.exit_code == 1
        assert said in done.stderr

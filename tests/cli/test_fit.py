import json
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import illume
from illume.encoders.pair_training import PairTrainer
from illume.encoders.training import Trainer
from illume.twin import train_networks
from tests.cli.conftest import loan_table

FEW = ("--n-latents 2 --queries 0",)


def test_fit_writes_the_file_and_says_what_it_holds(fitted, explainer, model):
    answer = json.loads(fitted.stdout)
    assert (answer["explainer"], answer["model"]) == (str(explainer), str(model))
    assert answer["features"] == ["age", "income", "owner", "education"]
    assert answer["classes"] == ["grant", "refuse"]
    assert answer["n_rows"] == 200
    assert answer["quality"]["n_training"] == 140
    assert 0.0 <= answer["rule_quality"]["precision"] <= 1.0
    assert "Fitting the explainer on 200 rows and 4 features" in fitted.stderr
    assert f"next: illume explain {explainer} ROWS --model {model} --trust-model\n" in fitted.stderr


@pytest.fixture(scope="module")
def small_model(folder):
    """A model of two of the columns."""
    table = pd.read_csv(folder / "loans.csv").fillna({"income": 30.0})
    path = folder / "own.joblib"
    joblib.dump(LogisticRegression(max_iter=1000).fit(table[["age", "owner"]], table["decision"]), path)
    return path


def test_a_model_of_some_columns_is_explained_by_these(run, folder, small_model, fast, tmp_path):
    words = ("--model", small_model, "--trust-model --target decision", *FEW, "-o", tmp_path / "own.illume")
    answer = run("fit", folder / "loans.parquet", *words)
    assert answer.exit_code == 0, answer.stderr
    assert "Contributions: exact" in answer.stdout
    assert answer.stdout.splitlines()[-1] == f"Model:     {small_model}"
    assert "2 features" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own.illume"]


def test_quiet_and_trusted_says_nothing(run, folder, small_model, fast, tmp_path):
    words = ("--model", small_model, "--trust-model", *FEW, "-o", tmp_path / "own.illume", "--quiet")
    answer = run("fit", folder / "loans.csv", *words)
    assert (answer.exit_code, answer.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--target decision",), 2, "give it with --model FILE or --model MODULE:NAME"),
        (("--model m.joblib --target decison",), 1, "the nearest column is 'decision'"),
        (("--model m.joblib --drop agee",), 1, "--drop names 'agee'"),
        (
            ("--model m.joblib --text educaton",),
            1,
            "--text names 'educaton', which is no column; the nearest",
        ),
        (("--model m.joblib --categorical job",), 1, "--categorical names 'job'"),
        (
            ("--model m.joblib --drop age,income,owner,education,customer,decision",),
            2,
            "at least one feature",
        ),
        (("--model absent.joblib",), 1, "the model absent.joblib does not exist"),
        (("--model absent_module:model",), 1, "needs the module 'absent_module', which is not installed"),
        (("--model math:no_model",), 1, "the module math has no 'no_model'"),
        (("--model m.joblib --n-latents many",), 2, "--n-latents must be auto"),
        (("--model m.joblib --rank 0",), 2, "--rank must be auto or none or a whole"),
        (("--model m.joblib --queries", "-1"), 2, "--queries"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(run, folder, words, code, said):
    answer = run("fit", folder / "loans.csv", *words, "-o", folder / "never.illume")
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert said in answer.stderr.splitlines()[-1]
    assert not list(folder.glob("never*"))


@pytest.mark.parametrize(
    ("out", "code", "said"),
    [
        ("a.zip", 2, "must end in .illume"),
        ("absent/a.illume", 1, "create it first"),
        ("folder.illume", 1, "is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(run, tmp_path, out, code, said):
    (tmp_path / "folder.illume").mkdir()
    words = ("--target y --model m.joblib -o", tmp_path / out)
    answer = run("fit", tmp_path / "absent.csv", *words)
    assert answer.exit_code == code
    assert said in answer.stderr


@pytest.mark.parametrize(
    "case",
    [
        (["age", "owner"], {"owner": "ownr"}, "decision", "with 'owner', which is no column; the nearest"),
        (["age", "owner"], {}, "age", "with the target 'age' among its features"),
        (None, {}, "decision", "takes 1 columns without naming them, and there are 5: age, income"),
    ],
)
def test_a_model_that_does_not_go_with_the_columns_is_refused(run, folder, tmp_path, case):
    names, rename, target, said = case
    table = pd.read_csv(folder / "loans.csv")
    X = table[["age"]].to_numpy() if names is None else table[names]
    joblib.dump(LogisticRegression(max_iter=1000).fit(X, table["decision"]), tmp_path / "m.joblib")
    table.rename(columns=rename).to_csv(tmp_path / "t.csv", index=False)
    words = ("--model", tmp_path / "m.joblib", "--trust-model --target", target, "-o", tmp_path / "a.illume")
    answer = run("fit", tmp_path / "t.csv", *words)
    assert answer.exit_code == 1
    assert said in answer.stderr


def test_unknown_categories_can_be_allowed(run, folder, own_model, fast, tmp_path):
    out = tmp_path / "a.illume"
    words = ("--trust-model --model", own_model, *FEW, "--unknown ignore --rows none -o", out)
    assert run("fit", folder / "loans.csv", *words).exit_code == 0
    (tmp_path / "t.csv").write_text("age,income,owner,education\n30,2,True,doctorate\n")
    answer = run("explain", out, tmp_path / "t.csv", "--quiet")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "0 of 140 training rows" in run("show", out).stdout


def test_a_function_of_a_module_is_explained(run, folder, fast, tmp_path, monkeypatch):
    (tmp_path / "scoring_of_loans.py").write_text(
        "def chance(rows):\n    return (rows['age'] / 100).clip(0.01, 0.99).to_numpy()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    words = ("--model scoring_of_loans:chance --target decision --drop customer --effort quick", *FEW)
    answer = run("fit", folder / "loans.csv", *words, "-o", "a.illume")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stderr.endswith("next: illume explain a.illume ROWS --model scoring_of_loans:chance\n")
    (tmp_path / "rows").mkdir()
    loan_table(9).to_parquet(tmp_path / "rows" / "a.parquet")
    about = ("--model scoring_of_loans:chance -q --workers 0 -o", tmp_path / "out")
    done = run("explain", "a.illume", tmp_path / "rows", *about)
    assert (done.exit_code, done.stderr) == (0, "")
    assert not pd.read_parquet(tmp_path / "out")["stand_in"].any()


def test_options_of_numbers_are_refused_for_classes_by_their_names(run, folder, own_model, tmp_path):
    for option in ("--link log", "--output-name a"):
        words = ("--trust-model --model", own_model, *FEW, option, "-o", tmp_path / "a.illume")
        answer = run("fit", folder / "loans.csv", *words)
        assert answer.exit_code == 2
        assert f"error: {option} is for models that answer with numbers" in answer.stderr


@pytest.mark.parametrize(("words", "rank"), [((), "auto"), (("--rank 5",), 5), (("--rank none",), None)])
def test_the_rank_of_maps_reaches_the_explainer(run, small_model, words, rank, monkeypatch):
    folder = small_model.parent
    given = []

    def explainer(model, **settings):
        given.append(settings["surrogate_options"].rank)
        raise KeyboardInterrupt

    monkeypatch.setattr(illume, "Explainer", explainer)
    usual = ("--model", small_model, "--trust-model --target", "decision", "-o", folder / "a.illume")
    assert run("fit", folder / "loans.csv", *usual, *words).exit_code == 130
    assert given == [rank]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("objective", ["pairs", "joint"])
def test_an_interrupted_training_leaves_no_file(run, small_model, tmp_path, monkeypatch, objective):
    trainer, step = {"pairs": (PairTrainer, "_step"), "joint": (Trainer, "run_epoch")}[objective]
    go_on, steps = getattr(trainer, step), []

    def interrupted(self):
        steps.append(self)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return go_on(self)

    monkeypatch.setattr(trainer, step, interrupted)
    words = ("--target decision --trust-model --objective", objective, "--model", small_model, *FEW)
    answer = run("fit", small_model.parent / "loans.csv", *words, "-o", tmp_path / "loans.illume")
    assert (len(steps), answer.exit_code) == (2, 130)
    assert answer.stderr.endswith("error: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_training_of_a_twin_leaves_no_file(run, folder, model, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_networks.Descent, "step", interrupted)
    words = ("--twin learned --trust-model --queries 300 --model", model, "-o", tmp_path / "loans.illume")
    answer = run("fit", folder / "loans.csv", "--target decision", *words)
    assert answer.exit_code == 130
    assert not list(tmp_path.iterdir())


def test_a_twin_is_learned_if_asked_for_and_the_file_holds_all(run, folder, model, fast, tmp_path):
    out = tmp_path / "own.illume"
    words = ("--twin learned --scale probability --n-latents 2 --queries 300 --effort quick -o", out)
    about = ("--trust-model --model", model, "--target decision")
    answer = run("fit", folder / "loans.csv", *about, *words)
    assert answer.exit_code == 0, answer.stderr
    assert "the model was not read: twin='learned' was asked for" in " ".join(answer.stdout.split())
    written = illume.load(out)
    assert (written.twin, written.scale, written.quality_.exact) == ("learned", "probability", False)
    assert (written.fitted_.latents.ready, written.fitted_.rules.ready) == (True, True)


def test_a_model_that_must_be_read_and_cannot_is_refused_with_the_option(run, small_model, tmp_path):
    table = pd.read_csv(small_model.parent / "loans.csv")
    net = KNeighborsClassifier().fit(table[["age", "owner"]], table["decision"])
    joblib.dump(net, tmp_path / "m.joblib")
    words = ("--trust-model --twin exact --target decision --model", tmp_path / "m.joblib")
    answer = run("fit", small_model.parent / "loans.csv", *words, *FEW, "-o", tmp_path / "a.illume")
    assert answer.exit_code == 1
    assert "the model cannot be read: " in answer.stderr
    assert "leave --twin exact out, to learn it" in answer.stderr


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The same 200 rows as loans.parquet, in three files."""
    path = tmp_path_factory.mktemp("parts")
    table = loan_table(200)
    for i, rows in enumerate(np.array_split(np.arange(200), 3)):
        table.iloc[rows].to_parquet(path / f"part-{i}.parquet", index=False)
    return path


def test_a_folder_is_read_piece_by_piece_and_rows_are_drawn(run, parts, model, fast, tmp_path):
    words = ("--target decision --drop customer --row-budget 90 --model", model, "--trust-model")
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


def test_a_folder_that_cannot_be_read_is_said_in_one_line(run, parts, model, tmp_path):
    for words, said in (
        ((tmp_path,), "has no Parquet files (*.parquet), but nothing; expected a Parquet file, or a folder"),
        ((parts, "--target decisio"), "--target names 'decisio', which is no column; the nearest column"),
        ((parts, "--drop agee"), "--drop names 'agee', which is no column"),
    ):
        done = run("fit", *words, "--model", model, "-o", tmp_path / "none.illume")
        assert done.exit_code == 1
        assert said in done.stderr


def test_labels_from_a_file_are_stored(run, folder, own_model, fast, tmp_path):
    path, out = tmp_path / "words.csv", tmp_path / "a.illume"
    path.write_text("column,label,unit\nincome,Yearly income,k€\ndecision,Target,\n", encoding="utf-8")
    about = ("--target decision --drop customer --trust-model --model", own_model)
    words = (*about, *FEW, "-o", out, "--labels", path)
    answer = run("fit", folder / "loans.csv", *words)
    assert answer.exit_code == 0, answer.stderr
    shown = json.loads(run("show", out, "--json").stdout)["features"]
    assert [(each["label"], each["unit"]) for each in shown if each["name"] == "income"] == [
        ("Yearly income", "k€")
    ]
    assert "Yearly income" in repr(illume.load(out).rule_set())
    path.write_text("column,label\nincme,Yearly income\n", encoding="utf-8")
    answer = run("fit", folder / "loans.csv", *words)
    assert answer.exit_code == 1
    assert "the nearest column is 'income'" in answer.stderr

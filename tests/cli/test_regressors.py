"""The command line for models that answer with numbers."""

import json
import re
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import illume
from illume.distributed import explain_partition
from tests.common import loans

FEW = "--n-latents 3 --queries 300 --effort quick"


def limit_table(n, seed=0):
    """Rows with the number to predict."""
    frame, noise = loans(n, seed), np.random.default_rng(seed).normal(0, 500, n)
    limit = 1000 * (50 + frame["income"].fillna(30.0) - 0.3 * frame["age"]) + 5000 * frame["owner"]
    return frame.assign(limit=(limit + noise).round(2))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    limit_table(200).to_csv(folder / "limits.csv", index=False)
    limit_table(12, seed=1).drop(columns="limit").to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(home):
    """The file of a regressor that names its columns."""
    table = pd.read_csv(home / "limits.csv")
    encode = make_column_transformer((OrdinalEncoder(), ["owner", "education"]), remainder="passthrough")
    regressor = make_pipeline(encode, HistGradientBoostingRegressor(early_stopping=False, random_state=0))
    joblib.dump(regressor.fit(table.drop(columns="limit"), table["limit"]), home / "limits.joblib")
    return home / "limits.joblib"


@pytest.fixture(scope="module")
def trained(run, home, model, fast):
    words = ("--target limit --trust-model --model", model, FEW, "-o", home / "limits.illume", "--json")
    return run("fit", home / "limits.csv", *words)


@pytest.fixture(scope="module")
def given(trained, home):
    """What `illume explain` is given."""
    assert trained.exit_code == 0, trained.stderr
    return home / "limits.illume", home / "new.csv", "--trust-model --model", home / "limits.joblib"


@pytest.fixture(scope="module")
def partition(given, home):
    """Return what the library answers, as a frame."""
    explainer = illume.load(given[0], model=joblib.load(given[3]))
    return partial(explain_partition, pd.read_csv(home / "new.csv"), explainer)


@pytest.fixture
def written(run, given, tmp_path):
    """Return what `illume explain` writes with some options."""

    def explain(words):
        answer = run("explain", *given, words, "-o", tmp_path / "out.parquet")
        assert answer.exit_code == 0, answer.stderr
        return pd.read_parquet(tmp_path / "out.parquet")

    return explain


def test_the_number_of_a_regressor_is_named_by_the_target(trained):
    answer = json.loads(trained.stdout)
    assert (answer["task"], answer["outputs"]) == ("regression", ["limit"])


def test_show_says_what_it_explains_with_r2_and_error(run, given):
    answer = run("show", given[0])
    assert "Explains   numbers: limit\n" in answer.stdout
    assert "R²" in answer.stdout
    assert "Contributions: exact" in answer.stdout
    assert re.search(r"all rows +R² -?[\d.]+ +error [\d.,]+", answer.stdout)
    answer = json.loads(run("show", given[0], "--json").stdout)
    assert (answer["task"], answer["outputs"]) == ("regression", ["limit"])
    assert run("rules", given[0]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "kind", "options"),
    [
        ("-k attributions", "attributions", {}),
        ("-k rules --interval 0.8", "rules", {"interval": 0.8}),
        ("-k rules --threshold 70000 --precision 0.8", "rules", {"threshold": 70_000.0, "precision": 0.8}),
        (
            "-k counterfactuals -n 1 --desired-range 75000,",
            "counterfactuals",
            {"n": 1, "desired_range": [75_000.0, None]},
        ),
        (
            "-k counterfactuals -n 1 --desired-change=-3000 --vary income",
            "counterfactuals",
            {"n": 1, "desired_change": -3000.0, "features_to_vary": ["income"]},
        ),
        ("-k counterfactuals -n 1 --threshold 70000", "counterfactuals", {"n": 1, "threshold": 70_000.0}),
    ],
)
def test_columns_are_those_of_a_partition(written, partition, words, kind, options):
    found, expected = written(words), partition(kind=kind, **options)
    assert set(found.columns) == {"row", *expected.columns}
    shown = [name for name in ("prediction", "interval_low", "interval_high") if name in expected.columns]
    np.testing.assert_array_equal(found[shown], expected[shown])
    assert shown


@pytest.mark.parametrize("words", ["--long", "--json", "-k rules --long", "-k rules --json"])
def test_other_layouts_are_written(run, given, words):
    answer = run("explain", *given, words)
    assert answer.exit_code == 0, answer.stderr
    if "--json" in words:
        record = json.loads(answer.stdout.splitlines()[0])
        assert "prediction" in record
        assert "probability" not in record


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-k counterfactuals", "by one of --desired-range, --desired-change and --threshold; found none"),
        ("-k counterfactuals --desired grant", "--desired and"),
        ("-k counterfactuals --desired-range 5,1", "--desired-range must be"),
        ("-k counterfactuals --desired-range 5", "--desired-range must be LOW,HIGH"),
        ("-k counterfactuals --desired-range 1,2 --threshold 3", "found --desired-range and --threshold"),
        ("-k counterfactuals --interval 0.9", "--interval goes with --kind rules"),
        ("-k rules --desired-change 5", "--desired-change goes with --kind counterfactuals"),
        ("-k rules --precision 0.9", "--precision is for rules that end in a decision"),
        ("-k rules --threshold 5 --interval 0.9", "--interval is for rules that end in numbers"),
        ("-k rules --output price", "--output must be one of ['limit'], found 'price'"),
        ("--threshold 5", "--threshold goes with --kind rules or counterfactuals"),
    ],
)
def test_options_that_do_not_go_together_are_told_in_one_line(run, given, words, said):
    answer = run("explain", *given, words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert said in answer.stderr


def test_options_of_numbers_are_refused_for_classes(run, explainer, own_model, folder):
    words = ("--trust-model --model", own_model)
    for option in ("--interval 0.9", "--threshold 5"):
        answer = run("explain", explainer, folder / "new.csv", *words, "-k rules", option)
        assert answer.exit_code == 2
        assert f"{option.split()[0]} " in answer.stderr


def test_check_says_whether_explanations_apply(run, given):
    assert "agreement of twin and model" in run("check", *given).stdout


@pytest.fixture(scope="module")
def own(home):
    """A regressor of two columns."""
    table = pd.read_csv(home / "limits.csv")
    model = HistGradientBoostingRegressor(max_iter=20).fit(table[["age", "income"]], table["limit"])
    joblib.dump(model, home / "own.joblib")
    return home / "own.joblib"


def test_a_saved_regressor_is_explained_with_a_link_and_a_name(run, home, own, fast, tmp_path):
    words = ("--trust-model --model", own, FEW, "--link log --output-name credit -o", tmp_path / "own.illume")
    answer = run("fit", home / "limits.csv", *words, "--target limit")
    assert answer.exit_code == 0, answer.stderr
    shown = run("show", tmp_path / "own.illume").stdout
    assert "numbers: credit; contributions are factors" in shown
    answer = run("fit", home / "limits.csv", *words, "--task classification")
    assert answer.exit_code == 2
    assert "--output-name credit is for models that answer with numbers" in answer.stderr

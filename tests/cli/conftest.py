import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from typer.testing import CliRunner

from illume.cli.app import app
from tests.common import FAST, loans


def loan_table(n, seed=0):
    """Rows with an identifier and the decision of a rule with some noise."""
    frame = loans(n, seed)
    rng = np.random.default_rng(seed)
    chance = frame["income"].fillna(30.0) + 10 * (frame["education"] == "high") - 0.3 * frame["age"]
    decision = np.where(chance + rng.normal(0, 2, n) > 20, "grant", "refuse")
    frame.loc[::23, "education"] = None
    return frame.assign(customer=[f"C{i:04}" for i in range(n)], decision=decision)


@pytest.fixture(scope="session")
def run():
    """Call `illume`; strings of options are split. The result has exit_code, stdout and stderr."""
    runner = CliRunner()

    def call(*words, **options):
        split = [str(word).split() if str(word).startswith("-") else [str(word)] for word in words]
        return runner.invoke(app, [part for parts in split for part in parts], prog_name="illume", **options)

    return call


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder as a user may have it: rows to learn from, new rows."""
    folder = tmp_path_factory.mktemp("loans")
    table = loan_table(200)
    table.to_csv(folder / "loans.csv", index=False)
    table.to_parquet(folder / "loans.parquet")
    loan_table(12, seed=1).drop(columns="decision").to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def own_model(folder):
    """The file of a model that names its columns."""
    table = pd.read_csv(folder / "loans.csv")
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    encode = make_column_transformer((codes, ["owner", "education"]), remainder="passthrough")
    boosting = HistGradientBoostingClassifier(
        categorical_features=[0, 1], early_stopping=False, random_state=0
    )
    X = table[["age", "income", "owner", "education"]]
    joblib.dump(make_pipeline(encode, boosting).fit(X, table["decision"]), folder / "loans.joblib")
    return folder / "loans.joblib"


@pytest.fixture(scope="session")
def fast():
    """Short trainings for all that is fitted here."""
    from illume.fit import settings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "QUICK", FAST)
        patch.setattr(settings, "PAIR_STEPS", {"quick": 40, "standard": 40})
        patch.setattr(settings, "N_PAIRS", {"quick": 1_000, "standard": 1_000})
        yield


@pytest.fixture(scope="session")
def fitted(run, folder, own_model, fast):
    """The answer of `illume fit`, which writes loans.illume into the folder."""
    words = ("--target decision --n-latents 3 --queries 300 --trust-model --model", own_model)
    return run("fit", folder / "loans.csv", *words, "-o", folder / "loans.illume", "--json")


@pytest.fixture(scope="session")
def explainer(fitted, folder):
    """The explainer's file."""
    assert fitted.exit_code == 0, fitted.stderr
    return folder / "loans.illume"


@pytest.fixture(scope="session")
def model(explainer, own_model):
    """The file of the model that was explained."""
    return own_model


@pytest.fixture(scope="session")
def rows(folder):
    """The new rows."""
    return pd.read_csv(folder / "new.csv")


@pytest.fixture(scope="session")
def loaded(explainer, model):
    """The explainer itself, to compare with."""
    import illume

    return illume.load(explainer, model=joblib.load(model))

"""The real mlflow saves, logs, loads and serves explainers, in a folder and without a server."""

import json
import os
import sys
import threading
import warnings

import pandas as pd
import pytest

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.pyfunc")

import illume  # noqa: E402
import illume.io.mlflow as flavour  # noqa: E402
from tests.common import brief_shapley, loans  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own


def asked(kind="attributions", layout="wide", **options):
    return {"kind": kind, "layout": layout, "options": json.dumps(options)}


@pytest.fixture(scope="module")
def rows():
    frame = loans(12, seed=5)
    frame.index = pd.Index([f"r{i}" for i in range(12)])
    return frame


@pytest.fixture(scope="module")
def folder(loan_explainer, tmp_path_factory):
    """An explainer that was saved with its model."""
    path = tmp_path_factory.mktemp("saved") / "loans"
    flavour.save_model(loan_explainer.fit_rules(), path, model=loan_explainer.model)
    return path


@pytest.fixture(scope="module")
def without_model(loan_explainer, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "loans"
    flavour.save_model(loan_explainer, path)
    return path


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (None, lambda e, rows: e(rows).to_frame()),
        ({"layout": "long"}, lambda e, rows: e(rows).to_frame("long")),
        (asked(refine=8), lambda e, rows: e(rows, refine=8).to_frame()),
        ({"kind": "rules"}, lambda e, rows: e.rules(rows).to_frame()),
        (
            asked("rules", "long", precision=0.8, max_conditions=1),
            lambda e, rows: e.rules(rows, precision=0.8, max_conditions=1).to_frame("long"),
        ),
        (
            asked("counterfactuals", n=1, max_changes=1, min_probability=0.6),
            lambda e, rows: e.counterfactuals(rows, 1, max_changes=1, min_probability=0.6).to_frame(),
        ),
        (asked(positive_class="grant"), lambda e, rows: e(rows, positive_class="grant").to_frame()),
        (
            asked("counterfactuals", immutable=["income", "age"]),
            lambda e, rows: e.counterfactuals(rows, immutable=["income", "age"]).to_frame(),
        ),
        (
            asked("counterfactuals", direction={"income": "up", "education": ["low", "high"]}),
            lambda e, rows: e.counterfactuals(
                rows, direction={"income": "up", "education": ["low", "high"]}
            ).to_frame(),
        ),
    ],
    ids=[
        *("by default", "long", "refined", "rules", "short rules", "counterfactuals", "class"),
        *("immutable", "direction"),
    ],
)
def test_predictions_are_explanations_of_the_kind_that_params_ask_for(
    params, expected, folder, loan_explainer, rows
):
    answer = mlflow.pyfunc.load_model(str(folder)).predict(rows, params=params)
    pd.testing.assert_frame_equal(answer, expected(loan_explainer, rows))


def test_wrong_params_are_refused(folder, rows):
    loaded = mlflow.pyfunc.load_model(str(folder))
    with pytest.raises(ValueError, match=r"kind must be one of \['attributions', .*found 'shap'"):
        loaded.predict(rows, params={"kind": "shap"})
    with pytest.raises(ValueError, match="options must be a JSON object, found 'refine=3'"):
        loaded.predict(rows, params={"options": "refine=3"})
    with pytest.raises(ValueError, match=r"params \['top'\] are not known; choose among \['kind'"):
        flavour.ExplanationModel(loaded.get_raw_model()).predict(rows, {"top": 3})


def test_bad_rows_get_illumes_own_words(folder, rows):
    with pytest.raises(illume.errors.SchemaError, match="income"):
        mlflow.pyfunc.load_model(str(folder)).predict(rows.drop(columns="income"))


def test_the_explainer_itself_can_be_loaded_with_its_model_or_another(
    folder, without_model, rows, loan_explainer
):
    for explainer in (
        flavour.load_model(folder, trust_model=True),
        flavour.load_model(without_model, loan_explainer.model),
    ):
        assert isinstance(explainer, illume.Explainer)
        pd.testing.assert_frame_equal(explainer(rows).to_frame(), loan_explainer(rows).to_frame())


def test_without_its_model_the_surrogate_stands_in(without_model, rows):
    answer = mlflow.pyfunc.load_model(str(without_model)).predict(rows)
    surrogate = illume.load(_file(without_model))(rows).to_frame()
    pd.testing.assert_frame_equal(answer, surrogate)


def test_only_a_model_that_was_asked_for_is_pickled(without_model, folder):
    assert [path.name for path in without_model.rglob("*.pkl")] == []
    assert [path.name for path in folder.rglob("*.pkl")] == ["model.pkl"]


@pytest.mark.filterwarnings("default")
def test_a_stored_pickle_needs_trust_or_is_announced(folder, without_model):
    with pytest.raises(illume.errors.BlackBoxError, match=r"is a pickle, .* runs code.* trust_model=True"):
        flavour.load_model(folder)
    with pytest.warns(UserWarning, match=r"loading model.pkl of .*, a pickle, runs code in it"):
        mlflow.pyfunc.load_model(str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        flavour.load_model(without_model)


def test_where_pickles_are_forbidden_the_model_is_not_loaded(folder, loan_explainer, rows, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    with pytest.raises(
        illume.errors.BlackBoxError, match="is a pickle, and MLFLOW_ALLOW_PICKLE_DESERIALIZATION"
    ):
        mlflow.pyfunc.load_model(str(folder))
    assert len(flavour.load_model(folder, model=loan_explainer.model)(rows)) == 12


def test_a_file_that_was_saved_before_is_taken_as_it_is(loan_explainer, tmp_path):
    loan_explainer.save(tmp_path / "loans.illume", rows="none")
    flavour.save_model(tmp_path / "loans.illume", tmp_path / "model")
    assert _file(tmp_path / "model").read_bytes() == (tmp_path / "loans.illume").read_bytes()


def test_a_run_logs_it_and_any_address_of_mlflow_loads_it(loan_explainer, rows, tmp_path):
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    try:
        with mlflow.start_run() as run:
            info = flavour.log_model(loan_explainer, model=loan_explainer.model, metadata={"who": "tests"})
        expected = loan_explainer(rows).to_frame()
        assert {"illume", "python_function"} <= set(info.flavors)
        pd.testing.assert_frame_equal(mlflow.pyfunc.load_model(info.model_uri).predict(rows), expected)
        again = flavour.load_model(f"runs:/{run.info.run_id}/explainer", trust_model=True)
        pd.testing.assert_frame_equal(again(rows).to_frame(), expected)
    finally:
        mlflow.set_tracking_uri(before)


def test_a_given_signature_is_kept_and_gets_the_params(loan_explainer, rows, tmp_path):
    signature = mlflow.models.infer_signature(rows)
    flavour.save_model(
        loan_explainer,
        tmp_path / "model",
        model=loan_explainer.model,
        signature=signature,
        input_example=rows[:2],
        extra_pip_requirements=["xgboost"],
    )
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert loaded.metadata.signature.inputs.input_names() == list(rows.columns)
    answer = loaded.predict(rows, params={"kind": "rules"})
    pd.testing.assert_frame_equal(answer, loan_explainer.rules(rows).to_frame())
    needed = (tmp_path / "model" / "requirements.txt").read_text()
    assert f"illume[mlflow]=={illume.__version__}" in needed
    assert "xgboost" in needed
    assert "+" not in needed


def test_a_signature_with_params_of_its_own_is_left_alone(loan_explainer, rows, tmp_path):
    signature = mlflow.models.infer_signature(rows, params={"kind": "rules"})
    flavour.save_model(loan_explainer, tmp_path / "model", signature=signature)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert [param.name for param in loaded.metadata.signature.params.params] == ["kind"]
    assert "rule" in loaded.predict(rows).columns


def test_a_model_that_cannot_be_asked_or_pickled_is_refused(loan_explainer, tmp_path):
    lock = threading.Lock()
    with pytest.raises(illume.errors.BlackBoxError, match="a bool cannot be asked"):
        flavour.save_model(loan_explainer, tmp_path / "model", model=True)
    with pytest.raises(
        illume.errors.SaveError, match=r"the function cannot be pickled: .*save the explainer without"
    ):
        flavour.save_model(loan_explainer, tmp_path / "model", model=lambda frame: lock)
    assert not (tmp_path / "model").exists()


def test_another_kind_of_model_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    mlflow.pyfunc.save_model(
        tmp_path / "other", loader_module="tests.common", data_path=tmp_path / "data", pip_requirements=[]
    )
    with pytest.raises(
        illume.errors.FormatError, match=r"holds a model of \['python_function'\], expected an expl"
    ):
        flavour.load_model(tmp_path / "other")


def test_a_star_does_not_hide_the_real_mlflow():
    assert illume.mlflow is flavour
    assert "mlflow" in dir(illume)
    assert "mlflow" not in illume.__all__


def test_without_mlflow_the_extra_is_named(loan_explainer, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(illume.errors.MissingExtraError, match=r'pip install "illume\[mlflow\]"'):
        flavour.save_model(loan_explainer, tmp_path / "model")


@pytest.fixture(scope="module")
def regressor(loan_frame):
    def price(frame):
        return 2_000.0 * frame["age"].to_numpy() + 50_000.0 * (frame["education"] == "high").to_numpy()

    options = illume.DataOptions(output_names=["price"])
    with brief_shapley():
        return illume.Explainer(price, queries=400, effort="quick", data_options=options).fit(loan_frame)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (None, lambda e, rows: e(rows).to_frame()),
        (asked("rules", interval=0.8), lambda e, rows: e.rules(rows, interval=0.8).to_frame()),
        (
            asked("rules", threshold=90_000.0, output="price"),
            lambda e, rows: e.rules(rows, threshold=90_000).to_frame(),
        ),
        (
            asked("counterfactuals", n=1, desired_range=[100_000.0, 150_000.0]),
            lambda e, rows: e.counterfactuals(rows, 1, desired_range=[100_000, 150_000]).to_frame(),
        ),
        (
            asked("counterfactuals", n=1, desired_change=20_000.0),
            lambda e, rows: e.counterfactuals(rows, 1, desired_change=20_000).to_frame(),
        ),
    ],
    ids=["by default", "rules", "rules for a threshold", "a range", "a change"],
)
def test_a_regressors_explainer_is_logged_with_the_signature_of_its_answers_and_loaded(
    params, expected, regressor, rows, tmp_path
):
    signature = mlflow.models.infer_signature(rows, regressor(rows).to_frame())
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    try:
        with mlflow.start_run():
            info = flavour.log_model(regressor.fit_rules(), model=regressor.model, signature=signature)
        loaded = mlflow.pyfunc.load_model(info.model_uri)
        pd.testing.assert_frame_equal(loaded.predict(rows, params=params), expected(regressor, rows))
        assert "prediction" in loaded.metadata.signature.outputs.input_names()
        again = flavour.load_model(info.model_uri, trust_model=True)
        assert again.fitted_.outputs == regressor.fitted_.outputs
    finally:
        mlflow.set_tracking_uri(before)


def _file(folder):
    (path,) = folder.rglob("*.illume")
    return path

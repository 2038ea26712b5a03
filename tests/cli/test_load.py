import joblib
import pytest
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression

from illume.cli.load import load_model
from illume.cli.messages import CommandError, Messages


@pytest.fixture
def path(tmp_path):
    joblib.dump(LogisticRegression(), tmp_path / "m.joblib")
    return tmp_path / "m.joblib"


def test_loading_warns_that_code_runs_even_when_quiet_unless_trusted(path, capsys):
    load_model(path, Messages(quiet=True))
    assert capsys.readouterr().err.startswith(f"warning: loading {path} runs code in it")
    load_model(path, Messages(), trusted=True)
    assert capsys.readouterr().err == ""


def test_another_scikit_learn_is_one_note(path, capsys, monkeypatch):
    import warnings

    def load(_):
        for name in ("Pipeline", "LogisticRegression"):
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=name, current_sklearn_version="9.9", original_sklearn_version="1.5"
                ),
                stacklevel=1,
            )

    monkeypatch.setattr(joblib, "load", load)
    load_model(path, Messages(), trusted=True)
    said = capsys.readouterr().err
    assert said == f"note: {path} was saved under scikit-learn 1.5, this is 9.9; its answers may differ\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no pickle at all", "cannot be loaded as a model"),
        (b"cabsent_module\nf\n.", "needs the module 'absent_module'"),
    ],
)
def test_what_cannot_be_loaded_says_why(tmp_path, content, said):
    path = tmp_path / "m.joblib"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=said):
        load_model(path, Messages(), trusted=True)

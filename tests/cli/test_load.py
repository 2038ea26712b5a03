import sys

import joblib
import numpy as np
import pytest
import skops.io
import typer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression

from illume.cli.load import load_model
from illume.cli.messages import CommandError, Messages
from illume.cli.options import Model


@pytest.fixture
def path(tmp_path):
    joblib.dump(LogisticRegression(), tmp_path / "m.joblib")
    return tmp_path / "m.joblib"


def test_a_pickle_is_not_loaded_unless_it_is_trusted(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(joblib, "load", pytest.fail)
        with pytest.raises(CommandError, match=r"runs code in it.*skops.*not loaded.*add --trust-model"):
            load_model(Model(str(path)), Messages())
    assert isinstance(load_model(Model(str(path), trust_model=True), Messages()), LogisticRegression)


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_user_is_asked(path, monkeypatch, answer):
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda text, err: answer)
    if answer:
        load_model(Model(str(path)), Messages())
        return
    with pytest.raises(CommandError, match="it was not loaded"):
        load_model(Model(str(path)), Messages())


def test_a_skops_file_needs_no_trust_unless_it_holds_types_that_skops_does_not_know(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    plain, other = tmp_path / "plain.skops", tmp_path / "other.skops"
    skops.io.dump(LogisticRegression().fit(X, X[:, 0] > 0), plain)
    skops.io.dump(HistGradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > 0), other)
    assert load_model(Model(str(plain)), Messages()).predict_proba(X).shape == (40, 2)
    with pytest.raises(CommandError, match=r"does not vouch for: .*TreePredictor; .* add --trust-model"):
        load_model(Model(str(other)), Messages())
    assert load_model(Model(str(other), trust_model=True), Messages()).predict_proba(X).shape == (40, 2)


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
    load_model(Model(str(path), trust_model=True), Messages())
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
        load_model(Model(str(path), trust_model=True), Messages())

import joblib
import numpy as np
import pytest
from benchmarks.black_boxes import SEARCHES, AllClasses, Samples, Search, fitted, searched

from benchmarks import black_boxes


@pytest.fixture
def samples():
    """Three of four classes are known in training; the second has a single row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] > 0, 3, 0)
    y[5] = 1
    return Samples(X[:80], y[:80], X[80:], y[80:], n_classes=4)


@pytest.mark.parametrize("name", SEARCHES)
def test_there_is_a_column_for_every_class(name, samples):
    search = SEARCHES[name]
    small = {key: 5 for key in ("n_estimators", "iterations") if key in search.settings[0]}
    classifier = search.make(0, **{**search.settings[0], **small})
    model = AllClasses(classifier, samples.n_classes, search.least).fit(samples.X_train, samples.y_train)
    P = model.predict_proba(samples.X_test)
    assert P.shape == (40, 4)
    assert P.dtype == np.float64
    assert not P[:, 2].any()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(P.argmax(axis=1) == samples.y_test) > 0.6


def test_the_clean_protocol_never_looks_at_test_rows(samples):
    other = Samples(samples.X_train, samples.y_train, samples.X_test, 3 - samples.y_test, 4)
    answers = [searched("mlp", 0, "clean", s).predict_proba(samples.X_test) for s in (samples, other)]
    np.testing.assert_array_equal(*answers)


def test_the_paper_protocol_takes_what_scores_best_on_test_rows(samples, monkeypatch):
    settings = ({"max_depth": 1, "n_estimators": 1, "max_features": 1}, {"n_estimators": 30})
    monkeypatch.setitem(SEARCHES, "forest", Search(SEARCHES["forest"].make, settings, "scikit-learn"))
    scores = []
    for setting in settings:
        model = AllClasses(SEARCHES["forest"].make(0, **setting), 4).fit(samples.X_train, samples.y_train)
        scores.append(
            black_boxes.macro_f1(samples.y_test, model.predict_proba(samples.X_test).argmax(axis=1))
        )
    best = searched("forest", 0, "paper", samples)
    decided = best.predict_proba(samples.X_test).argmax(axis=1)
    assert black_boxes.macro_f1(samples.y_test, decided) == max(scores)


def test_a_fitted_black_box_is_read_back(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path / "kept"))
    first = fitted("toy", "forest", 0, "clean", samples)
    files = sorted((tmp_path / "kept").glob("*.joblib"))
    assert [file.name.startswith("toy-forest-0-clean-") for file in files] == [True]
    assert not list((tmp_path / "kept").glob("*.part"))
    monkeypatch.setattr(black_boxes, "searched", None)  # nothing is fitted again
    again = fitted("toy", "forest", 0, "clean", samples)
    X = samples.X_test
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(first.predict_proba(X), joblib.load(files[0]).predict_proba(X))


def test_other_rows_are_another_file(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setattr(black_boxes, "searched", lambda *_: "a model")
    fitted("toy", "svm", 0, "clean", samples)
    fitted("toy", "svm", 0, "clean", Samples(samples.X_train + 1, samples.y_train, *[samples.X_test] * 2, 4))
    assert len(list(tmp_path.glob("toy-svm-*.joblib"))) == 2


def test_names_of_no_black_box_are_refused(samples):
    with pytest.raises(ValueError, match="there are xgb"):
        fitted("toy", "tree", 0, "clean", samples)

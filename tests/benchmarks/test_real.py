import os

import numpy as np
import pandas as pd
import pytest
from benchmarks.data import real
from benchmarks.data.problem import Encoding, split

from benchmarks import data

needs_data = pytest.mark.skipif(
    not os.environ.get("ILLUME_DATA"), reason="ILLUME_DATA does not name the folder of data sets"
)
# rows, encoded columns, one-hot ones, classes, shares of the largest and smallest class, as printed
PAPER = {
    "aids": (2139, 36, 26, 2, 0.756, 0.244), "austr": (690, 46, 40, 2, 0.555, 0.445),
    "bank": (4119, 63, 53, 2, 0.891, 0.109), "breast": (569, 30, 0, 2, 0.627, 0.373),
    "churn": (3333, 71, 55, 2, 0.855, 0.145), "compas": (7214, 20, 13, 2, 0.723, 0.277),
    "ctg": (2126, 56, 33, 3, 0.778, 0.083), "diabetes": (768, 8, 0, 2, 0.651, 0.349),
    "ecoli": (336, 7, 0, 8, 0.426, 0.006), "fico": (10459, 23, 0, 2, 0.522, 0.478),
    "german": (1000, 61, 54, 2, 0.700, 0.300), "home": (492, 7, 0, 2, 0.545, 0.455),
    "ionos": (351, 34, 0, 2, 0.641, 0.359), "sonar": (208, 60, 0, 2, 0.534, 0.466),
    "spam": (4601, 57, 0, 2, 0.606, 0.394), "titanic": (891, 9, 5, 2, 0.616, 0.384),
    "wine": (6497, 11, 0, 7, 0.437, 0.001), "yeast": (1484, 8, 0, 10, 0.312, 0.003),
}  # fmt: skip


@pytest.fixture
def frame():
    jobs = pd.Categorical(["clerk", "cook", "clerk"], categories=["clerk", "cook", "smith"])
    return pd.DataFrame({"age": [20.0, 30.0, 40.0], "job": jobs, "flat": [1.0, 1.0, 1.0]})


def test_numbers_are_scaled_and_categories_get_a_column_each(frame):
    encoding = Encoding.fit(frame)
    assert encoding.columns == ("age", "job = clerk", "job = cook", "job = smith", "flat")
    np.testing.assert_array_equal(encoding.owner, [0, 1, 1, 1, 2])
    np.testing.assert_array_equal(encoding.onehot, [False, True, True, True, False])
    X = encoding.transform(frame)
    r = np.sqrt(1.5)
    np.testing.assert_allclose(X, [[-r, 1, 0, 0, 0], [0, 0, 1, 0, 0], [r, 1, 0, 0, 0]])
    pd.testing.assert_frame_equal(encoding.inverse(X), frame)


def test_text_is_encoded_like_categories_and_what_is_not_known_is_zero(frame):
    encoding = Encoding.fit(frame)
    text = frame.assign(job=["clerk", "cook", "baker"])
    np.testing.assert_array_equal(encoding.transform(text)[:, 1:4], [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_the_likeliest_category_is_taken_back(frame):
    encoding = Encoding.fit(frame)
    assert encoding.inverse(np.array([[0.0, 0.2, 0.1, 0.7, 0.0]]))["job"].tolist() == ["smith"]


def test_gaps_are_filled_from_training_rows_alone():
    words = pd.Categorical(["a", "b", "b", None], categories=["a", "b"])
    train = pd.DataFrame({"x": [1.0, 3.0, np.nan, 2.0], "stay": [0.0, 0.0, 5.0, 7.0], "word": words})
    test = train.iloc[[2, 3]].assign(x=[np.nan, 100.0], stay=[np.nan, 1.0])
    filled = real.filled(train, test, ("stay",))
    assert filled[0]["x"].tolist() == [1.0, 3.0, 2.0, 2.0]
    assert filled[1]["x"].tolist() == [2.0, 100.0]
    assert filled[1]["stay"].tolist() == [0.0, 1.0]
    assert filled[0]["word"].tolist() == ["a", "b", "b", "b"]


def test_a_class_of_one_row_is_for_training():
    y = np.array([0] * 20 + [1] * 20 + [2])
    train, test = split(y, 0.2, 0)
    assert 40 in train
    assert sorted([*train, *test]) == list(range(41))
    np.testing.assert_array_equal(np.bincount(y[test]), [4, 4])


def test_names_are_safe_and_apart():
    assert real._safe(["Int'l Plan", "a b", "a-b", "b", "B"]) == ["Int_l_Plan", "a_b_1", "a_b_2", "b", "B"]


def test_without_the_folder_one_is_told_to_name_it(monkeypatch):
    monkeypatch.delenv("ILLUME_DATA", raising=False)
    with pytest.raises(SystemExit, match="ILLUME_DATA"):
        data.problem("breast", "xgb", 0, "clean")


@needs_data
@pytest.mark.parametrize("name", data.REAL)
def test_data_sets_have_the_shapes_of_the_papers_table(name):
    frame, y, classes = real.table(name)
    rows = split(y, 0.2, 0)
    train, test = real.filled(*(frame.iloc[part] for part in rows), real.FILLED_WITH_MODE.get(name, ()))
    encoding = Encoding.fit(train)
    counts = np.bincount(y)
    n, m, h, c, most, least = PAPER[name]
    assert (len(frame), len(encoding.columns), encoding.onehot.sum(), len(classes)) == (n, m, h, c)
    assert (counts.max() / n, counts.min() / n) == pytest.approx((most, least), abs=0.00051)
    X = encoding.transform(test)
    assert np.isfinite(X).all()
    pd.testing.assert_frame_equal(encoding.inverse(X), test, check_exact=False)
    features = encoding.owner[encoding.onehot]
    sums = [X[:, encoding.owner == feature].sum(axis=1) for feature in np.unique(features)]
    assert all(np.array_equal(total, np.ones(len(X))) for total in sums)


@needs_data
def test_a_real_problem_is_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    problem = data.problem("ecoli", "forest", 0, "clean")
    assert problem.truth is None
    assert problem.P_test.shape == (len(problem.test), 8)
    assert list(problem.frame_model.classes_) == sorted(problem.classes)
    np.testing.assert_array_equal(problem.frame_model.predict_proba(problem.test), problem.P_test)


@needs_data
def test_rankings_carry_their_reference(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    problem = data.problem("int2-3c", "forest", 1, "paper")
    assert problem.truth.kind == "ranking"
    np.testing.assert_array_equal(problem.truth.reference, [3, 3, 1, 0])
    assert (len(problem.train), len(problem.test), problem.X_train.shape[1]) == (800, 200, 4)

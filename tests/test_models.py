"""Black boxes of the libraries people use, asked with their own kind of frame."""

import numpy as np
import pandas as pd
import pytest
import torch

from illume import Explainer
from tests.common import FAST, grouped, loans


@pytest.fixture(scope="module")
def rows():
    frame = loans(200)
    y = (frame["income"].fillna(30) + 10 * (frame["education"] == "high") > 32).astype(int)
    return frame.assign(education=frame["education"].astype("category")), y


def explained(model, frame):
    attributions = Explainer(model, **grouped(n_latents=2, queries=200, training=FAST)).fit(frame)(frame)
    assert np.isfinite(attributions.values).all()
    assert attributions.agreed.mean() > 0.6
    return attributions


@pytest.mark.filterwarnings("ignore")
def test_xgboost_with_native_categories(rows):
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=10, enable_categorical=True, n_jobs=1).fit(*rows)
    attributions = explained(model, rows[0])
    np.testing.assert_allclose(attributions.probabilities, model.predict_proba(rows[0]))


@pytest.mark.filterwarnings("ignore")
def test_lightgbm_with_native_categories(rows):
    from lightgbm import LGBMClassifier

    explained(LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1).fit(*rows), rows[0])


@pytest.mark.filterwarnings("ignore")
def test_catboost_with_native_categories(rows, tmp_path):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=10, cat_features=["education"], verbose=False, thread_count=1, train_dir=str(tmp_path)
    )
    attributions = explained(model.fit(rows[0], np.where(rows[1], "good", "bad")), rows[0])
    assert attributions.class_names == ("bad", "good")


def test_a_torch_module_through_a_callable():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    def model(array):
        return net(torch.tensor(array, dtype=torch.float32)).softmax(1)

    X = np.random.default_rng(0).normal(size=(200, 3)) * 4
    assert explained(model, X).values.shape == (200, 3, 3)


def test_a_pipeline_keeps_its_class_names(loan_model, loan_frame):
    assert explained(loan_model, loan_frame).class_names == ("grant", "refuse")


def test_numpy_rows_of_mixed_types(rows):
    def model(array):
        assert isinstance(array, np.ndarray)
        return np.where(array[:, 3] == "high", 0.8, 0.3) + 0.001 * array[:, 0].astype(float)

    assert explained(model, rows[0].astype(object).to_numpy()).feature_names == ("x0", "x1", "x2", "x3")


def test_the_callable_sees_the_original_frame_with_its_types(rows):
    seen = []

    def model(frame):
        seen.append(frame.dtypes)
        return np.where(frame["education"] == "high", 0.8, 0.2)

    explained(model, rows[0])
    for dtypes in seen:
        pd.testing.assert_series_equal(dtypes, rows[0].dtypes)

"""Contributions that are read from the model: whether they are exact, and how fast they are, beside peers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data.real import REAL, table
from benchmarks.harness import Cell, Line, choose
from illume import Explainer
from illume._typing import FloatArray, IntArray
from illume.errors import TwinError

MODELS = (
    "xgboost", "xgboost+native-categories", "xgboost+one-hot", "lightgbm", "lightgbm+native-categories",
    "lightgbm+one-hot", "catboost", "boosting", "histograms", "histograms+native-categories", "forest",
    "extra-trees", "tree", "logistic+one-hot", "ridge+one-hot", "xgboost+a-number",
)  # fmt: skip
MOST_ROWS, BACKGROUND, COMPARED, ENUMERATED = 5_000, 100, 20, 8


def make_model(name: str, X: pd.DataFrame) -> Any:
    """Return an unfitted model of a kind, with the steps that it needs before it."""
    import catboost
    import lightgbm
    import xgboost
    from sklearn import ensemble, linear_model, tree
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    kind, _, how = name.partition("+")
    kinds: dict[str, Callable[[], Any]] = {
        "xgboost": lambda: getattr(xgboost, "XGBRegressor" if how == "a-number" else "XGBClassifier")(
            n_estimators=100, n_jobs=2, enable_categorical=how == "native-categories"
        ),
        "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=100, n_jobs=2, verbose=-1),
        "catboost": lambda: catboost.CatBoostClassifier(iterations=100, verbose=0, allow_writing_files=False),
        "boosting": lambda: ensemble.GradientBoostingClassifier(random_state=0),
        "histograms": lambda: ensemble.HistGradientBoostingClassifier(
            random_state=0, categorical_features="from_dtype"
        ),
        "forest": lambda: ensemble.RandomForestClassifier(50, max_depth=8, random_state=0),
        "extra-trees": lambda: ensemble.ExtraTreesClassifier(50, max_depth=8, random_state=0),
        "tree": lambda: tree.DecisionTreeClassifier(max_depth=8, random_state=0),
        "logistic": lambda: linear_model.LogisticRegression(max_iter=500),
        "ridge": lambda: linear_model.Ridge(),
    }
    model = kinds[kind]()
    if how == "native-categories":
        return model
    text = list(X.select_dtypes(exclude="number"))
    numbers: Any = "passthrough"
    if kind in ("boosting", "logistic", "ridge"):
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
    coder: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if kind == "boosting":
        coder = make_pipeline(coder, SimpleImputer())
    if how == "one-hot":
        coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((coder, text), remainder=numbers), model)


def exact(data: tuple[str, ...] = (), models: tuple[str, ...] = ()) -> Iterator[Cell]:
    """Compare contributions with the model, with shap, and with enumeration of sets of features."""
    for name in choose(REAL, data, "data set"):
        for kind in choose(MODELS, models, "model"):
            yield Cell({"data": name, "model": kind}, lambda name=name, kind=kind: measure(name, kind))


def measure(name: str, kind: str) -> Line:
    """Fit a model and an explainer on a data set, and measure by how much contributions are off."""
    X, y, _ = table(name)
    X, y = X.head(MOST_ROWS), y[: len(X.head(MOST_ROWS))]
    y = np.unique(y, return_inverse=True)[1]
    if kind in {"ridge+one-hot", "xgboost+a-number"}:
        y = y + X.select_dtypes("number").rank(pct=True).mean(axis=1).fillna(0).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_model(kind, X).fit(X, y)
        start = time.perf_counter()
        try:
            explainer = Explainer(model, twin="exact", background=X.head(BACKGROUND), verbose=False).fit(X)
        except TwinError as error:
            return {"exact": False, "reason": str(error)}
        found = explainer(X.head(1))
        first = time.perf_counter() - start
        start = time.perf_counter()
        found = explainer(X)
        rate = len(X) / (time.perf_counter() - start)
        off, size = _off_scores(model, X, found)
        return {
            "exact": True,
            "off_score": off,
            "largest_score": size,
            "off_shap": _off_shap(model, kind, X, explainer),
            "off_enumeration": _off_enumeration(model, X, explainer),
            "fit_and_first_row_seconds": first,
            "rows_per_second": rate,
            "n_rows": len(X),
        }


def model_scores(model: Any, X: pd.DataFrame, scale: str) -> FloatArray:
    """Return the model's own scores (n, s) from its answers, in double precision; of XGBoost its margins.

    XGBoost's probabilities have single precision, of which little is left in the logarithm near 1.
    """
    steps, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)
    if hasattr(last, "get_booster") and scale == "log-odds":
        rows = X if steps is None else steps.transform(X)
        margins = np.asarray(last.predict(rows, output_margin=True), dtype=np.float64).reshape(len(X), -1)
        return margins if margins.shape[1] == 1 else margins - margins.mean(1, keepdims=True)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64).reshape(len(X), -1)
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    if scale == "probability":
        return P[:, 1:] if P.shape[1] == 2 else P
    with np.errstate(divide="ignore"):
        logs = np.log(P)
    return logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)


def _off_scores(model: Any, X: pd.DataFrame, found: Any) -> tuple[float, float]:
    """Return by how much contributions miss the answers that the scores stand for, and the largest score."""
    scores = found.scores.reshape(len(X), -1)
    outputs = found.outputs
    P = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X).reshape(len(X), -1)
    return float(np.abs(outputs.answers_of(scores) - P).max()), float(np.abs(scores).max())


def _off_shap(model: Any, kind: str, X: pd.DataFrame, explainer: Any) -> float | None:
    """Return the largest difference to shap's values of the model's columns, gathered to features.

    shap rounds rows to single precision; so are these, for both.
    """
    import shap

    steps, last = (model[:-1], model[-1]) if hasattr(model, "steps") else (None, model)
    if "native" in kind or kind.startswith(("logistic", "ridge")) or len(explainer.class_names_) > 2:
        return None
    numbers = X.select_dtypes("float").columns
    X = X.assign(**X[numbers].astype(np.float32).astype(np.float64))
    rows, background = (
        np.asarray(steps.transform(each), float) for each in (X.head(COMPARED), X.head(BACKGROUND))
    )
    if "one-hot" in kind:
        return None
    try:
        tree = shap.TreeExplainer(last, background, feature_perturbation="interventional")
        values = np.asarray(tree.shap_values(rows, check_additivity=False))
    except Exception:  # shap does not take every model
        return None
    values = values[..., 1] if values.ndim == 3 else values
    owner = [X.columns.get_loc(name.split("__", 1)[1]) for name in steps.get_feature_names_out()]
    gathered = np.zeros((len(rows), X.shape[1]))
    np.add.at(gathered.T, owner, values.T)
    found = explainer(X.head(COMPARED), background=X.head(BACKGROUND))
    return float(np.abs(found.values - gathered).max())


def _off_enumeration(model: Any, X: pd.DataFrame, explainer: Any) -> float | None:
    """Return the largest difference to values from all sets of features, of a game with few of them.

    The row differs from its background, copies of another row, in a few features alone.
    """
    rng = np.random.default_rng(0)
    m = min(ENUMERATED, X.shape[1])
    players: IntArray = np.sort(rng.permutation(X.shape[1])[:m])
    one, other = (int(i) for i in rng.permutation(len(X))[:2])
    sets = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(bool)
    made = X.iloc[[other] * len(sets)].reset_index(drop=True)
    for k, j in enumerate(players):
        column = made.iloc[:, j].copy()
        column[sets[:, k]] = X.iloc[one, j]
        made.isetitem(j, column.astype(X.dtypes.iloc[j]))
    scale = explainer.fitted_.outputs.scale_name
    scores = model_scores(model, made, scale)
    if not np.isfinite(scores).all():
        return None
    row, background = made.iloc[[-1]], X.iloc[[other]]
    values = explainer(row, background=background).values.reshape(1, X.shape[1], -1)[0, players]
    from math import factorial

    size = sets.sum(1)
    wanted = np.zeros((m, scores.shape[1]))
    for k in range(m):
        without = np.flatnonzero(~sets[:, k])
        weight = np.array([factorial(s) * factorial(m - s - 1) / factorial(m) for s in size[without]])
        wanted[k] = weight @ (scores[without | (1 << k)] - scores[without])
    return float(np.abs(values - wanted).max())


def exact_speed(rows: int = 50_000, background: int = 5_000, explained: int = 16_384) -> Iterator[Cell]:
    """Time LightGBM of 300 trees of depth 8 on 30 columns beside shap and woodelf, and adult one-hot."""
    settings = {"rows": rows, "background": background, "explained": explained}
    yield Cell(
        {"case": "lightgbm 300 x depth 8"} | settings, lambda: _time_boosted(rows, background, explained)
    )
    yield Cell({"case": "adult, one-hot"} | settings, lambda: _time_adult(background, explained))


def _time_boosted(rows: int, background: int, explained: int) -> Line:
    import lightgbm
    from sklearn.datasets import make_classification

    values, y = make_classification(rows, 30, n_informative=12, random_state=0)
    X = pd.DataFrame(values, columns=[f"f{j}" for j in range(30)])
    model = lightgbm.LGBMClassifier(n_estimators=300, max_depth=8, n_jobs=2, verbose=-1).fit(X, y)
    return _time(model, X, model, X, background, explained)


def _time_adult(background: int, explained: int) -> Line:
    import lightgbm

    X, y, _ = table("adult")
    model = make_model("lightgbm+one-hot", X)
    model.steps[-1] = ("model", lightgbm.LGBMClassifier(n_estimators=300, max_depth=8, n_jobs=2, verbose=-1))
    model.fit(X, y)
    return _time(
        model, X, model[-1], pd.DataFrame(np.asarray(model[:-1].transform(X))), background, explained
    )


def _time(model: Any, X: pd.DataFrame, last: Any, columns: pd.DataFrame, n: int, explained: int) -> Line:
    """Time illume on the model and shap and woodelf on its last step, one after the other."""
    import shap

    found: Line = {}
    start = time.perf_counter()
    explainer = Explainer(model, verbose=False).fit(X)
    found["illume_fit_seconds"] = time.perf_counter() - start
    explainer(X.head(1))
    found["illume_first_row_seconds"] = time.perf_counter() - start
    found["exact"] = explainer.quality_.exact
    found["tables_mb"] = explainer.fitted_.twin.bytes / 1e6
    some = X.head(explained)
    found["illume_rows_per_second"] = _rate(lambda: explainer(some), len(some))
    start = time.perf_counter()
    tree = shap.TreeExplainer(last, columns.head(100), feature_perturbation="interventional")
    tree.shap_values(columns.head(1), check_additivity=False)
    found["shap_first_row_seconds"] = time.perf_counter() - start
    start = time.perf_counter()
    same = shap.TreeExplainer(last, columns.sample(n, random_state=0), feature_perturbation="interventional")
    same.shap_values(columns.head(1), check_additivity=False)
    found["shap_first_row_seconds_same_background"] = time.perf_counter() - start
    few = columns.head(200)
    found["shap_rows_per_second"] = _rate(lambda: tree.shap_values(few, check_additivity=False), len(few))
    try:
        from woodelf.explainer import WoodelfExplainer

        wood = WoodelfExplainer(last, columns.sample(n, random_state=0))
        some = columns.head(10_000)
        found["woodelf_rows_per_second"] = _rate(lambda: wood.shap_values(some), len(some))
    except Exception as error:  # the peer may not take a model
        found["woodelf"] = f"{type(error).__name__}: {error}"[:200]
    return found


def _rate(work: Callable[[], Any], n: int) -> float:
    start = time.perf_counter()
    work()
    return n / (time.perf_counter() - start)

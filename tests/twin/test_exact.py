import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import illume
from illume import DataOptions, Explainer
from illume.errors import TwinError, TwinWarning
from tests.twin.enumerate_games import game, interactions, shapley

N = 400
rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"a": rng.normal(size=N), "b": rng.exponential(size=N), "d": rng.integers(0, 9, N)})
MISSING = NUMBERS.assign(a=NUMBERS["a"].where(rng.random(N) > 0.1))
MIXED = MISSING.assign(c=rng.choice(list("uvwx"), N), e=rng.choice(["k", "l"], N))
CATEGORIES = MIXED.astype({"c": "category", "e": "category"})
TWO = ((MIXED["a"].fillna(1) * (MIXED["b"] - 1) > 0) ^ (MIXED["c"] == "u") | (MIXED["d"] > 7)).to_numpy(int)
THREE = TWO + (NUMBERS["b"] > 1.5).to_numpy(int)
NUMBER = (TWO + NUMBERS["b"] * NUMBERS["d"]).to_numpy()


def lgb(kind="Classifier", **options):
    return getattr(lightgbm, f"LGBM{kind}")(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1, **options)


def xgb(kind="Classifier", **options):
    return getattr(xgboost, f"XGB{kind}")(n_estimators=8, max_depth=4, n_jobs=1, **options)


def encoded(*steps):
    onehot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = make_column_transformer((onehot, ["c", "e"]), remainder=StandardScaler())
    return make_pipeline(prepare, *steps)


ANY_STEPS = make_column_transformer(
    (OrdinalEncoder(), ["c", "e"]),
    (make_pipeline(SimpleImputer(add_indicator=True), QuantileTransformer(n_quantiles=20)), ["a"]),
    (FunctionTransformer(np.log1p), ["b"]),
    (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ["d"]),
)
boosted = {"max_iter": 8, "random_state": 0}
MODELS = {
    "xgboost": (xgb(), MISSING, TWO),
    "xgboost, categories": (xgb(enable_categorical=True), CATEGORIES, TWO),
    "xgboost, three classes": (xgb(enable_categorical=True), CATEGORIES, THREE),
    "xgboost, a number": (xgb("Regressor", base_score=3.0), MISSING, NUMBER),
    "lightgbm": (lgb(), MISSING, TWO),
    "lightgbm, categories": (lgb(min_data_per_group=5), CATEGORIES, TWO),
    "lightgbm, three classes": (lgb(), CATEGORIES, THREE),
    "lightgbm, a number": (lgb("Regressor"), MISSING, NUMBER),
    "catboost": (CatBoostClassifier(iterations=8, verbose=0, allow_writing_files=False), MISSING, TWO),
    "catboost, three classes": (
        CatBoostClassifier(iterations=8, verbose=0, allow_writing_files=False),
        MISSING,
        THREE,
    ),
    "catboost, a number": (
        CatBoostRegressor(iterations=8, verbose=0, allow_writing_files=False),
        MISSING,
        NUMBER,
    ),
    "histograms": (HistGradientBoostingClassifier(**boosted), MISSING, TWO),
    "histograms, categories": (
        HistGradientBoostingClassifier(categorical_features="from_dtype", **boosted),
        CATEGORIES,
        THREE,
    ),
    "histograms, a number": (HistGradientBoostingRegressor(**boosted), MISSING, NUMBER),
    "boosting": (GradientBoostingClassifier(n_estimators=8, random_state=0), NUMBERS, TWO),
    "boosting, three classes": (GradientBoostingClassifier(n_estimators=8, random_state=0), NUMBERS, THREE),
    "boosting, a number": (GradientBoostingRegressor(n_estimators=8, random_state=0), NUMBERS, NUMBER),
    "forest": (RandomForestClassifier(8, max_depth=5, random_state=0), MISSING, TWO),
    "forest, three classes": (RandomForestClassifier(8, max_depth=5, random_state=0), NUMBERS, THREE),
    "forest, deep": (RandomForestRegressor(3, random_state=0), NUMBERS, NUMBER),
    "extra trees": (ExtraTreesRegressor(8, max_depth=5, random_state=0), NUMBERS, NUMBER),
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), NUMBERS, TWO),
    "logistic": (LogisticRegression(), NUMBERS, TWO),
    "logistic, three classes": (LogisticRegression(), NUMBERS, THREE),
    "linear": (LinearRegression(), NUMBERS, NUMBER),
    "onehot, lightgbm": (encoded(lgb()), MIXED, TWO),
    "onehot, xgboost": (encoded(xgb()), MIXED, TWO),
    "onehot, ridge": (encoded(SimpleImputer(), Ridge()), MIXED, NUMBER),
    "any steps, forest": (
        make_pipeline(ANY_STEPS, RandomForestClassifier(8, max_depth=5, random_state=0)),
        MIXED,
        TWO,
    ),
    "waves, xgboost": (make_pipeline(FunctionTransformer(lambda x: np.sin(3 * x)), xgb()), NUMBERS, TWO),
    "array": (xgb(), NUMBERS.to_numpy(), TWO),
}
SINGLE = 2e-5  # of XGBoost's sums in single precision


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    model, X, y = MODELS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.fit(X, y)
        explainer = Explainer(model, background=X[:40], random_state=0).fit(X)
    return request.param, model, X, explainer


def raw_scores(model, X, explainer):
    """Return the model's own scores (n, s), on the scale on which it adds up."""
    outputs = explainer.fitted_.outputs
    P = model.predict(X) if outputs.task == "regression" else model.predict_proba(X)
    P = np.asarray(P, dtype=float)
    if outputs.task == "regression":
        return P.reshape(len(P), -1)
    if outputs.scale == "probability":
        return P[:, 1:] if P.shape[1] == 2 else P
    logs = np.log(P)
    return logs[:, 1:] - logs[:, :1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)


def test_interactions_do_not_ask_a_model_that_was_read(case):
    _, _, X, explainer = case
    before = explainer.fitted_.black_box.n_asked
    explainer.interactions(X[:5])
    assert explainer.fitted_.black_box.n_asked == before


def test_contributions_add_up_to_the_models_own_scores(case):
    name, model, X, explainer = case
    found = explainer(X)
    assert explainer.quality_.word == "exact"
    scores = raw_scores(model, X, explainer)
    tolerance = SINGLE if "xgb" in name or "array" in name else 1e-9
    np.testing.assert_allclose(found.scores.reshape(scores.shape), scores, atol=tolerance, rtol=tolerance)
    assert (found.standard_errors == 0).all()
    assert set(found.trust.level) == {"exact"}


def test_values_are_those_of_all_sets_of_features(case):
    name, model, X, explainer = case
    rows, m = slice(60, 63), X.shape[1]
    background = X[:40]

    def take(i, S):
        made = background.copy()
        for j in S:
            if isinstance(X, np.ndarray):
                made[:, j] = X[60 + i, j]
            else:
                made.isetitem(j, pd.Series([X.iloc[60 + i, j]] * 40, dtype=X.dtypes.iloc[j]).array)
        return made

    played = game(lambda rows: raw_scores(model, rows, explainer), X[rows], background, m, take)
    values = explainer(X[rows]).values.reshape(3, m, -1)
    tolerance = SINGLE if "xgb" in name or "array" in name else 1e-9
    wanted = np.array([shapley(each, m) for each in played])
    np.testing.assert_allclose(values, wanted, atol=tolerance, rtol=tolerance)
    pairs = explainer.interactions(X[rows]).values.reshape(3, m, m, -1)
    wanted = np.array([interactions(each, m) for each in played]) / 2
    off = ~np.eye(m, dtype=bool)
    np.testing.assert_allclose(pairs[:, off], wanted[:, off], atol=10 * tolerance)
    np.testing.assert_allclose(pairs.sum(2), values, atol=tolerance)


def test_a_row_gets_the_same_values_alone_and_in_any_batch(case):
    _, _, X, explainer = case
    whole = explainer(X)
    for rows in (slice(5, 6), slice(0, 30), slice(100, 400)):
        np.testing.assert_array_equal(explainer(X[rows]).values, whole[rows].values)


def test_a_file_gives_the_same_values_with_rows_and_without(case, tmp_path):
    _, model, X, explainer = case
    whole = explainer(X)
    for rows in (20_000, "none"):
        explainer.save(tmp_path / "e.illume", rows=rows)
        for loaded in (illume.load(tmp_path / "e.illume"), illume.load(tmp_path / "e.illume", model)):
            found = loaded(X)
            np.testing.assert_array_equal(found.values, whole.values)
            np.testing.assert_allclose(found.predictions, whole.predictions, rtol=1e-4, atol=1e-5)


def test_another_background_gives_what_a_fit_with_it_gives(case):
    name, model, X, explainer = case
    if name in ("lightgbm", "onehot, ridge", "forest, three classes"):
        other = Explainer(model, background=X[50:75]).fit(X)
        found = explainer(X[:9], background=X[50:75])
        np.testing.assert_array_equal(found.values, other(X[:9]).values)
        np.testing.assert_array_equal(found.base_values, other(X[:9]).base_values)


@pytest.mark.parametrize("native", [False, True], ids=["sklearn", "Booster"])
def test_trees_up_to_the_best_iteration_keep_their_categories(native):
    model = xgb(enable_categorical=True, early_stopping_rounds=1)
    model.fit(CATEGORIES, TWO, eval_set=[(CATEGORIES, rng.permutation(TWO))], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    explainer = Explainer(model.get_booster() if native else model, twin="exact").fit(CATEGORIES)
    found = explainer(CATEGORIES)
    np.testing.assert_allclose(found.predictions[:, 1], model.predict_proba(CATEGORIES)[:, 1], atol=1e-6)


def test_a_booster_that_answers_with_labels_is_explained_by_its_probabilities():
    options = {"objective": "multi:softmax", "num_class": 3, "nthread": 1}
    model = xgboost.train(options, xgboost.DMatrix(NUMBERS, THREE), num_boost_round=5)
    found = Explainer(model, twin="exact").fit(NUMBERS)(NUMBERS)
    assert (found.decisions == model.predict(xgboost.DMatrix(NUMBERS)).astype(int)).all()


def test_values_are_those_of_shap():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap
    for model, X, y in (MODELS["lightgbm"], MODELS["xgboost, a number"], MODELS["forest"]):
        model.fit(X, y)
        found = Explainer(model, background=X[:50]).fit(X)(X[100:110])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = shap.TreeExplainer(model, X[:50], feature_perturbation="interventional")
            wanted = np.asarray(tree.shap_values(X[100:110], check_additivity=False))
        wanted = wanted[..., 1] if wanted.ndim == 3 else wanted
        np.testing.assert_allclose(found.values, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "X", "y", "reason"),
    [
        (make_pipeline(FunctionTransformer(lambda x: x @ np.ones((3, 2))), xgb()), NUMBERS, TWO, "several"),
        (make_pipeline(FunctionTransformer(np.square), LogisticRegression()), NUMBERS, TWO, "curve"),
        (lgb("Regressor", linear_tree=True), NUMBERS, NUMBER, "linear models"),
        (lgb(zero_as_missing=True), NUMBERS, TWO, "differs from its answers"),
        (PoissonRegressor(), NUMBERS, TWO, r"not the sum itself; with DataOptions\(link='log'\), it is read"),
    ],
    ids=["sums of columns", "curves", "linear leaves", "zero as missing", "exponential"],
)
def test_models_that_cannot_be_read_are_refused_with_the_reason(model, X, y, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        with pytest.raises(TwinError, match=reason):
            Explainer(model, twin="exact").fit(X)


class Sly(lightgbm.LGBMClassifier):
    """Answers otherwise than its trees where two numbers are large."""

    def predict_proba(self, X, **options):
        P = super().predict_proba(X, **options)
        return np.where(((X["a"] > 0.5) & (X["b"] > 0.5)).to_numpy()[:, None], 0.5, P)


def test_what_was_read_is_never_trusted():
    model = Sly(n_estimators=5, verbose=-1, n_jobs=1).fit(MISSING, TWO)
    with pytest.raises(TwinError, match="differs from its answers"):
        Explainer(model, twin="exact").fit(MISSING)


class Rounding(xgboost.XGBRegressor):
    """Rounds numbers that are large beside their spread."""

    def predict(self, X, **options):
        return np.round(super().predict(X, **options))


class Cautious(xgboost.XGBClassifier):
    """Is never surer than 99.9995 %."""

    def predict_proba(self, X, **options):
        return np.clip(super().predict_proba(X, **options), 5e-6, 1 - 5e-6)


@pytest.mark.parametrize("kind", [Rounding, Cautious])
def test_answers_that_differ_by_more_than_rounding_are_not_read(kind):
    """Rounding moves the number by half its spread, caution some probabilities by less than 1e-5."""
    y = 100_000 + NUMBERS["a"] if kind is Rounding else TWO
    options = {"n_estimators": 50, "learning_rate": 1.0, "min_child_weight": 0, "reg_lambda": 0, "n_jobs": 1}
    own, model = (make(**options).fit(NUMBERS, y) for make in (kind.__mro__[1], kind))
    assert Explainer(own, twin="exact").fit(NUMBERS).quality_.exact
    with pytest.raises(TwinError, match="differs from its answers"):
        Explainer(model, twin="exact").fit(NUMBERS)


@pytest.mark.parametrize("last", [LogisticRegression(), lgb()], ids=repr)
def test_columns_that_only_rare_values_move_have_an_owner(last):
    X = NUMBERS.assign(c=np.where(np.arange(N) == 7, "rare", np.where(NUMBERS["a"] > 0, "up", "down")))
    X.loc[11, "b"] = np.nan
    prepare = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["c"]),
        (SimpleImputer(add_indicator=True), ["a", "b", "d"]),
    )
    model = make_pipeline(prepare, last).fit(X, TWO)
    assert Explainer(model, twin="exact").fit(X).quality_.exact


def test_answers_that_differ_from_what_was_read_are_told():
    model = lgb().fit(NUMBERS, TWO)
    explainer = Explainer(model).fit(NUMBERS)
    model.fit(NUMBERS, 1 - TWO)
    with pytest.warns(TwinWarning, match="answers differ from what was read"):
        explainer(NUMBERS[:20])


def test_models_add_up_on_their_own_scale():
    forest = Explainer(MODELS["forest"][0].fit(MISSING, TWO)).fit(MISSING)
    assert forest(MISSING).scale == "probability"
    assert "probability of '1'" in str(forest(MISSING)[0])
    np.testing.assert_allclose(forest(MISSING).scores, forest(MISSING).probabilities[:, 1], atol=1e-12)
    boosted = Explainer(lgb().fit(MISSING, TWO)).fit(MISSING)
    assert boosted(MISSING).scale == "log-odds"
    with pytest.raises(TwinError, match="adds up in log-odds"):
        Explainer(lgb().fit(MISSING, TWO), scale="probability", twin="exact").fit(MISSING)


def test_the_other_class_has_the_opposite_contributions_and_the_rest_of_the_probability():
    forest = Explainer(MODELS["forest"][0].fit(MISSING, TWO)).fit(MISSING)
    one, other = forest(MISSING), forest(MISSING, positive_class=0)
    np.testing.assert_allclose(other.values, -one.values)
    np.testing.assert_allclose(other.base_values, 1 - one.base_values)
    np.testing.assert_allclose(other.scores, other.probabilities[:, 0], atol=1e-12)


def test_a_link_explains_the_logarithm_of_a_number():
    model = PoissonRegressor().fit(NUMBERS, TWO)
    found = Explainer(model, data_options=DataOptions(link="log"), twin="exact").fit(NUMBERS)(NUMBERS)
    np.testing.assert_allclose(found.scores, np.log(model.predict(NUMBERS)))


def test_trees_that_are_one_leaf_only_move_the_base_value():
    rare = np.zeros(N, dtype=int)
    rare[:3] = 1
    rare[10:200] = 2
    model = xgb(min_child_weight=5).fit(NUMBERS, rare)
    explainer = Explainer(model, background=NUMBERS[:50]).fit(NUMBERS)
    assert explainer.quality_.exact
    np.testing.assert_allclose(explainer(NUMBERS).scores, raw_scores(model, NUMBERS, explainer), atol=SINGLE)


def test_features_that_no_node_tests_have_no_part():
    model = lgb().fit(NUMBERS.assign(zero=np.arange(N) % 2)[["a", "b", "d", "zero"]], (NUMBERS["a"] > 0))
    X = NUMBERS.assign(zero=np.arange(N) % 2)
    with pytest.warns(illume.errors.IgnoredColumnsWarning):
        explainer = Explainer(model).fit(X)
    assert "zero" in explainer.quality_.ignored
    assert (explainer(X).values[:, 3] == 0).all()


def test_refining_asks_nothing_where_values_are_exact():
    asked = []

    class Counting(lightgbm.LGBMClassifier):
        def predict_proba(self, X, **options):
            asked.append(len(X))
            return super().predict_proba(X, **options)

    explainer = Explainer(Counting(n_estimators=5, verbose=-1, n_jobs=1).fit(MISSING, TWO)).fit(MISSING)
    asked.clear()
    with pytest.warns(UserWarning, match="exact: refine=64 is not needed"):
        refined = explainer(MISSING, refine=64)
    assert sum(asked) == len(MISSING)
    np.testing.assert_array_equal(refined.values, explainer(MISSING).values)

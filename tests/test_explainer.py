import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from illume import Explainer, IdentityEncoder, LinearEncoder, MetaEncoder, Objective, Training
from illume.data.frames import as_frame
from illume.errors import IgnoredColumnsWarning
from illume.surrogates.base import scores
from tests.common import CHECKS, FAST, grouped, linear_black_box, loans

SETTINGS = {
    "pairs": {},
    "joint": {"objective": "joint"},
    "paper, attributions": {"objective": "co", "queries": 0},
    "paper, sparse": {"objective": Objective.preset("so")},
    "linear": {"encoder": "linear"},
    "identity": {"encoder": "identity"},
    "own surrogate": {"surrogate": LinearDiscriminantAnalysis()},
    "own encoder": {"encoder": LinearEncoder(2, training=FAST)},
}


def explainer_of(model, **settings):
    defaults = {"n_latents": 3, "queries": 300, "training": FAST, "contributions": "pullback"}
    return Explainer(model, **grouped(**defaults | settings))


@pytest.fixture(scope="module", params=["binary", "several"])
def problem(request, loan_model, loan_frame, three_class):
    if request.param == "binary":
        return loan_model, loan_frame, loans(40, seed=3)
    return three_class[0], three_class[1], three_class[1].sample(40, random_state=0)


@pytest.fixture(scope="module", params=SETTINGS.values(), ids=SETTINGS)
def fitted(request, problem):
    model, frame, rows = problem
    return explainer_of(model, **request.param).fit(frame), rows


def relative(found, expected, scale):
    return np.abs(found - expected).max() / np.abs(scale).max()


def test_base_and_values_add_up_to_the_surrogates_log_odds(fitted):
    explainer, rows = fitted
    attributions = explainer(rows)
    X = explainer.fitted_.encoding.transform(as_frame(rows)).X
    logits = scores(explainer.fitted_.pair.surrogate, explainer.fitted_.pair.encoder.transform(X))
    found = attributions.base_values + attributions.values.sum(1) + attributions.offset
    logits, agreed = logits[:, 0] if found.ndim == 1 else logits, attributions.agreed
    np.testing.assert_allclose(found[agreed], logits[agreed], rtol=1e-5, atol=1e-12)
    levels = getattr(explainer.fitted_.pair.encoder, "has_levels", False)
    assert attributions.offset[agreed].any() == levels  # the row's own level, which no feature holds


def test_refined_rows_add_up_to_the_log_odds_of_the_refined_latents(fitted):
    explainer, rows = fitted
    attributions = explainer(rows)
    assert attributions.faithful.all()
    refinement = attributions.refinement[attributions.refinement.refined]
    x_all = explainer.fitted_.encoding.transform(as_frame(rows)).X
    x = x_all[attributions.refinement.refined]
    near = np.searchsorted(explainer.fitted_.split.training, refinement.neighbour)
    x_near = explainer.fitted_.rows.training.X[near]
    encoder, surrogate = explainer.fitted_.pair.encoder, explainer.fitted_.pair.surrogate
    which, each = np.unique(near, return_inverse=True)
    X_near = explainer.fitted_.rows.training.X[which]
    theirs = encoder.encode(X_near)
    level = theirs.Z - (theirs.W @ X_near[:, :, None])[:, :, 0]
    w, g = refinement.gamma_w[:, None], refinement.gamma_x[:, None]
    under = lambda rows: (theirs.W[each] @ rows[:, :, None])[:, :, 0] + level[each]  # noqa: E731
    z = (
        (1 - w) * encoder.transform(x_all)[attributions.refinement.refined]
        + w * under(x)
        + g * (under(x_near) - under(x))
    )
    logits = scores(surrogate, z) if len(z) else np.empty((0, len(surrogate.coef_)))
    found = attributions.scores[attributions.refinement.refined]
    # Scores are small sums of large values, which may round by the place of a row in the batch.
    close = 1e-6 * np.abs(attributions.values).max()
    np.testing.assert_allclose(found, logits[:, 0] if found.ndim == 1 else logits, rtol=0, atol=close)
    assert (refinement.gamma_w + refinement.gamma_x > 0).all()


def test_a_row_alone_is_the_row_in_a_batch_and_in_shuffled_pieces(fitted):
    explainer, rows = fitted
    whole = explainer(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    for part in np.array_split(order, 5):
        piece = explainer(rows.iloc[part])
        assert relative(piece.values, whole.values[part], whole.values[part]) < 1e-5
        assert relative(piece.slopes, whole.slopes[part], whole.slopes[part]) < 1e-5
    alone = explainer(rows.iloc[[7]])
    assert relative(alone.values, whole.values[[7]], whole.values[[7]]) < 1e-5
    np.testing.assert_array_equal(alone.novelty.far, whole.novelty.far[[7]])


def test_two_fits_with_one_seed_are_identical(problem):
    model, frame, rows = problem
    a, b = (explainer_of(model, random_state=3).fit(frame)(rows) for _ in range(2))
    np.testing.assert_array_equal(a.values, b.values)
    np.testing.assert_array_equal(a.surrogate_probabilities, b.surrogate_probabilities)


def test_pickling_changes_nothing(fitted):
    explainer, rows = fitted
    again = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(again(rows).values, explainer(rows).values)
    assert repr(again.quality_) == repr(explainer.quality_)


def test_streaming_gives_the_same_in_pieces(loan_explainer):
    rows = loans(50, seed=4)
    pieces = list(loan_explainer.stream(rows, chunk_rows=20))
    assert [len(piece) for piece in pieces] == [20, 20, 10]
    whole = loan_explainer(rows).values
    assert relative(np.concatenate([piece.values for piece in pieces]), whole, whole) < 1e-5


def test_many_rows_go_through_in_chunks(loan_explainer, monkeypatch):
    rows = loans(50, seed=4)
    whole = loan_explainer(rows).values
    monkeypatch.setattr("illume.data.threads.in_chunks.__defaults__", (7, True))
    assert relative(loan_explainer(rows).values, whole, whole) < 1e-5


def test_column_order_extra_columns_and_frame_library_do_not_matter(loan_model, loan_explainer):
    rows = loans(20, seed=8)
    expected = loan_explainer(rows).values
    shuffled = rows.assign(extra="x")[["extra", "education", "owner", "income", "age"]]
    np.testing.assert_array_equal(loan_explainer(shuffled).values, expected)
    loan_explainer = pickle.loads(pickle.dumps(loan_explainer))
    loan_explainer.fitted_.black_box._ask = lambda frame: loan_model.predict_proba(frame.to_pandas())
    for other in (pl.from_pandas(rows), pa.Table.from_pandas(rows, preserve_index=False)):
        np.testing.assert_array_equal(loan_explainer(other).values, expected)


def test_quality_is_measured_on_report_rows_alone(problem):
    model, frame, _ = problem
    explainer = explainer_of(model).fit(frame)
    report = explainer(frame.iloc[explainer.fitted_.split.report])
    quality = explainer.quality_.surrogate
    assert quality.agreement == pytest.approx(report.agreed.mean())
    assert quality.report.n_rows == len(report)
    for c, part in enumerate(quality.classes):
        mine = report.decisions == c
        assert part.n_rows == mine.sum()
        if mine.any():
            assert part.agreement == pytest.approx(report.agreed[mine].mean())
    assert f"{len(report)} held-out rows" in repr(explainer.quality_)
    assert explainer.quality_.to_dict()["surrogate"]["report"]["agreement"] == quality.agreement


def test_report_rows_change_nothing_but_the_report(problem):
    """Answers of the black box on report rows may not reach the explanations."""
    model, frame, rows = problem
    first = explainer_of(model, twin="learned").fit(frame)
    report = first.fitted_.split.report
    names = model.classes_

    def texts(rows):
        return rows.map(str).agg("|".join, axis=1)

    class Otherwise:
        """The same model, but unsure on the report rows (same decisions, so the same split)."""

        classes_ = names

        def predict_proba(self, asked):
            P = model.predict_proba(asked)
            unsure = texts(asked).isin(texts(frame.iloc[report])).to_numpy()
            P[unsure] = 0.9 * P[unsure] + 0.1 * np.eye(P.shape[1])[P[unsure].argmax(1)]
            return P

    second = explainer_of(Otherwise(), twin="learned").fit(frame)
    np.testing.assert_array_equal(first(rows).values, second(rows).values)
    assert first.quality_.surrogate.r2 != second.quality_.surrogate.r2


def test_queries_are_capped_counted_and_can_be_switched_off(loan_model, loan_frame):
    asked = []

    def model(frame):
        asked.append(len(frame))
        return loan_model.predict_proba(frame)

    quality = explainer_of(model, queries=50).fit(loan_frame).quality_
    assert quality.n_queries == 50
    assert quality.n_asked == sum(asked) == 250 + CHECKS
    asked.clear()
    assert explainer_of(model, queries=0).fit(loan_frame).quality_.n_queries == 0
    assert sum(asked) == 200 + CHECKS
    many = explainer_of(model, queries=10**6, training=Training(batch_size=4096, max_epochs=1))
    assert many.fit(loan_frame).quality_.n_queries == 128 * 140


def test_where_the_local_surrogate_is_not_better_the_global_one_is_used_and_said():
    X = np.random.default_rng(0).normal(size=(300, 5))
    untrained = Training(batch_size=256, learning_rate=1e-9, max_epochs=1)
    explainer = explainer_of(linear_black_box([3, -2, 1, 0, 0]), training=untrained).fit(X)
    assert explainer.fit_latents().quality_.surrogate.fell_back
    assert isinstance(explainer.fitted_.pair.encoder, IdentityEncoder)
    assert "FELL BACK to the global surrogate" in repr(explainer.quality_)
    slopes = explainer(X[:5]).slopes
    assert (slopes == slopes[0]).all()


def test_a_local_black_box_is_explained_better_than_globally():
    X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))

    def model(rows):
        return 1 / (1 + np.exp(-8 * rows[:, 0] * rows[:, 1]))

    training = Training(batch_size=256, learning_rate=1e-2, max_epochs=15, patience=15, decay=True)
    explainer = explainer_of(model, n_latents=8, queries=3000, training=training, objective="joint").fit(X)
    quality = explainer.fit_latents().quality_.surrogate
    assert not quality.fell_back
    assert quality.agreement > 0.9
    assert quality.baseline.agreement < 0.7


def test_a_linear_black_box_is_recovered():
    X = np.random.default_rng(0).normal(loc=[0.5, -3, 0], scale=[1, 10, 2], size=(500, 3))
    explainer = explainer_of(linear_black_box([2, -0.3, 0]), encoder="identity").fit(X)
    attributions = explainer(X)
    np.testing.assert_allclose(attributions.slopes_per_unit[0], [2, -0.3, 0], atol=0.05)
    assert explainer.quality_.surrogate.agreement > 0.98


def test_a_surrogate_of_ones_own_is_used(loan_model, loan_frame):
    class Half:
        """The least a surrogate must be able to do."""

        def fit(self, Z, P):
            self.coef_, self.intercept_ = np.full((1, Z.shape[1]), 0.5), np.zeros(1)
            return self

        def answers(self, Z):
            q = 1 / (1 + np.exp(-Z.sum(1) / 2))
            return np.column_stack([1 - q, q])

    explainer = explainer_of(loan_model, encoder="identity", surrogate=Half()).fit(loan_frame)
    assert (explainer(loan_frame).slopes == 0.5).all()
    assert not explainer.quality_.surrogate.fell_back
    for objective in ("pairs", "co"):
        explainer = explainer_of(loan_model, objective=objective, surrogate=Half()).fit(loan_frame)
        assert (explainer.fitted_.pair.surrogate.coef_ == 0.5).all()


def test_scikit_learn_models_are_surrogates(loan_model, loan_frame):
    explainer = explainer_of(loan_model, objective="co", surrogate=LogisticRegression(C=0.1)).fit(loan_frame)
    assert explainer.fit_latents().quality_.surrogate.agreement > 0.5


def test_cloning_keeps_the_fitted_model_and_copies_the_rest(loan_explainer, loan_model):
    again = clone(loan_explainer)
    assert again.model is loan_model
    assert again.get_params()["surrogate_options"].n_latents == 3
    assert again.surrogate_options.training == FAST
    with pytest.raises(NotFittedError):
        again(loans(2))
    assert again.set_params(queries=7).queries == 7


def test_a_schema_by_hand_may_leave_columns_to_the_model_alone(loan_model, loan_frame):
    from illume import Schema

    schema = Schema.infer(loan_frame[["age", "income"]])
    explainer = explainer_of(loan_model, schema=schema).fit(loan_frame)
    assert explainer(loan_frame).feature_names == ("age", "income")


def test_a_schema_by_hand_names_the_columns_of_an_array():
    from illume import Feature, Kind, Schema

    X = np.random.default_rng(0).normal(size=(60, 2))
    schema = Schema((Feature("a", Kind.NUMERIC), Feature("b", Kind.NUMERIC)))
    explainer = explainer_of(linear_black_box([2, -1]), schema=schema).fit(X)
    assert explainer(X).feature_names == ("a", "b")
    part = Schema((Feature("x1", Kind.NUMERIC),))
    assert explainer_of(linear_black_box([2, -1]), schema=part).fit(X)(X).feature_names == ("x1",)


def test_an_encoder_of_ones_own_is_told_which_inputs_are_categories(loan_model, loan_frame):
    explainer = explainer_of(loan_model, encoder=MetaEncoder(2, training=FAST)).fit(loan_frame)
    if not explainer.fit_latents().quality_.surrogate.fell_back:
        assert explainer.fitted_.pair.encoder.onehot == [2, 3, 4, 5, 6]
    assert explainer.history_ is not None


def test_values_of_report_rows_do_not_reach_the_queries(loan_model, loan_frame):
    first = explainer_of(loan_model, twin="learned").fit(loan_frame)
    changed = loan_frame.copy()
    changed.loc[first.fitted_.split.report[0], "age"] = 10_000

    def blind(frame):
        return loan_model.predict_proba(frame.assign(age=frame["age"].clip(upper=80)))

    second = explainer_of(blind, twin="learned").fit(changed)
    np.testing.assert_array_equal(first.fitted_.split.training, second.fitted_.split.training)
    np.testing.assert_array_equal(first(loan_frame[:20]).values, second(loan_frame[:20]).values)


def test_columns_that_the_model_does_not_use_are_no_features(loan_model, loan_frame):
    X = loan_frame.assign(target=loan_model.predict(loan_frame), note="n")
    explainer = explainer_of(loan_model).fit(X)
    assert explainer(X).feature_names == ("age", "income", "owner", "education")


def test_codes_are_categories_by_declaration():
    X = pd.DataFrame({"code": np.arange(90) % 3, "x": np.linspace(-1, 1, 90)})

    def model(frame):
        return np.where(frame["code"] == 1, 0.9, 0.1) + 0.0

    explainer = explainer_of(model, categorical=["code"]).fit(X)
    assert explainer(X).input_names[:3] == ("code = 0", "code = 1", "code = 2")


def test_encoders_are_built_by_name(loan_model, loan_frame):
    explainer = explainer_of(loan_model, random_state=np.random.RandomState(0)).fit(loan_frame)
    assert explainer.fit_latents().quality_.surrogate.encoder in ("meta", "identity")
    assert isinstance(explainer.surrogate_options.encoder, str)
    assert MetaEncoder(2).n_latents == 2


def test_progress_is_silent_when_nobody_watches(loan_model, loan_frame, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IgnoredColumnsWarning)  # of a column that the model does not use
        explainer_of(loan_model, verbose=False).fit(loan_frame)
    assert capsys.readouterr().err == ""

"""What holds for the rules of every kind of explainer."""

import json
import pickle
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

from illume import Explainer, IdentityEncoder, Objective
from illume.data.frames import as_frame
from illume.encoders.base import Latent, PulledBack
from illume.fit import rule_trees
from tests.common import CLOSE, FAST, grouped, linear_black_box, loans

SETTINGS = {
    "shared": {},
    "paper": {"rule_objective": "so"},
    "own objective": {"rule_objective": Objective(lambda_g=1.0, alpha=2)},
    "linear": {"encoder": "linear"},
    "identity": {"encoder": "identity"},
    "own tree": {"tree": DecisionTreeClassifier(max_depth=3, random_state=0)},
    "index": {"search": "index"},
}
OPTIONS = {
    "polished": {},
    "raw": {"polish": False},
    "short": {"polish": False, "max_conditions": 2},
    "mild": {"precision": 0.7},
}


BRIEF = replace(FAST, max_epochs=3)


def explainer_of(model, **settings):
    """Return an explainer to fit; rules need no contributions, of which the paper's are the cheapest."""
    usual = {"n_latents": 3, "queries": 300, "training": BRIEF, "contributions": "pullback"}
    return Explainer(model, **grouped(**usual | settings))


@pytest.fixture(scope="module", params=["binary", "several"])
def problem(request, loan_model, loan_frame, three_class):
    if request.param == "binary":
        return loan_model, loan_frame, loans(12, seed=3)
    return three_class[0], three_class[1], three_class[1].sample(12, random_state=0)


@pytest.fixture(scope="module")
def fits():
    return {}


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request, problem, fits):
    """An explainer for each problem and setting, fitted once in whatever order pytest runs the parameters."""
    model, frame, rows = problem
    key = len(model.classes_), request.param
    if key not in fits:
        fits[key] = explainer_of(model, **SETTINGS[request.param]).fit(frame)
    return fits[key], rows


@pytest.fixture(scope="module", params=OPTIONS.values(), ids=OPTIONS)
def made(request, fitted):
    explainer, rows = fitted
    return explainer, rows, explainer.rules(rows, **request.param)


def satisfy_oblique_conditions(oblique, X):
    value = (oblique.weights @ X[:, :, None])[:, :, 0]
    return ((oblique.latent < 0) | ((value > oblique.low) & (value <= oblique.high))).all(1)


def test_a_row_satisfies_its_own_rule_in_every_form(made):
    explainer, rows, rules = made
    X = explainer.fitted_.encoding.transform(as_frame(rows)).X
    assert satisfy_oblique_conditions(rules.oblique, X)[rules.faithful].all()
    for i, rule in enumerate(rules):
        own = rows.iloc[[i]]
        assert rule.covers(own)[0], rule
        for condition in rule.box:
            assert condition.covers(as_frame(own))[0], condition


def test_every_point_of_the_sound_boxes_satisfies_the_rows_oblique_rule(fitted):
    explainer, rows = fitted
    rules, rng = explainer.rules(rows), np.random.default_rng(0)
    features, encoding = explainer.schema_.features, explainer.fitted_.encoding
    for _ in range(30):
        columns = {}
        for j, feature in enumerate(features):
            first, stop = rules.box.first[j : j + 2]
            if feature.numeric:
                low = np.maximum(rules.box.low[:, j], feature.low)
                high = np.minimum(rules.box.high[:, j], feature.high)
                columns[feature.name] = low + rng.random(len(rows)) * (np.maximum(high, low) - low)
            else:
                chance = rng.random((len(rows), stop - first)) * rules.box.allowed[:, first:stop]
                columns[feature.name] = np.array(feature.categories, dtype=object)[chance.argmax(1)]
        points = encoding.transform(as_frame(pd.DataFrame(columns))).X
        assert satisfy_oblique_conditions(rules.oblique, points).all()


def test_rules_are_for_the_black_boxs_decision_and_every_row_is_faithful(made):
    explainer, rows, rules = made
    assert [rule.decision for rule in rules] == explainer.model.predict(rows).tolist()
    assert rules.faithful.all()


def test_precision_and_coverage_are_what_the_rule_does_on_other_report_rows(made, problem):
    explainer, rows, rules = made
    model, frame, _ = problem
    report = frame.iloc[explainer.fitted_.split.report]
    for i, rule in enumerate(rules[:20]):
        itself = (report == rows.iloc[i]).all(axis=1)
        others = report[~(itself & (itself.cumsum() == 1))]  # at most one row is the row itself
        covered = rule.covers(others)
        assert rule.n_covered == covered.sum()
        assert rule.coverage == pytest.approx(covered.sum() / len(report))
        if covered.any():
            assert rule.precision == pytest.approx((model.predict(others)[covered] == rule.decision).mean())
            low, high = rule.precision_interval
            assert low <= rule.precision <= high
            assert ("below the wanted" in rule.measured) == (rule.precision < rules.wanted)
        else:
            assert np.isnan(rule.precision)
            assert "covers none" in repr(rule)


def test_no_condition_lies_outside_what_was_seen_and_whole_numbers_stay_whole(loan_explainer):
    rules = loan_explainer.rules(loans(100, seed=5))
    schema, bounds = loan_explainer.schema_, rules.bounds
    for j, feature in enumerate(schema.features):
        if not feature.numeric:
            continue
        low, high = bounds.low[:, j], bounds.high[:, j]
        assert (np.isinf(low) | (low > feature.low)).all()
        assert (np.isinf(high) | (high < feature.high)).all()
        if feature.whole:
            assert (low == np.round(low)).all()
            assert (high == np.round(high)).all()


def test_categories_are_named_and_never_split_into_columns(loan_explainer):
    texts = [rule.text for rule in loan_explainer.rules(loans(200, seed=6))]
    assert any("education = " in text or "education ≠ " in text for text in texts)
    assert not any("education_" in text for text in texts)


def test_sql_selects_exactly_the_covered_rows(made, problem):
    frame = problem[1].reset_index(drop=True)
    _, _, rules = made
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("rows", connection, index_label="id")
        for rule in rules[:15]:
            query = f"SELECT id FROM rows WHERE {rule.to_sql()} ORDER BY id"
            found = [row for (row,) in connection.execute(query)]
            assert found == np.flatnonzero(rule.covers(frame)).tolist()


def test_pieces_of_a_stream_are_the_whole(loan_explainer):
    rows = loans(25, seed=7)
    whole = [rule.text for rule in loan_explainer.rules(rows, precision=0.8)]
    pieces = loan_explainer.stream(rows, 10, kind="rules", precision=0.8)
    assert [rule.text for piece in pieces for rule in piece] == whole
    found = [len(piece) for piece in loan_explainer.stream(rows, 10, kind="counterfactuals", n=1)]
    assert found == [10, 10, 5]
    with pytest.raises(ValueError, match="kind must be 'attributions', 'latents'"):
        next(loan_explainer.stream(rows, kind="shap"))


def test_no_more_conditions_than_asked_for(fitted):
    explainer, rows = fitted
    for polish in (True, False):
        assert explainer.rules(rows, polish=polish, max_conditions=1).n_conditions.max() <= 1


def test_a_row_alone_gets_the_rule_it_has_in_the_batch(fitted):
    explainer, rows = fitted
    together = explainer.rules(rows)
    for i in (0, 7, 11):
        alone = explainer.rules(rows.iloc[[i]])
        np.testing.assert_allclose(alone.bounds.low[0], together.bounds.low[i], **CLOSE)
        np.testing.assert_allclose(alone.bounds.high[0], together.bounds.high[i], **CLOSE)
        np.testing.assert_array_equal(alone.bounds.allowed[0], together.bounds.allowed[i])
    shuffled = explainer.rules(rows.iloc[::-1])
    np.testing.assert_allclose(shuffled.bounds.low[::-1], together.bounds.low, **CLOSE)
    np.testing.assert_array_equal(shuffled.bounds.allowed[::-1], together.bounds.allowed)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_the_library_of_the_frame_does_not_matter(loan_frame, convert):
    def model(frame):
        frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
        return np.where(frame["income"].fillna(30) + 10 * (frame["education"] == "high") > 35, 0.9, 0.1)

    rows = loans(20, seed=8)
    pandas = explainer_of(model).fit(loan_frame).rules(rows)
    other = explainer_of(model).fit(convert(loan_frame)).rules(convert(rows))
    assert [rule.text for rule in pandas] == [rule.text for rule in other]
    assert other[0].covers(convert(rows)).tolist() == pandas[0].covers(rows).tolist()
    assert type(other.to_frame()) is type(convert(rows))


def test_results_go_into_frames_dictionaries_and_text(loan_explainer):
    rows = loans(12, seed=9).set_index(pd.Index([f"r{i}" for i in range(12)]))
    rules = loan_explainer.rules(rows)
    wide, long = rules.to_frame(), rules.to_frame("long")
    assert wide.index.tolist() == rows.index.tolist()
    assert wide["n_conditions"].tolist() == rules.n_conditions.tolist()
    assert len(long) == rules.n_conditions.sum()
    assert set(long["row"]) <= set(rows.index)
    assert json.loads(json.dumps(rules.to_dict()))[3]["text"] == rules[3].text
    assert "mean precision" in repr(rules)
    assert rules[0].text in repr(rules)
    assert "<b>" in rules[0]._repr_html_()
    with pytest.raises(ValueError, match="layout must be 'wide' or 'long'"):
        rules.to_frame("deep")
    assert len(rules[2:5]) == 3
    assert len(rules[np.zeros(12, dtype=bool)]) == 0
    assert "Rules of 0 rows" in repr(rules[:0])


def test_oblique_conditions_read_in_the_users_units(loan_explainer):
    rows = loans(10, seed=4)
    rules = loan_explainer.rules(rows, polish=False)
    encoding = loan_explainer.fitted_.encoding
    raw = encoding.transform(as_frame(rows)).X * encoding.scale + encoding.mean  # 0 and 1 for categories
    shown = 0
    for rule, x in zip(rules, raw, strict=True):
        for condition in rule.oblique:
            shown += 1
            assert condition.low < condition.weights @ x <= condition.high
            assert "·[" in str(condition)
            assert set(condition.to_dict()["weights"]) <= set(condition.inputs)
    assert shown


def test_never_below_the_tree_on_the_inputs(loan_model, loan_frame):
    explainer = explainer_of(loan_model).fit(loan_frame).fit_rules()
    model = explainer.fitted_.rule_model
    assert model.source in ("local", "global")
    assert "at equal coverage" in explainer.rule_quality_.reason
    assert isinstance(model.rules.encoder, IdentityEncoder) == (model.source == "global")
    alone = explainer_of(loan_model, encoder="identity").fit(loan_frame).fit_rules()
    assert alone.rule_quality_.source == "global"
    assert "only one tree" in alone.rule_quality_.reason


class ExactEncoder(BaseEstimator):
    """One latent: where a linear black box's log-odds grow, found by solving for them."""

    def fit(self, X, y=None, *, validation=None):
        logit = np.log(y[:, 1] / y[:, 0])
        weights = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), logit, rcond=None)[0][:-1]
        self.W_ = weights[None] / np.linalg.norm(weights)
        return self

    def encode(self, X):
        return Latent(np.broadcast_to(self.W_, (len(X), *self.W_.shape)), X @ self.W_.T)

    def transform(self, X):
        return X @ self.W_.T

    def pull_back(self, X, coef, at=None):
        there = X if at is None else at
        return PulledBack(np.broadcast_to(coef @ self.W_, (len(X), len(coef), X.shape[1])), there @ self.W_.T)


class ExactStump(BaseEstimator):
    """A tree of one question, asked exactly where the black box turns."""

    def fit(self, Z, P):
        slope, start = np.polyfit(Z[:, 0], np.log(P[:, 1] / P[:, 0]), 1)
        self.rising_ = slope > 0
        self.children_left_, self.children_right_ = np.array([1, -1, -1]), np.array([2, -1, -1])
        self.feature_, self.threshold_ = np.array([0, -2, -2]), np.array([-start / slope, 0.0, 0.0])
        return self

    def apply(self, Z):
        return np.where(Z[:, 0] <= self.threshold_[0], 1, 2)

    def answers(self, Z):
        return np.eye(2)[((self.apply(Z) == 2) == self.rising_).astype(int)]


@pytest.mark.parametrize("weights", [(2.0, 1.0), (2.0, -1.0), (-2.0, 1.0), (-2.0, -1.0)])
def test_rules_of_a_linear_model_end_where_the_model_turns(weights, monkeypatch):
    monkeypatch.setattr(rule_trees, "at_equal_coverage", lambda *_: (1.0, 0.0))  # no matter which is better
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * [10.0, 0.1] + [100.0, -3.0]
    slope = np.array(weights) / [10.0, 0.1]
    middle = np.array([101.0, -3.02])

    def black_box(rows):
        return 1 / (1 + np.exp(-(rows - middle) @ slope))

    explainer = explainer_of(black_box, encoder=ExactEncoder(), tree=ExactStump()).fit(X)
    rules = explainer.rules(X[:50], polish=False)
    assert rules.source == "local"
    for x, low, high in zip(X, rules.bounds.low, rules.bounds.high, strict=False):
        score = float((x - middle) @ slope)
        for j in (0, 1):
            crossing = x[j] - score / slope[j]  # in the user's own units, the other feature as it is
            seen = explainer.schema_.features[j]
            expected = [crossing] if seen.low < crossing < seen.high else []
            found, other = (low, high) if (score > 0) == (slope[j] > 0) else (high, low)
            assert [end for end in [found[j]] if np.isfinite(end)] == pytest.approx(expected, rel=1e-6)
            assert np.isinf(other[j])


def test_rules_survive_pickling_and_fitting_again_forgets_the_old_tree(loan_explainer, loan_frame):
    rows = loans(10, seed=2)
    before = [rule.text for rule in loan_explainer.rules(rows)]
    again = pickle.loads(pickle.dumps(loan_explainer))
    assert [rule.text for rule in again.rules(rows)] == before
    again.fit(loan_frame.head(100))
    assert not again.fitted_.rules.ready


def test_two_explainers_of_one_seed_make_the_same_rules(loan_model, loan_frame):
    one, other = (explainer_of(loan_model).fit(loan_frame).rules(loan_frame.head(30)) for _ in range(2))
    assert one.to_dict() == other.to_dict()


def test_rules_of_arrays_and_of_a_model_without_report_in_a_class():
    X = np.random.default_rng(0).normal(size=(60, 3))
    rules = explainer_of(linear_black_box([1, 1, 1])).fit(X).rules(X[:5])
    assert all(rule.covers(X[[i]])[0] for i, rule in enumerate(rules))
    assert rules.to_frame().shape[0] == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": 1.0}, "precision must be a number from 0.5 to below 1"),
        ({"precision": 0.2}, "found 0.2"),
        ({"max_conditions": 0}, "max_conditions must be None or a positive integer, found 0"),
        ({"max_conditions": 2.5}, "found 2.5"),
    ],
)
def test_bad_options_are_refused(loan_explainer, options, words):
    with pytest.raises(ValueError, match=words):
        loan_explainer.rules(loans(3), **options)

"""What holds for the counterfactuals of every kind of explainer."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, Feature, Kind, Schema
from illume.errors import SchemaError
from illume.explanations.counterfactual_goals import ClassGoal
from illume.explanations.counterfactual_pool import pick_diverse
from tests.common import FAST, grouped, linear_black_box, loans

SETTINGS = {"shared": {}, "linear": {"encoder": "linear"}, "identity": {"encoder": "identity"}}


def explainer_of(model, **settings):
    return Explainer(model, **grouped(**{"n_latents": 3, "queries": 300, "training": FAST} | settings))


@pytest.fixture(scope="module", params=["binary", "several"])
def problem(request, loan_model, loan_frame, three_class):
    if request.param == "binary":
        return loan_model, loan_frame, loans(50, seed=3)
    return three_class[0], three_class[1], three_class[1].sample(50, random_state=0)


@pytest.fixture(scope="module", params=SETTINGS.values(), ids=SETTINGS)
def fitted(request, problem):
    model, frame, rows = problem
    return explainer_of(model, **request.param).fit(frame), rows


@pytest.fixture(scope="module")
def found(fitted):
    explainer, rows = fitted
    return explainer.counterfactuals(rows, n=2)


def test_every_example_is_decided_otherwise_by_the_model_itself(fitted, found):
    explainer, rows = fitted
    assert found.found.mean() > 0.95
    now = explainer.model.predict(found.examples)
    before = explainer.model.predict(rows)[found.row]
    assert (now != before).all()
    assert (found.n_found <= 2).all()


def test_only_the_changed_features_differ_and_each_change_is_needed(fitted, found):
    explainer, rows = fitted
    before = rows.iloc[found.row].reset_index(drop=True)
    same = (before == found.examples) | (before.isna() & found.examples.isna())
    np.testing.assert_array_equal(~same, found.changed)
    taken_back = []
    for e, j in zip(*np.nonzero(found.changed & (found.n_changes > 1)[:, None]), strict=True):
        row = found.examples.iloc[[e]].copy()
        row[rows.columns[j]] = before[rows.columns[j]].iloc[e]
        taken_back.append((e, row))
    if taken_back:
        now = explainer.model.predict(pd.concat([row for _, row in taken_back]))
        original = explainer.model.predict(rows)[found.row[[e for e, _ in taken_back]]]
        assert (now == original).all()  # with one change fewer, the old decision is back


def test_a_given_class_is_reached_or_a_reason_is_given(problem):
    model, frame, rows = problem
    explainer = explainer_of(model).fit(frame)
    for name in explainer.class_names_:
        found = explainer.counterfactuals(rows, n=1, desired_class=name)
        assert set(model.predict(found.examples)) <= {name}
        already = model.predict(rows) == name
        assert not found.found[already].any()
        assert all(found.reasons[already] == "the answer is as desired already")
        assert found.found[~already].mean() > 0.9
        assert all(found.rules[int(i)].decision == name for i in np.flatnonzero(found.has_rule)[:10])


def test_immutable_features_and_ranges_are_respected(loan_explainer):
    rows = loans(60, seed=4)
    found = loan_explainer.counterfactuals(rows, features_to_vary=["income", "education"])
    assert not found.changed[:, [0, 2]].any()
    assert len(found.row)
    ranged = loan_explainer.counterfactuals(
        rows, permitted_range={"income": [20, 40], "education": ["low", "high"], "age": (30, 50)}
    )
    examples, changed = ranged.examples, ranged.changed
    assert examples["income"][changed[:, 1]].between(20, 40).all()
    assert set(examples["education"][changed[:, 3]]) <= {"low", "high"}
    assert examples["age"][changed[:, 0]].between(30, 50).all()


def test_no_more_changes_than_allowed_and_the_reason_tells_how_many_it_takes(loan_explainer):
    rows = loans(80, seed=4)
    for most in (1, 2):
        found = loan_explainer.counterfactuals(rows, n=1, max_changes=most)
        assert found.n_changes.max() <= most
    few = loan_explainer.counterfactuals(rows, n=1, features_to_vary=["owner"])
    lost = few.reasons[~few.found]
    assert len(lost)
    assert "none of the changes tried, to owner, makes the model decide otherwise" in lost[0]


def test_two_changes_needed_and_one_allowed_says_so():
    both = lambda rows: np.where((rows[:, :2] > 0).all(1), 0.9, 0.1)  # noqa: E731
    X = np.random.default_rng(0).normal(size=(300, 3))
    explainer = explainer_of(both).fit(X)
    corner = np.array([[-1.0, -1.0, 0.0]])
    assert explainer.counterfactuals(corner, n=1).changed.tolist() == [[True, True, False]]
    said = explainer.counterfactuals(corner, max_changes=1).reasons[0]
    assert "the fewest changes found are 2, more than max_changes=1" in said


def test_examples_of_one_row_change_different_features_where_they_can():
    X = np.random.default_rng(0).normal(size=(300, 4))
    explainer = explainer_of(linear_black_box([1, 1, 1, 1])).fit(X)
    found = explainer.counterfactuals(np.array([[0.2, 0.2, 0.2, 0.2]]), n=3)
    assert len({tuple(changed) for changed in found.changed}) == 3
    assert (found.n_changes == 1).all()


def test_a_changed_number_is_the_closest_that_does():
    X = np.random.default_rng(0).normal(size=(400, 2))
    explainer = explainer_of(linear_black_box([1, 0])).fit(X)
    found = explainer.counterfactuals(np.array([[-2.0, 0.0], [1.5, 0.0]]), n=1)
    pool = np.sort(explainer.fitted_.pool.frame.native[:, 0])
    nearest = [pool[pool > 0].min(), pool[pool <= 0].max()]
    np.testing.assert_array_equal(found.examples[:, 0], nearest)


def test_the_model_can_be_asked_to_be_sure():
    X = np.random.default_rng(0).normal(size=(400, 2))
    explainer = explainer_of(linear_black_box([3, 1])).fit(X)
    found = explainer.counterfactuals(X[:40], n=2, min_probability=0.8)
    assert found.found.all()
    assert (found.example_probabilities.max(1) >= 0.8).all()


def test_distances_are_in_standard_deviations_and_zero_to_a_training_row(loan_explainer, loan_frame):
    rows = loans(30, seed=4)
    found = loan_explainer.counterfactuals(rows, n=1)
    age = loan_frame["age"].iloc[loan_explainer.fitted_.split.training].std(ddof=0)
    only_age = np.flatnonzero((found.changed == [True, False, False, False]).all(1))
    assert len(only_age)
    for e in only_age:
        step = abs(found.examples["age"].iloc[e] - rows["age"].iloc[found.row[e]])
        assert found.distance[e] == pytest.approx(step / age)
    assert (found.plausibility >= 0).all()
    assert found.typical_distance > 0


def test_printed_distances_have_a_unit_and_a_yardstick(loan_explainer, loan_frame):
    found = loan_explainer.counterfactuals(loan_frame.head(8))
    words = (
        "distances are in standard deviations, another category counts 1; a training row is "
        f"{found.typical_distance:.2f} from the nearest other one (median)"
    )
    one = found[int(found.row[0])]
    for text in (repr(found), found._repr_html_(), repr(one), one._repr_html_()):
        assert words in text


def test_what_was_asked_for_is_printed_with_the_result(loan_explainer, loan_frame):
    rows = loan_frame.head(4)
    limits = {
        "immutable": ["owner"],
        "direction": {"income": "up", "age": "down", "education": ["low", "middle", "high"]},
        "permitted_range": {"income": [20, None], "education": ["middle", "high"]},
        "max_changes": 2,
    }
    found = loan_explainer.counterfactuals(rows, n=1, desired_class="grant", **limits)
    words = (
        "asked for: decide 'grant'; kept fixed: owner; only up: income; only down: age; education only on: "
        "low → middle → high; income only from 20; education only: middle, high; changed features: at most 2"
    )
    for shown in (found, *found):
        assert words in repr(shown)
        assert html.escape(words) in shown._repr_html_()
    some = loan_explainer.counterfactuals(rows, n=1, features_to_vary=["age", "income"], min_probability=0.6)
    assert "asked for: decide otherwise; may change: age, income; probability at least 0.6" in repr(some)
    assert "asked for" not in repr(loan_explainer.counterfactuals(rows, n=1))


def test_the_rule_covers_the_first_example_and_not_the_row(fitted, found):
    rows = fitted[1]
    assert found.has_rule.all()
    for i in np.flatnonzero(found.found):
        one = found[int(i)]
        assert one.rule.covers(one.batch.examples)[0], one
        assert not one.rule.covers(rows.iloc[[i]])[0], one
        assert one.conditions
        assert one.status in ("agreed", "refined")
        assert one.rule.decision == one.examples[0].decision != one.decision


def test_a_row_alone_gets_what_it_gets_in_the_batch(fitted, found):
    explainer, rows = fitted
    for i in (0, 23, 49):
        alone = explainer.counterfactuals(rows.iloc[[i]], n=2)
        assert [str(e) for e in alone[0].examples] == [str(e) for e in found[i].examples]


def test_frames_show_the_row_above_its_examples_or_only_what_changes(loan_explainer):
    rows = loans(15, seed=9).set_index(pd.Index([f"r{i}" for i in range(15)]))
    found = loan_explainer.counterfactuals(rows, n=2)
    names = list(found.feature_names)
    whole, sparse, long = found.to_frame(), found.to_frame(only_changes=True), found.to_frame("long")
    own, examples = whole[whole["example"] < 0], whole[whole["example"] >= 0]
    assert own["row"].tolist() == list(rows.index[found.found])
    pd.testing.assert_frame_equal(own[names].set_index(own["row"]), rows[found.found], check_names=False)
    assert own["decision"].tolist() == [one.decision for one in found[np.flatnonzero(found.found)]]
    assert (own["changed"] == "").all()
    pd.testing.assert_frame_equal(
        examples[names].reset_index(drop=True), found.examples.reset_index(drop=True)
    )
    said = [", ".join(np.array(names)[each]) for each in found.changed]
    assert examples["changed"].tolist() == said
    assert whole["row"].tolist() == sorted(whole["row"], key=list(rows.index).index)
    assert len(sparse) == len(found.row)
    features = [name for name in names if name in sparse.columns]
    np.testing.assert_array_equal(sparse[features].notna(), found.changed[:, found.changed.any(0)])
    assert len(long) == found.changed.sum()
    assert set(long["row"]) <= set(rows.index)
    assert json.loads(json.dumps(found.to_dict()))[0]["decision"] == found[0].decision
    assert str(found[0].examples[0]) in repr(found[0])
    assert found[0].examples[0].answer in found[0]._repr_html_()
    with pytest.raises(ValueError, match="layout must be"):
        found.to_frame("full")


def test_counts_agree_in_number(loan_explainer):
    rows = loans(15, seed=9)
    found = loan_explainer.counterfactuals(rows, n=1, features_to_vary=["owner"])
    none = int(np.flatnonzero(~found.found)[0])
    one = loan_explainer.counterfactuals(rows[:1], n=1, max_changes=1)
    assert repr(found[[none]]).startswith("Counterfactuals of 1 row: 0 examples, for 0 rows")
    assert "1 row has none" in repr(found[[none]])
    assert "Counterfactuals of 1 row: 1 example, for 1 row; 1 changed feature and distance" in repr(one)
    assert "1 example for 1 of 1 row, " in one.style().to_html()


def test_a_styled_table_shows_own_values_and_marks_those_that_changed(loan_explainer):
    found = loan_explainer.counterfactuals(loans(15, seed=9), n=2)
    page, n_features = found.style().to_html(), int(found.changed.any(0).sum())
    assert page.count("→") == found.changed.sum()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    cells = np.array(cells).reshape(len(found.row), -1)[:, -n_features:]
    marked = np.array(["→" in cell for cell in cells.ravel()]).reshape(cells.shape)
    np.testing.assert_array_equal(marked, found.changed[:, found.changed.any(0)])
    assert all(cells.ravel())


def test_some_rows_can_be_taken(loan_explainer):
    found = loan_explainer.counterfactuals(loans(20, seed=9), n=2)
    some = found[[7, 3]]
    assert [str(e) for e in some[0].examples] == [str(e) for e in found[7].examples]
    assert len(some) == 2
    assert len(found[:0]) == 0
    assert "0 rows" in repr(found[:0])


def test_a_class_that_no_training_row_has_cannot_be_reached():
    X = np.random.default_rng(0).normal(size=(100, 2))

    def black_box(rows):
        return np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0, np.zeros(len(rows))]).astype(float)

    found = explainer_of(black_box).fit(X).counterfactuals(X[:4], desired_class="2")
    assert not len(found.row)
    assert all("no training row makes the model decide '2'" in reason for reason in found.reasons)
    assert found[0].rule is None
    assert "no counterfactual" in repr(found[0])


def test_a_column_that_is_no_feature_stays_as_it_is(loan_frame):
    schema = Schema((Feature("income", Kind.NUMERIC), Feature("education", Kind.CATEGORICAL)))
    model = lambda frame: np.where(frame["income"].fillna(30) + frame["age"] * 0 > 30, 0.9, 0.1)  # noqa: E731
    rows = loans(10, seed=3)
    found = explainer_of(model, schema=schema).fit(loan_frame).counterfactuals(rows, n=1)
    assert found.feature_names == ("income", "education")
    assert list(found.examples.columns) == list(rows.columns)
    np.testing.assert_array_equal(found.examples["age"], rows["age"].iloc[found.row])


def test_an_example_that_the_model_no_longer_confirms_is_not_returned(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 2))
    explainer = explainer_of(linear_black_box([1, 0])).fit(X).fit_rules()
    reached, calls = ClassGoal.is_reached, []

    def moody(self, P, row):
        calls.append(len(row))
        answer = reached(self, P, row)
        return answer & (row % 2 == 0) if len(row) == 50 else answer  # 50 are asked about at the end alone

    monkeypatch.setattr(ClassGoal, "is_reached", moody)
    found = explainer.counterfactuals(X[:50], n=1)
    assert 50 in calls
    assert found.row.tolist() == list(range(0, 50, 2))
    assert len(found.examples) == 25


def test_no_two_examples_of_a_row_are_the_same(fitted):
    explainer, rows = fitted
    for one in explainer.counterfactuals(rows, n=5):
        assert len({str(example) for example in one.examples}) == len(one.examples)


def test_what_may_not_change_is_not_demanded_by_a_rule(loan_explainer):
    found = loan_explainer.counterfactuals(loans(50, seed=4), n=1, features_to_vary=["owner"])
    assert not found.has_rule[~found.found].any()


def test_nothing_permitted_gives_a_reason_and_no_error(loan_explainer):
    with pytest.raises(SchemaError, match=r"no training row has 'age' within .* give both ends"):
        loan_explainer.counterfactuals(loans(5), permitted_range={"age": [900, None]})
    found = loan_explainer.counterfactuals(
        loans(5), features_to_vary=["age"], permitted_range={"age": [79, None]}
    )
    lost = found.reasons[~found.found]
    assert len(lost)
    assert all("none of the changes tried, to age" in reason for reason in lost)


def test_a_category_never_seen_counts_as_one_when_it_changes(loan_model, loan_frame):
    explainer = explainer_of(loan_model, unknown="ignore").fit(loan_frame)
    rows = loans(40, seed=4).assign(education="doctorate")
    found = explainer.counterfactuals(rows, n=3)
    only = np.flatnonzero((found.changed == [False, False, False, True]).all(1))
    assert len(only)
    np.testing.assert_array_equal(found.distance[only], 1.0)


def test_a_row_is_never_changed_to_a_missing_value(loan_explainer):
    found = loan_explainer.counterfactuals(loans(100, seed=10), n=3)
    assert not found.examples["income"][found.changed[:, 1]].isna().any()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(["a", "b", None], 300), "x": rng.normal(size=300)})
    model = lambda rows: np.where(rows["c"].isna() | (rows["x"] > 1), 0.9, 0.1)  # noqa: E731
    found = explainer_of(model).fit(frame).counterfactuals(frame.head(50), n=3)
    assert not found.examples["c"][found.changed[:, 0]].isna().any()


def test_a_position_is_no_class_where_classes_are_numbers(three_class_explainer):
    model = lambda rows: np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0]).astype(float)  # noqa: E731
    X = np.random.default_rng(0).normal(size=(60, 2))
    numbered = explainer_of(model, class_names=[1, 2]).fit(X)
    with pytest.raises(ValueError, match="desired_class 0 is not known"):
        numbered.counterfactuals(X[:2], desired_class=0)
    assert set(numbered.counterfactuals(X[:9], n=1, desired_class=2).rules.decisions) == {1}
    rows = pd.DataFrame(X[:2, [0, 1, 0, 1]], columns=list("abcd"))
    with pytest.raises(ValueError, match="desired_class 0 is not known"):
        three_class_explainer.counterfactuals(rows, desired_class=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a positive integer"),
        ({"max_changes": 0}, "max_changes must be None or a positive integer"),
        ({"desired_class": "maybe"}, "choose 'opposite' or one of"),
        ({"features_to_vary": "income"}, r"write \['income'\]"),
        ({"features_to_vary": []}, "at least one feature must be free"),
        ({"features_to_vary": ["incom"]}, "'incom', which is no column; the nearest column is 'income'"),
        ({"permitted_range": {"incom": [0, 1]}}, "permitted_range names 'incom'"),
        ({"permitted_range": {"income": [1, 0]}}, "low <= high"),
        ({"permitted_range": {"age": [1, 0]}, "features_to_vary": ["income"]}, "not among features_to_vary"),
        ({"min_probability": 1.0}, "min_probability must be"),
        ({"permitted_range": {"education": "low"}}, "must be a list of its values"),
        ({"permitted_range": {"education": ["lowest"]}}, "holds 'lowest', not among its values"),
    ],
)
def test_bad_wishes_are_refused_by_name(loan_explainer, options, words):
    with pytest.raises((ValueError, SchemaError), match=words):
        loan_explainer.counterfactuals(loans(3), **options)


def test_diverse_picks_prefer_few_changes_then_other_features():
    changed = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    row = np.array([4, 4, 4, 4])
    assert pick_diverse(row, changed, np.array([0.1, 1.0, 2.0, 9.0]), 3).tolist() == [1, 3, 0]
    assert len(pick_diverse(row[:0], changed[:0], np.empty(0), 3)) == 0

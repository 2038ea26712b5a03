"""A threshold turns probabilities into decisions: before the fit, after it, in a file and for one call."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import illume
from illume import DataOptions, Explainer
from illume.data.class_outputs import Classes
from illume.data.questions import Cutoff, MostLikely
from illume.errors import BlackBoxError, LeftOutError
from illume.explanations.refinement import GRID, LinearRegions, Path
from illume.surrogates.base import FittedWeights
from tests.common import brief_shapley, grouped
from tests.report.common import text_of

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["age", "income", "debt"])
LABELS = np.where(ROWS["age"] * ROWS["debt"] + ROWS["income"] + RNG.normal(size=300) > 1.2, "refuse", "grant")
TRAINED = LogisticRegression().fit(np.column_stack([ROWS, ROWS["age"] * ROWS["debt"]]), LABELS)
SETTINGS = grouped(n_latents=2, queries=300, effort="quick", training=illume.Training(max_epochs=3))
NAMES = {"data_options": DataOptions(class_names=["grant", "refuse"])}


def model(rows):
    return TRAINED.predict_proba(np.column_stack([rows, rows["age"] * rows["debt"]]))


def fraud(rows):
    """Never sure of fraud: at .5, all rows are decided alike."""
    return 0.2 * model(rows)[:, 1]


P = model(ROWS)


def fit(black_box=model, **settings):
    with brief_shapley():
        return Explainer(black_box, **SETTINGS, **NAMES, **settings).fit(ROWS)


@pytest.fixture(scope="module")
def before():
    return fit(threshold=0.2).fit_rules()


@pytest.fixture
def after():
    explainer = fit()
    explainer.threshold = 0.2
    return explainer


def test_the_positive_class_is_decided_from_the_threshold_on(before):
    refused = P[:, 1] >= 0.2
    found = before(ROWS)
    np.testing.assert_array_equal(found.decisions, refused)
    np.testing.assert_array_equal(found.surrogate_decisions, found.surrogate_probabilities[:, 1] >= 0.2)
    np.testing.assert_array_equal(found.agreed, found.decisions == found.surrogate_decisions)
    frame = found.to_frame()
    assert list(frame["decision"]) == list(np.where(refused, "refuse", "grant"))
    np.testing.assert_array_equal(frame["probability"], np.where(refused, P[:, 1], P[:, 0]))
    row = found[int(np.flatnonzero(refused & (P[:, 1] < 0.5))[0])]
    assert f"'refuse' with probability {row.probability:.3f} (threshold 0.2)" in repr(row)
    assert row.probability < 0.5


def test_a_first_class_can_be_the_positive_one():
    outputs = Classes(("bad", "good")).ask("bad", 0.2)
    assert outputs.decide(np.array([[0.2, 0.8], [0.19, 0.81]])).tolist() == [0, 1]
    assert outputs.headline(np.array([0.25, 0.75])) == "'bad' with probability 0.250 (threshold 0.2)"
    assert outputs.headline(np.array([0.1, 0.9])) == "'good' with probability 0.900 (threshold 0.2 of 'bad')"
    assert Classes.from_dict(outputs.to_dict()) == outputs


def test_a_threshold_set_after_the_fit_gives_the_same_explainer(before, after):
    for name in ("report", "classes", "majority", "agreement"):
        assert getattr(before.quality_, name) == getattr(after.quality_, name), name
    one, other = (each.fit_latents().quality_.surrogate for each in (before, after))
    for name in ("report", "baseline", "classes"):
        assert getattr(one, name) == getattr(other, name), name
    np.testing.assert_array_equal(before(ROWS).agreed, after(ROWS).agreed)
    np.testing.assert_array_equal(before(ROWS).values, after(ROWS).values)
    assert [rule.text for rule in before.rules(ROWS)] == [rule.text for rule in after.rules(ROWS)]
    assert before.rule_quality_.precision == after.rule_quality_.precision
    one, other = (each.counterfactuals(ROWS[:5]) for each in (before, after))
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())


def test_quality_is_measured_under_the_threshold(before):
    fitted = before.fitted_
    P, Q = fitted.report_answers
    refused = P[:, 1] >= 0.2
    assert before.quality_.agreement == np.mean(refused == (Q[:, 1] >= 0.2))
    surrogate = fitted.pair.answers(fitted.rows.report.X)
    assert before.quality_.surrogate.agreement == np.mean(refused == (surrogate[:, 1] >= 0.2))
    assert before.quality_.majority == max(refused.mean(), 1 - refused.mean())
    assert [each.n_rows for each in before.quality_.classes] == [int((~refused).sum()), int(refused.sum())]
    assert before.check(ROWS).agreement is not None


def test_rules_and_counterfactuals_are_about_the_threshold(before):
    rules = before.rules(ROWS)
    assert [rule.decision for rule in rules] == list(np.where(P[:, 1] >= 0.2, "refuse", "grant"))
    assert np.nanmean(rules.precision) > 0.8
    assert rules.faithful.mean() > 0.9
    found = before.counterfactuals(ROWS[:20])
    asked = model(found.frame.native)[:, 1] >= 0.2
    np.testing.assert_array_equal(asked, ~(P[found.row, 1] >= 0.2))
    assert len(found.row) > 20


def test_a_threshold_of_one_call_is_that_of_the_explainer(before, after):
    after.threshold = None
    kept = [rule.text for rule in after.rules(ROWS[:40])]
    wanted = [rule.text for rule in before.rules(ROWS[:40])]
    assert [rule.text for rule in after.rules(ROWS[:40], threshold=0.2)] == wanted
    assert [rule.text for rule in after.rules(ROWS[:40])] == kept
    found = after.counterfactuals(ROWS[:5], threshold=0.2)
    pd.testing.assert_frame_equal(found.to_frame(), before.counterfactuals(ROWS[:5]).to_frame())
    row = before(ROWS)[int(np.flatnonzero((P[:, 1] > 0.3) & (P[:, 1] < 0.45))[0])]
    assert all(line.contribution > 0 for line in row.reasons())
    assert all(line.contribution < 0 for line in row.reasons(threshold=0.5))
    assert row.reasons(threshold=0.45).headline.startswith("'grant' with probability 0.")
    assert row.reasons(threshold=0.45).headline.endswith("(threshold 0.45 of 'refuse')")


def test_a_threshold_of_a_report_decides_in_all_of_it(before, tmp_path):
    path = before.report(ROWS[:40], tmp_path / "a.html", threshold=0.35, max_counterfactual_rows=2)
    said = text_of(path)
    assert "It decides “refuse” from a probability of 0.35 on." in said
    assert f"“refuse” for {int((P[:40, 1] >= 0.35).sum())} (" in said
    assert "threshold0.35" in said.replace(" ", "")  # among the settings
    assert before.threshold == 0.2


def test_a_threshold_is_kept_and_changed_in_a_file(before, tmp_path):
    before.save(tmp_path / "a.illume")
    loaded = illume.load(tmp_path / "a.illume", model=model)
    assert loaded.threshold == 0.2
    assert [rule.text for rule in loaded.rules(ROWS)] == [rule.text for rule in before.rules(ROWS)]
    wanted = fit(threshold=0.35)
    loaded.threshold = 0.35
    assert loaded.quality_.report == wanted.quality_.report
    np.testing.assert_array_equal(loaded(ROWS).agreed, wanted(ROWS).agreed)
    np.testing.assert_array_equal(loaded(ROWS).decisions, P[:, 1] >= 0.35)
    assert [rule.decision for rule in loaded.rules(ROWS)] == list(
        np.where(P[:, 1] >= 0.35, "refuse", "grant")
    )
    assert loaded.rule_quality_.precision > 0.8
    assert loaded.counterfactuals(ROWS[:3]).found.any()


def test_a_file_without_rows_says_that_its_threshold_is_fixed(before, tmp_path):
    before.save(tmp_path / "a.illume", rows="none")
    loaded = illume.load(tmp_path / "a.illume", model=model)
    np.testing.assert_array_equal(loaded(ROWS).decisions, P[:, 1] >= 0.2)
    with pytest.raises(LeftOutError, match=r"another threshold or positive class.*saved with rows='none'"):
        loaded.threshold = 0.3
    assert loaded.threshold == 0.2


def test_pullback_is_refined_to_the_decision_under_the_threshold():
    explainer = fit(contributions="pullback", threshold=0.2)
    found = explainer(ROWS)
    other = ~found.agreed & found.refinement.faithful
    assert other.any()
    reached = found.scores >= np.log(0.2 / 0.8)
    np.testing.assert_array_equal(reached[other], P[other, 1] >= 0.2)
    alone = explainer(ROWS.iloc[[int(np.flatnonzero(other)[0])]])
    np.testing.assert_allclose(alone.values[0], found.values[other][0], atol=1e-6)


@pytest.mark.parametrize("positive", [0, 1])
def test_regions_of_a_line_meet_at_the_thresholds_log_odds(positive):
    outputs = Classes(("no", "yes"))
    question = Cutoff(("no", "yes"), positive, 0.2)
    edge = np.log(0.25) if positive else -np.log(0.25)
    regions = LinearRegions(FittedWeights(np.ones((1, 1)), np.zeros(1), outputs), question)
    inside = np.array([[edge + 1e-6], [edge - 1e-6]])
    assert regions.holds(inside, np.array([1, 0])).all()
    path = Path(*(np.array([[each]]) for each in (edge - 0.5, 0.0, 1.0, edge + 0.5)))
    assert regions.least(path, 1)[0, 0] == GRID[np.searchsorted(GRID, 0.5)]


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, "high", np.nan, True])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(ValueError, match="threshold must be a probability above 0 and below 1"):
        Explainer(model, threshold=threshold).fit(ROWS)


def test_more_classes_numbers_and_labels_take_no_threshold():
    three = LogisticRegression().fit(ROWS, np.digitize(ROWS["age"], [-0.5, 0.5]))
    with pytest.raises(ValueError, match="two classes, and the model has 3: "):
        Explainer(three, threshold=0.2).fit(ROWS)
    with pytest.raises(ValueError, match="the model answers with numbers; give it to rules"):
        Explainer(lambda rows: rows["age"] * 10, threshold=0.2).fit(ROWS)
    with (
        pytest.raises(ValueError, match="answers with decisions alone, so there are no probabilities"),
        pytest.warns(illume.errors.LabelsOnlyWarning),
    ):
        Explainer(lambda rows: np.where(rows["age"] > 0, "a", "b"), threshold=0.2).fit(ROWS)


def test_a_model_of_one_decision_is_explained_and_a_threshold_named(tmp_path):
    said = (
        r"the model decides 'grant' for all 300 rows; explainer.threshold = 0.\d+ would decide 'refuse' for"
    )
    with pytest.warns(UserWarning, match=said):
        explainer = fit(fraud)
    found = explainer(ROWS)
    np.testing.assert_allclose(found.base_values + found.values.sum(1), found.scores)
    with pytest.raises(BlackBoxError, match=r"explainer.threshold = 0.\d+ would decide") as error:
        explainer.rules(ROWS)
    with pytest.raises(BlackBoxError, match="have no two decisions"):
        explainer.counterfactuals(ROWS[:3])
    explainer.report(ROWS[:10], tmp_path / "a.html")
    explainer.save(tmp_path / "a.illume")
    threshold = float(str(error.value).split("explainer.threshold = ")[1].split()[0])
    flagged = fraud(ROWS) >= threshold
    assert 10 <= flagged.sum() <= 60
    loaded = illume.load(tmp_path / "a.illume", model=fraud)
    for each in (explainer, loaded):
        each.threshold = threshold
        assert [rule.decision for rule in each.rules(ROWS)] == list(np.where(flagged, "refuse", "grant"))
        assert each.counterfactuals(ROWS[:3]).found.any()
        assert each.rule_quality_.precision > 0.7


def test_no_threshold_is_named_where_the_rows_at_hand_have_one_answer():
    said = Classes(("no", "yes")).describe_monotony(np.tile([0.7, 0.3], (3, 1)))
    assert said == "the model decides 'no' for all 3 rows"


def test_a_threshold_that_splits_the_rows_needs_no_warning():
    explainer = fit(fraud, threshold=0.05)  # a warning would be an error
    assert 0 < explainer(ROWS).decisions.mean() < 1


def test_a_model_of_one_answer_is_refused():
    with pytest.raises(BlackBoxError, match=r"all 300 rows the same answer, 'grant' with probability 0\.700"):
        Explainer(lambda rows: np.full(len(rows), 0.3), **NAMES).fit(ROWS)


def test_the_more_likely_class_is_decided_by_default():
    assert Classes(("no", "yes")).question() == MostLikely(("no", "yes"))
    assert Classes(("no", "yes")).ask("no", None).cutoff is None

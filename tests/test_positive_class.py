"""Explanations are for the class that the user names, wherever it stands among the model's classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import illume
from illume import Explainer
from tests.common import brief_shapley, grouped

ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(240, 3)), columns=["age", "income", "debt"])
LABELS = np.where(ROWS["age"] - ROWS["debt"] > 0.2, "refuse", "grant")
MODEL = LogisticRegression(C=0.05).fit(ROWS, LABELS)  # its classes are grant and refuse
SETTINGS = grouped(n_latents=2, queries=300, effort="quick", training=illume.Training(max_epochs=3))


def fit(model=MODEL, rows=ROWS, **settings):
    with brief_shapley():
        return Explainer(model, **SETTINGS, **settings).fit(rows)


@pytest.fixture(scope="module")
def explainer():
    return fit()


@pytest.fixture(scope="module")
def turned():
    return fit(positive_class="grant")


@pytest.fixture(scope="module")
def several():
    X = ROWS.to_numpy()
    labels = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.6, 0.6])]
    return fit(LogisticRegression().fit(ROWS, labels))


def same(one, other):
    for name in ("values", "base_values", "slopes", "scores", "standard_errors", "offset"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_contributions_to_the_other_class_are_exactly_the_opposite(explainer, turned):
    one, other = explainer(ROWS), turned(ROWS)
    for name in ("values", "base_values", "slopes", "scores"):
        np.testing.assert_array_equal(getattr(one, name), 0.0 - getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.standard_errors, other.standard_errors)
    log_odds = np.log(one.probabilities[:, 0] / one.probabilities[:, 1])
    np.testing.assert_allclose(other.scores, log_odds)
    assert (one.output_names, other.output_names) == (("refuse",), ("grant",))
    assert not np.signbit(other.values[other.values == 0]).any()


def test_a_class_can_be_named_when_explaining_or_after_the_fit(explainer, turned):
    wanted = turned(ROWS)
    same(explainer(ROWS, positive_class="grant"), wanted)
    same(turned(ROWS, positive_class="refuse"), explainer(ROWS))
    explainer.positive_class = "grant"
    try:
        same(explainer(ROWS), wanted)
        assert explainer.quality_.report == turned.quality_.report
    finally:
        explainer.positive_class = None
    assert explainer(ROWS).output_names == ("refuse",)


def test_pullback_contributions_turn_too():
    one = fit(contributions="pullback")
    same(one(ROWS, positive_class="grant"), fit(contributions="pullback", positive_class="grant")(ROWS))
    np.testing.assert_array_equal(one(ROWS, positive_class="grant").values, 0.0 - one(ROWS).values)


def test_a_row_alone_has_the_numbers_of_the_batch(turned):
    alone, batch = turned(ROWS.iloc[[7]]), turned(ROWS)
    np.testing.assert_allclose(alone.values[0], batch.values[7], atol=1e-6)


def test_interactions_add_up_to_the_contributions_of_the_class(turned, explainer):
    found = turned.interactions(ROWS[:20])
    np.testing.assert_allclose(found.contributions.sum(1), turned(ROWS[:20]).values.sum(1))
    other = explainer.interactions(ROWS[:20], positive_class="grant")
    np.testing.assert_array_equal(other.values, found.values)


def test_words_are_about_the_class(turned):
    row = turned(ROWS)[0]
    assert "log-odds of 'grant' against 'refuse'" in repr(row)
    assert row.output_name == "grant"
    for row in turned(ROWS[:20]):
        side = 1 if row.decision == "grant" else -1
        assert all(line.contribution * side > 0 for line in row.reasons())
    pytest.importorskip("matplotlib")
    ax = illume.plots.waterfall(turned(ROWS)[0])
    assert "'grant'" in ax.get_xlabel() + ax.get_title()


def test_latents_of_the_class_still_decide_alike(turned, explainer):
    one, other = explainer.latents(ROWS, maps=True), turned.latents(ROWS, maps=True)
    np.testing.assert_array_equal(one.scores, 0.0 - other.scores)
    np.testing.assert_array_equal(one.decide(one.Z), other.decide(other.Z))
    np.testing.assert_array_equal(other.decide(other.Z), other.surrogate_decisions)


def test_files_keep_the_class(turned, tmp_path):
    turned.save(tmp_path / "a.illume")
    loaded = illume.load(tmp_path / "a.illume", model=MODEL)
    assert loaded.positive_class == "grant"
    same(loaded(ROWS), turned(ROWS))
    assert loaded(ROWS[:9]).output_names == ("grant",)


def test_exported_graphs_are_about_the_class(tmp_path):
    onnxruntime, turned = pytest.importorskip("onnxruntime"), fit(positive_class="grant", twin="learned")
    X, P = (
        turned.fitted_.encode(turned.fitted_.as_frame(ROWS)).X.astype(np.float32),
        MODEL.predict_proba(ROWS),
    )
    wanted = turned(ROWS)
    illume.export_onnx(turned, tmp_path / "a.onnx", inputs="encoded", predictions=True)
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    names = ["contributions", "log_odds", "slopes", "probabilities"]
    values, scores, slopes, Q = session.run(names, {"X": X, "model_probabilities": P})
    np.testing.assert_allclose(values[:, 0], wanted.values, atol=1e-4)
    np.testing.assert_allclose(scores[:, 0], wanted.scores, atol=1e-4)
    np.testing.assert_allclose(slopes[:, 0], wanted.slopes, atol=1e-4)
    np.testing.assert_allclose(Q, wanted.surrogate_probabilities, atol=1e-4)
    assert '["grant"]' in {each.value for each in illume_metadata(tmp_path / "a.onnx")}


def illume_metadata(path):
    import onnx

    return onnx.load(path).metadata_props


def test_of_more_classes_the_positive_one_is_shown_first(several):
    plain, found = several(ROWS), several(ROWS, positive_class="mid")
    np.testing.assert_array_equal(plain.values, found.values)
    assert found[0].output_name == "mid" == found[5].output_name
    assert "log-odds of 'mid'" in repr(found[0])
    np.testing.assert_array_equal(found.to_frame()["age"], plain.values[:, 0, 1])
    np.testing.assert_array_equal(found.contributions(), plain.values[:, :, 1])
    assert plain[0].output_name == plain[0].decision


@pytest.mark.parametrize("name", ["maybe", 1, True])
def test_an_unknown_class_is_refused_with_the_known_ones(explainer, name):
    with pytest.raises(
        ValueError, match=r"positive_class .* is not known; choose one of \['grant', 'refuse'\]"
    ):
        explainer(ROWS, positive_class=name)


def test_an_unknown_class_is_refused_before_training():
    with pytest.raises(ValueError, match="positive_class 'maybe' is not known"):
        Explainer(MODEL, positive_class="maybe").fit(ROWS)


@pytest.mark.parametrize(("classes", "given"), [([0, 1], np.int64(0)), ([False, True], False), ([0, 1], "0")])
def test_classes_are_named_as_the_model_has_them(classes, given):
    model = LogisticRegression().fit(ROWS, np.array(classes)[(LABELS == "refuse").astype(int)])
    found = fit(model, positive_class=given)
    assert found(ROWS).output_names == (str(classes[0]),)


def test_numbers_have_no_positive_class():
    with pytest.raises(ValueError, match="the model answers with numbers, which have no classes"):
        Explainer(lambda rows: rows["age"] * 10, positive_class="yes").fit(ROWS)


def test_partitions_are_about_the_class(explainer, turned):
    pytest.importorskip("pyarrow")
    found = illume.distributed.explain_partition(ROWS[:30], explainer, positive_class="grant")
    wanted = illume.distributed.explain_partition(ROWS[:30], turned)
    pd.testing.assert_frame_equal(found, wanted)
    assert set(found["output"]) == {"grant"}

"""Whatever the frame, a fit and all that follows either works or says what is wrong."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import given, reject
from hypothesis import strategies as st

import illume
from illume import Explainer, Training
from illume.errors import IllumeError
from tests.common import grouped
from tests.fuzz.frames import examples, frames, models
from tests.io.common import same

TINY = Training(batch_size=16, learning_rate=5e-3, max_epochs=2, max_steps=3)
OPTIONS = {"n_latents": 2, "training": TINY, "verbose": False, "unknown": "ignore"}

kinds_of_fit = st.sampled_from(
    (
        {"encoder": "identity", "queries": 0},
        {"encoder": "identity", "queries": 0},
        {"encoder": "meta", "queries": 0},
        {"encoder": "meta", "queries": 30, "objective": "so"},
        {"encoder": "linear", "queries": 30},
    )
)


def fitted(model, frame, options):
    """Return a fitted explainer; skip the example if illume refuses it with a reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return Explainer(model, **grouped(**{**OPTIONS, **options})).fit(frame)
        except IllumeError:
            reject()


def fitted_with_decisions(model, frame, options):
    """Return a fitted explainer of a model that decides not all rows alike, as rules need."""
    explainer = fitted(model, frame, options)
    if explainer.fitted_.monotony:
        reject()
    return explainer


@given(frame=frames(), model=models, options=kinds_of_fit)
@examples(12)
def test_contributions_add_up_and_all_is_finite(frame, model, options):
    explainer = fitted(model, frame, options)
    found = explainer(frame)
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.slopes).all()
    if found.kind == "shapley":
        wanted = explainer.fitted_.twin.model.scale(found.probabilities).reshape(found.scores.shape)
        np.testing.assert_allclose(found.scores, wanted, rtol=1e-6, atol=1e-6)
    else:
        sure = found.agreed & (found.surrogate_probabilities > 1e-6).all(1)
        scores, wanted = found.scores, _log_odds(found.surrogate_probabilities)
        np.testing.assert_allclose(scores[sure], wanted[sure], rtol=1e-3, atol=1e-3)
    assert (found.scores[found.faithful].reshape(-1, len(found.output_names)).shape[1]) in (
        1,
        len(found.class_names),
    )
    repr(found), repr(found[0]), found._repr_html_(), found[0]._repr_html_()
    found.to_dict(), found[0].to_dict(), found.to_frame(), found.to_frame("long")
    assert len(repr(explainer.quality_)) > 100


def _log_odds(P):
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(P)
        return logs[:, 1] - logs[:, 0] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)


@given(frame=frames(), model=models, options=kinds_of_fit)
@examples(6)
def test_a_rule_covers_its_own_row(frame, model, options):
    explainer = fitted_with_decisions(model, frame, options)
    for polish in (True, False):
        rules = explainer.rules(frame, polish=polish)
        for i in range(0, len(frame), 3):
            assert rules[i].covers(frame.iloc[[i]])[0], (i, rules[i].text)
            repr(rules[i]), rules[i].to_sql(), rules[i].to_dict(), rules[i]._repr_html_()
        repr(rules), rules.to_frame(), rules.to_frame("long")
    repr(explainer.rule_set()), repr(explainer.rule_quality_)


@given(frame=frames(wide=40), model=models, options=kinds_of_fit)
@examples(5)
def test_counterfactuals_are_decided_otherwise(frame, model, options):
    explainer = fitted_with_decisions(model, frame, options)
    some = frame.iloc[:4]
    found = explainer.counterfactuals(some, n=2)
    if len(found.row):
        decided = model(found.examples).argmax(1)
        assert (decided != found.decisions[found.row]).all()
        np.testing.assert_array_equal(decided, found.example_probabilities.argmax(1))
    assert all(bool(reason) != bool(has) for reason, has in zip(found.reasons, found.found, strict=True))
    repr(found), repr(found[0]), found.to_frame(), found.to_frame("long"), found.to_dict()


@given(frame=frames(), model=models, options=kinds_of_fit, rows=st.sampled_from((5, "all", "none")))
@examples(6)
def test_a_saved_explainer_gives_the_same_numbers(frame, model, options, rows):
    explainer = fitted_with_decisions(model, frame, options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.illume"
        explainer.save(path, rows=rows, rules=True)
        loaded = illume.load(path, model=model)
        again = Path(folder) / "again.illume"
        loaded.save(again, rows="none" if rows == "none" else "all")
        if rows != "all":
            illume.load(again)
            return
        assert path.read_bytes() == again.read_bytes()
    same(explainer(frame), loaded(frame))
    same(explainer.rules(frame), loaded.rules(frame))


@given(frame=frames(wide=30), model=models, options=kinds_of_fit)
@examples(3)
def test_a_report_is_written(frame, model, options):
    explainer = fitted(model, frame, options)
    with tempfile.TemporaryDirectory() as folder:
        path = explainer.report(
            frame, Path(folder) / "report.html", n_counterfactuals=1, max_counterfactual_rows=3
        )
        assert path.stat().st_size > 10_000

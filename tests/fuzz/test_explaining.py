"""With one fit, whatever rows come: order, library and company make no difference, and nothing breaks."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from illume import Explainer, SurrogateOptions, Training
from illume.errors import IllumeError
from tests.common import use_local
from tests.fuzz.frames import Model, column, examples

SPEC = {
    "a": "normal",
    "a ": "small integers",
    "名前": "text",
    "<b>": "booleans",
    "probability": "1e-300",
    "x0": "1e300",
    " ": "ties",
}
KINDS = {
    "a": ("normal", "any magnitude", "ends", "constant", "nothing", "1e300", "1e-300"),
    "a ": ("small integers", "large integers", "nullable integers"),
    "名前": ("text", "odd text", "a name for every row", "one text"),
    "<b>": ("booleans", "one boolean"),
    "probability": ("1e-300", "any magnitude", "ends", "constant"),
    "x0": ("1e300", "any magnitude", "ends", "normal"),
    " ": ("ties", "close", "normal", "nothing"),
}
TINY = Training(batch_size=16, learning_rate=5e-3, max_epochs=5)


def _frame(specs, n):
    return pd.DataFrame(
        {name: column(kind, seed, n, missing) for name, (kind, seed, missing) in specs.items()}
    )


@st.composite
def rows(draw, most=12):
    """Draw rows for the shared fits, their columns in any order, with others between them."""
    n = draw(st.integers(1, most))
    missing = st.sampled_from((0.0, 0.0, 0.3))
    specs = {
        name: (draw(st.sampled_from(kinds)), draw(st.integers(0, 99)), draw(missing))
        for name, kinds in KINDS.items()
    }
    return _frame(specs, n)


@pytest.fixture(scope="module", params=["identity", "meta"])
def explainer(request):
    frame = _frame({name: (kind, 7, 0.1 * (kind == "normal")) for name, kind in SPEC.items()}, 60)
    made = Explainer(
        Model(3, n_classes=3),
        queries=30,
        unknown="ignore",
        verbose=False,
        surrogate_options=SurrogateOptions(encoder=request.param, n_latents=2, training=TINY),
    ).fit(frame)
    if request.param == "meta":  # explain by what was trained, even if it is not the better one
        use_local(made)
    return made.fit_rules()


def close(one, other, relative=1e-5):
    for name in ("values", "offset", "slopes", "surrogate_probabilities", "probabilities"):
        mine, theirs = getattr(one, name), getattr(other, name)
        tolerance = relative if mine.dtype == np.float64 else 10 * relative
        scale = max(float(np.abs(mine).max(initial=0.0)), 1.0)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale, err_msg=name)
    np.testing.assert_array_equal(one.outside, other.outside)
    np.testing.assert_array_equal(one.imputed, other.imputed)


@given(frame=rows())
@examples(25)
def test_contributions_add_up(explainer, frame):
    found = explainer(frame)
    wanted = explainer.fitted_.twin.model.scale(found.probabilities)  # of a learned twin
    np.testing.assert_allclose(found.scores, wanted, rtol=1e-9, atol=1e-9)
    assert np.isfinite(found.values).all()


@given(frame=rows(), seed=st.integers(0, 99))
@examples(12)
def test_the_order_of_rows_and_columns_and_other_columns_do_not_matter(explainer, frame, seed):
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(frame)), rng.permutation(frame.columns).tolist()
    other = frame.iloc[order][names].assign(unused="?")
    close(explainer(frame)[order], explainer(other))
    alone = explainer(frame.iloc[[int(order[0])]])
    close(explainer(frame)[[int(order[0])]], alone)


@given(frame=rows())
@examples(12)
def test_the_library_of_the_frame_does_not_matter(explainer, frame):
    found = explainer(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas on the way to the others
        others = [pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)]
    for other in others:
        close(found, explainer(other))


@given(frame=rows())
@examples(8)
def test_a_rule_covers_its_own_row_and_selects_what_it_covers(explainer, frame):
    for polish in (True, False):
        rules = explainer.rules(frame, polish=polish)
        for i in range(len(frame)):
            assert rules[i].covers(frame.iloc[[i]])[0], (i, rules[i].text)


@given(frame=rows(most=4))
@examples(4)
def test_counterfactuals_are_decided_otherwise(explainer, frame):
    found = explainer.counterfactuals(frame, n=2)
    if len(found.row):
        decided = explainer.model(found.examples).argmax(1)
        assert (decided != found.decisions[found.row]).all()
    repr(found), found.to_dict(), found.to_frame(), found.to_frame("long")


@given(frame=rows())
@examples(12)
def test_a_check_raises_nothing_and_flags_what_explanations_flag(explainer, frame):
    found = explainer.check(frame)
    assert found.outside_share == pytest.approx(explainer(frame).outside.mean())
    repr(found), found.to_frame(), found.to_dict()
    for feature in found.features:
        assert 0 <= feature.unseen_share + feature.outside_share <= 1
        assert not feature.shift > 1


@given(
    frame=rows(),
    name=st.sampled_from(list(SPEC)),
    junk=st.sampled_from(("text", "lists", "infinite", "dates", "gone")),
)
@examples(15)
def test_rows_that_cannot_be_are_refused_with_a_reason(explainer, frame, name, junk):
    columns = {
        "text": ["old"] * len(frame),
        "lists": [[1]] * len(frame),
        "infinite": np.full(len(frame), np.inf),
        "dates": pd.date_range("2020", periods=len(frame)),
    }
    bad = frame.drop(columns=name) if junk == "gone" else frame.assign(**{name: columns[junk]})
    for work in (explainer, explainer.rules, explainer.check):
        try:
            work(bad)
        except IllumeError as error:
            assert len(str(error)) > 20  # noqa: PT017

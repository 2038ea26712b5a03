"""Counterfactuals of numbers: every example is in the desired range, and keeps all constraints."""

import numpy as np
import pytest

from illume.errors import SchemaError

WISHES = {
    "range": {"desired_range": [70_000, 80_000]},
    "from": {"desired_range": [85_000, None]},
    "up to": {"desired_range": [None, 60_000]},
    "rise": {"desired_change": 5_000},
    "fall": {"desired_change": -5_000},
    "threshold": {"threshold": 72_000},
}


def ends(wish, y):
    """Return from which number, and up to which, examples of rows with numbers y should be."""
    name, value = next(iter(wish.items()))
    none = np.full(len(y), np.inf)
    if name == "desired_range":
        return tuple(np.full(len(y), e if v is None else v) for v, e in zip(value, (-np.inf, np.inf)))  # noqa: B905
    if name == "desired_change":
        return (y + value, none) if value > 0 else (-none, y + value)
    return np.where(y >= value, -np.inf, value), np.where(y >= value, np.nextafter(value, -np.inf), np.inf)


LIMITS = {
    "none": {},
    "features": {"features_to_vary": ["age", "education"]},
    "ranges": {"permitted_range": {"age": [30, 60], "education": ["low", "high"]}},
    "one change": {"max_changes": 1},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("wish", WISHES)
def test_every_example_is_as_desired_and_within_limits(houses, wish, limit):
    rows = houses.X[:40]
    found = houses.explainer.counterfactuals(rows, n=2, **WISHES[wish], **LIMITS[limit])
    low, high = ends(WISHES[wish], houses.predict(rows))
    y = houses.predict(found.examples)
    np.testing.assert_allclose(found.example_predictions[:, 0], y)
    assert ((y >= low[found.row]) & (y <= high[found.row])).all()
    before = rows.iloc[found.row].reset_index(drop=True)
    after = found.examples.reset_index(drop=True)
    changed = ~((before == after) | (before.isna() & after.isna()))
    np.testing.assert_array_equal(changed.to_numpy(), found.changed)
    if limit == "features":
        assert not changed[["income", "owner"]].to_numpy().any()
    if limit == "ranges":
        assert after["age"][changed["age"]].between(30, 60).all()
        assert after["education"][changed["education"]].isin(["low", "high"]).all()
    if limit == "one change":
        assert (found.n_changes == 1).all()
    own = houses.predict(rows)
    there = (own >= low) & (own <= high)
    assert not found.found[there].any()
    assert all("as desired already" in reason for reason in found.reasons[there])
    assert all(found.reasons[~found.found])
    if limit == "none":
        assert found.found[~there].mean() >= 0.95


def test_impossible_ranges_say_why(houses):
    found = houses.explainer.counterfactuals(houses.X[:5], desired_range=[1e9, 2e9])
    assert not found.found.any()
    assert all("no training row makes the model answer from 1e+09" in reason for reason in found.reasons)
    assert "no counterfactual" in str(found[0])


BAD = [
    ({}, "say which numbers are desired"),
    ({"desired_range": [1, 2], "threshold": 3}, "found desired_range and threshold"),
    ({"desired_range": [2, 1]}, "low <= high"),
    ({"desired_range": 5}, "low, high"),
    ({"desired_range": ["a", "b"]}, "low, high"),
    ({"desired_range": [np.nan, 1]}, "low <= high"),
    ({"desired_change": 0}, "other than 0"),
    ({"desired_change": "more"}, "other than 0"),
    ({"desired_change": np.inf}, "other than 0"),
    ({"threshold": "high"}, "threshold must be a number"),
    ({"threshold": np.nan}, "threshold must be finite"),
    ({"desired_class": "high", "threshold": 3}, "for classifiers"),
    ({"min_probability": 0.5, "threshold": 3}, "for classifiers"),
    ({"threshold": 3, "output": "weight"}, "output must be one of"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_bad_arguments_are_refused_before_any_work(houses, options, words):
    before = houses.explainer.fitted_.black_box.n_asked
    with pytest.raises(ValueError, match=words):
        houses.explainer.counterfactuals(houses.X[:3], **options)
    assert houses.explainer.fitted_.black_box.n_asked == before


def test_unknown_features_are_refused(houses):
    with pytest.raises(SchemaError, match="features_to_vary names"):
        houses.explainer.counterfactuals(houses.X[:3], threshold=7e4, features_to_vary=["height"])


def test_classifiers_have_no_ranges(loan_explainer, loan_frame):
    with pytest.raises(ValueError, match="desired_range is for models that answer with numbers"):
        loan_explainer.counterfactuals(loan_frame[:3], desired_range=[0, 1])


@pytest.mark.parametrize(("output", "column"), [("weight", 1), (0, 0)])
def test_one_of_several_outputs_is_moved(pair, output, column):
    rows = pair.X[:20]
    found = pair.explainer.counterfactuals(rows, n=1, desired_change=1.0, output=output)
    y, own = pair.predict(found.examples)[:, column], pair.predict(rows)[found.row, column]
    assert (y >= own + 1.0).all()
    assert found.found.mean() > 0.8
    with pytest.raises(ValueError, match="output must be one of"):
        pair.explainer.counterfactuals(rows, desired_change=1.0)


@pytest.mark.parametrize("wish", ["range", "rise", "threshold"])
def test_a_rule_says_where_its_interval_goes_beyond_the_wish(houses, wish):
    rows = houses.X[:40]
    found = houses.explainer.counterfactuals(rows, n=1, **WISHES[wish])
    low, high = ends(WISHES[wish], houses.predict(rows))
    words = "its interval goes beyond what was wished for"
    seen = set()
    for i in np.flatnonzero(found.has_rule):
        interval = found.rules.interval[i] if found.rules.interval is not None else (low[i], high[i])
        beyond = interval[0] < low[i] or interval[1] > high[i]
        seen.add(bool(beyond))
        assert found[int(i)].to_dict()["rule_beyond_wish"] == beyond
        assert (words in repr(found[int(i)])) == (beyond and bool(found[int(i)].conditions))
    assert (True in seen) == (wish != "threshold")

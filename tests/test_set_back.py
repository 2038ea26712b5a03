"""A parameter that is set after the fit and set back leaves every explanation as it was."""

from copy import copy
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import illume
from illume.errors import SchemaError
from tests.test_positive_class import MODEL, ROWS, fit

DATE = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = {"age": {"label": "Age", "unit": "years"}}
PATHS = {
    "a threshold": [{"threshold": 0.95}],
    "a class and its thresholds": [{"positive_class": "grant"}, {"threshold": 0.8}, {"threshold": 0.3}],
    "labels and a class": [{"labels": LABELS, "unknown": "ignore"}, {"positive_class": "grant"}],
}
FIRST = {"threshold": None, "positive_class": None, "labels": None, "unknown": "error"}


@pytest.fixture(scope="module")
def fitted():
    return fit().fit_rules()


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "a.illume"
    fitted.save(path, rows=100)
    return path


@pytest.fixture(params=["fitted", "loaded"])
def explainer(request, fitted, path):
    return copy(fitted) if request.param == "fitted" else illume.load(path, model=MODEL)


def everything(explainer):
    """Return all that an explainer says about some rows, as text and arrays."""
    rows = ROWS[:12]
    found, rules, examples = explainer(rows), explainer.rules(rows), explainer.counterfactuals(rows[:2])
    quality = replace(explainer.rule_quality_, seconds=0.0)
    texts = [repr(each) for each in (*found, *rules, *examples, found, rules, examples)]
    texts += [repr(explainer.rule_set()), repr(explainer.quality_), repr(quality)]
    frames = [each.to_frame() for each in (found, rules, examples)]
    arrays = [found.values, found.trust.share, found.standard_errors, found.slopes, rules.precision]
    return [*texts, *frames, *arrays]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        if isinstance(a, pd.DataFrame):
            pd.testing.assert_frame_equal(a, b, check_exact=True)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("steps", PATHS.values(), ids=PATHS)
def test_what_is_set_and_set_back_leaves_no_trace(steps, explainer):
    before = everything(explainer)
    for step in steps:
        explainer.set_params(**step).rules(ROWS[:3])
    assert repr(explainer(ROWS[:12])[0]) != before[0]
    explainer.set_params(**FIRST)
    assert_same(everything(explainer), before)


def test_an_explanation_does_not_depend_on_what_was_asked_before_it(explainer):
    other = copy(explainer)
    explainer.threshold = 0.3
    other.threshold = 0.8
    other.rules(ROWS[:3], threshold=0.4)
    other.threshold = 0.3
    assert_same(everything(other), everything(explainer))


def test_files_and_reports_of_an_explainer_that_was_set_back_are_the_same(explainer, tmp_path):
    written = []
    for name in ("before", "after"):
        explainer.save(tmp_path / name, rows=100)
        report = explainer.report(ROWS[:3], tmp_path / f"{name}.html", date=DATE, n_counterfactuals=1)
        written.append((tmp_path / name).read_bytes() + report.read_bytes())
        explainer.threshold = 0.8
        explainer.rules(ROWS[:3])
        explainer.threshold = None
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threshold", 30, "threshold must be a probability above 0 and below 1, found 30"),
        ("threshold", "high", "threshold must be a probability above 0 and below 1, found 'high'"),
        ("positive_class", "yes", r"positive_class 'yes' is not known; choose one of \['grant', 'refuse'\]"),
        ("labels", {"aeg": "Age"}, "labels names .*aeg"),
        ("labels", 3, "labels must be a mapping"),
        ("unknown", "skip", "unknown must be 'error' or 'ignore', found 'skip'"),
    ],
)
def test_a_value_that_cannot_work_is_refused_when_it_is_set(name, value, message, explainer):
    before = getattr(explainer, name)
    for attempt in (lambda: setattr(explainer, name, value), lambda: explainer.set_params(**{name: value})):
        with pytest.raises((ValueError, TypeError, SchemaError), match=message):
            attempt()
        assert getattr(explainer, name) is before
    explainer(ROWS[:2])

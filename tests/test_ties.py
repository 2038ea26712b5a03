"""A probability of exactly one half is decided as the first class, by every part alike."""

import numpy as np
import pandas as pd
import pytest

from illume import DataOptions, Explainer, SurrogateOptions


def model(rows):
    """No up to 1, an exact tie up to 2, yes above; `b` does not matter."""
    a = rows["a"].to_numpy()
    p = np.where(a <= 1, 0.0, np.where(a <= 2, 0.5, 1.0))
    return np.column_stack([1 - p, p])


@pytest.fixture(scope="module")
def explainer():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": np.tile([0.0, 1.0, 1.5, 2.0, 2.5, 3.0], 40), "b": rng.normal(size=240)})
    return Explainer(
        model,
        queries=0,
        surrogate_options=SurrogateOptions(encoder="identity"),
        data_options=DataOptions(class_names=["no", "yes"]),
    ).fit(rows)


def row(a):
    return pd.DataFrame({"a": [a], "b": [0.0]})


def test_a_tie_is_the_first_class(explainer):
    assert explainer(row(1.5))[0].decision == "no"
    assert explainer.rules(row(1.5))[0].decision == "no"
    assert explainer.counterfactuals(row(1.5))[0].decision == "no"


def test_who_wants_the_first_class_may_stop_at_the_tie(explainer):
    found = explainer.counterfactuals(row(3.0), n=1)
    (example,) = found[0].examples
    assert found.after[0, 0] == 2.0  # the closest value that is not yes
    assert (example.decision, example.probability) == ("no", 0.5)
    assert found.to_frame()["decision"].tolist() == ["yes", "no"]  # the row, then its example
    assert model(found.examples).argmax(1).tolist() == [0]


def test_who_wants_the_second_class_must_go_beyond_the_tie(explainer):
    for a in (0.0, 1.5):
        found = explainer.counterfactuals(row(a), n=1)
        (example,) = found[0].examples
        assert found.after[0, 0] == 2.5
        assert (example.decision, example.probability) == ("yes", 1.0)
        assert model(found.examples).argmax(1).tolist() == [1]

"""Frames that once led to a fault, found by tests/fuzz."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from illume import Explainer
from illume.data.encoding import LARGEST, Encoding, standardise
from illume.data.frames import as_frame
from illume.data.schema import Schema
from illume.errors import SchemaError
from illume.explanations.rule_sample import roundest
from tests.common import FAST, grouped, loans


def by_sign(frame):
    return 1 / (1 + np.exp(-np.sign(np.nan_to_num(frame["a"].to_numpy(dtype=float))) * 2))


def test_a_row_beyond_all_training_rows_is_encoded_as_a_finite_number():
    frame = as_frame(pd.DataFrame({"a": [5e-324, 0.0, -5e-324, 0.0]}))
    encoding = Encoding.fit(Schema.infer(frame.native), frame)
    X = encoding.transform(as_frame(pd.DataFrame({"a": [1.7e308, -1.7e308, np.nan]}))).X
    assert X.ravel().tolist() == [LARGEST, -LARGEST, 0.0]


def test_numbers_whose_difference_is_too_large_for_a_number_are_scaled_all_the_same():
    far = standardise(np.array([1.7e308]), np.array([-1.7e308]), np.array([1.7e308]))
    assert far.tolist() == [2.0]


def test_a_round_number_lies_between_the_largest_ones():
    low, high = np.array([1.1e308, -1.7e308]), np.array([1.6e308, 1.7e308])
    between = roundest(low, high)
    assert low[0] < between[0] < high[0]


@pytest.mark.parametrize("encoder", ["identity", "linear"])
def test_the_largest_and_smallest_numbers_are_fitted_explained_and_ruled(encoder):
    rng = np.random.default_rng(0)
    ends = rng.choice([1.7e308, -1.7e308, 5e-324, 0.0, 1.0, 1e-300], 40)
    frame = pd.DataFrame({"a": ends, "b": rng.normal(size=40) * 1e300, "c": rng.normal(size=40) * 1e-300})
    settings = {"encoder": encoder, "n_latents": 1, "training": FAST, "queries": 40}
    explainer = Explainer(by_sign, **grouped(**settings)).fit(frame)
    found, rules = explainer(frame), explainer.rules(frame)
    assert np.isfinite(found.values).all()
    fitted = explainer.fitted_
    assert np.isfinite(fitted.places().distance(fitted.encode(as_frame(frame)).X)).all()
    assert all(rules[i].covers(frame.iloc[[i]])[0] for i in range(len(frame)))
    assert len(explainer.rule_set()) > 0
    assert len(explainer.counterfactuals(frame.iloc[:3]))


def test_whole_numbers_of_arrow_may_be_larger_than_a_float_holds_exactly():
    table = pa.table({"id": pa.array([2**60 + 1, None, -(2**62)], pa.int64())})
    np.testing.assert_array_equal(as_frame(table).numbers("id"), [2.0**60, np.nan, -(2.0**62)])


@pytest.mark.parametrize("value", [Decimal("31"), [1], b"31", (1, 2)])
def test_values_that_are_no_numbers_are_refused_and_not_taken_for_missing(loan_explainer, value):
    frame = loans(3)
    frame["income"] = pd.Series([value, value, None], dtype=object)
    with pytest.raises(SchemaError, match=f"a {type(value).__name__} such as"):
        loan_explainer(frame)


def test_lists_are_no_categories(loan_explainer):
    with pytest.raises(SchemaError, match="no categories"):
        loan_explainer(loans(2).assign(education=[["low"], ["high"]]))

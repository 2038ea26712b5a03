"""Files of attributions must know which contributions they hold, and an error for each."""

import json

import numpy as np
import pytest

import illume
from illume import Explainer
from illume.errors import FormatError
from tests.common import FAST, grouped
from tests.io.common import same


@pytest.fixture(scope="module", params=["shapley", "pullback"])
def attributions(request, loan_model, loan_frame):
    settings = {"n_latents": 2, "queries": 1_000, "effort": "quick", "training": FAST, "verbose": False}
    explainer = Explainer(loan_model, **grouped(contributions=request.param, **settings)).fit(loan_frame)
    return explainer(loan_frame.head(12))


def test_kinds_and_errors_come_along_with_rows_and_features(attributions):
    part, top = attributions[3:5], attributions.top(2)
    assert part.kind == top.kind == attributions.kind
    np.testing.assert_array_equal(part.standard_errors, attributions.standard_errors[3:5])
    assert top.standard_errors.shape == top.values.shape == (12, 2)
    assert np.isnan(attributions.standard_errors).all() or attributions.kind == "shapley"


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_kinds_and_errors_come_back_from_a_file(attributions, suffix, tmp_path):
    attributions.save(tmp_path / f"a.{suffix}")
    assert same(illume.load_result(tmp_path / f"a.{suffix}"), attributions)


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("plain", "kind"), "lime", "kind of contributions is 'lime'"),
        (("plain", "kind"), None, "kind"),
        (
            ("rows", "standard_errors"),
            {"type": "float32", "shape": [12, 1], "values": [0.0] * 12},
            r"standard_errors has the shape \(12, 1\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(attributions, where, value, said, tmp_path):
    path = tmp_path / "a.json"
    attributions.save(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    found[where[0]][where[1]] = value
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(FormatError, match=said):
        illume.load_result(path)

"""Every result, and every row of it, has what the base classes of results promise."""

import numpy as np
import pytest

from tests.common import loans

ROWS = loans(12, seed=5)
ROWS.loc[3, "age"] = 900.0


@pytest.fixture(scope="module")
def results(loan_explainer):
    return {
        "attributions": loan_explainer(ROWS),
        "latents": loan_explainer.latents(ROWS, maps=True),
        "rules": loan_explainer.rules(ROWS),
        "counterfactuals": loan_explainer.counterfactuals(ROWS, n=1),
    }


@pytest.mark.parametrize("kind", ["attributions", "latents", "rules", "counterfactuals"])
def test_every_public_attribute_can_be_read(results, kind):
    for result in (results[kind], results[kind][3], results[kind][:0]):
        unreadable = [name for name in dir(result) if name[0] != "_" and not hasattr(result, name)]
        assert unreadable == []


def test_all_results_agree_on_which_rows_are_outside_and_why(results):
    expected = results["attributions"]
    assert expected.outside[3]
    assert not expected.outside.all()
    for result in results.values():
        np.testing.assert_array_equal(result.outside, expected.outside)
        for i in (0, 3):
            assert result[i].outside == expected.outside[i]
            assert result[i].outside_reasons == expected[i].outside_reasons
    some = results["latents"][[3, 0]]
    np.testing.assert_array_equal(some.outside, expected.outside[[3, 0]])

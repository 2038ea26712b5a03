"""Results are pickled as they are: for joblib, worker processes and notebooks that keep them."""

import pickle

import pandas as pd
import pytest

from tests.common import loans
from tests.io.common import same

ROWS = loans(6, seed=5).set_index(pd.Index(list("abcdef")))


def copied(result):
    return pickle.loads(pickle.dumps(result))


def results(explainer, wish):
    """Every kind of result of a few rows."""
    found = explainer(ROWS)
    _ = found.slopes  # trains the latent surrogate, which a copy cannot
    known = {"interactions": explainer.interactions(ROWS)} if found.kind == "shapley" else {}
    return known | {
        "attributions": found,
        "top features": found.top(2),
        "latents": explainer.latents(ROWS, maps=True),
        "rules": explainer.rules(ROWS),
        "rule set": explainer.rule_set(),
        "counterfactuals": explainer.counterfactuals(ROWS, n=1, **wish),
        "check": explainer.check(ROWS),
        "quality": explainer.quality_,
    }


@pytest.mark.parametrize(
    ("name", "wish"),
    [("loan_explainer", {}), ("loan_pullback", {}), ("limit_explainer", {"desired_change": 2_000})],
)
def test_a_pickled_result_has_every_bit_and_prints_the_same(name, wish, request):
    for kind, result in results(request.getfixturevalue(name), wish).items():
        again = copied(result)
        assert same(again, result), kind
        assert repr(again) == repr(result), kind
        if hasattr(result, "to_frame"):
            assert again.to_frame().equals(result.to_frame()), kind


def test_a_row_and_its_reasons_can_be_pickled(loan_explainer):
    found = loan_explainer(ROWS)
    for result in (found[1], found[1].reasons(2), found.reasons(2), found.loc[["c", "a"]].reasons()):
        assert repr(copied(result)) == repr(result)


def test_pickled_rows_are_taken_by_position_and_by_label(loan_explainer):
    for result in (loan_explainer(ROWS), loan_explainer.rules(ROWS), loan_explainer.latents(ROWS)):
        again = copied(result)
        assert repr(again[2]) == repr(result[2]) == repr(again.loc["c"])

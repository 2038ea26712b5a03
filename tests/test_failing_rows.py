"""Rows that a model fails on are named by their place among those that a user gave."""

import numpy as np
import pytest

from illume.data.sampling import evenly_spaced
from illume.errors import BlackBoxError, RowError, rows_after
from illume.explanations import counterfactual_search
from illume.explanations.counterfactual_search import CounterfactualSearch
from tests.common import global_explainer

X = np.random.default_rng(0).normal(size=(120, 2))
ROWS = np.random.default_rng(1).normal(size=(30, 2))  # none of which values are taken from
BAD = int(np.flatnonzero(ROWS[:, 0] < 0)[-1])  # others before it are decided 1, and not changed to become 1
SAID = "on changed rows, named by the rows they were made of, the model raised ValueError: no such row"
WISH = {"n": 1, "features_to_vary": ["x0"], "desired_class": "1"}


class Touchy:
    """A model of x0 that fails on some rows, known by their x1, once their x0 is changed."""

    def __init__(self):
        self.first = {}

    def refuse(self, *rows):
        self.first = {ROWS[row, 1]: ROWS[row, 0] for row in rows}

    def __call__(self, rows):
        if any((rows[rows[:, 1] == tag, 0] != own).any() for tag, own in self.first.items()):
            raise ValueError("no such row")
        return 1 / (1 + np.exp(-3 * rows[:, 0]))


@pytest.fixture(scope="module")
def fitted():
    return global_explainer(Touchy()).fit(X).fit_rules()


@pytest.fixture
def explainer(fitted):
    yield fitted
    fitted.model.refuse()


@pytest.mark.parametrize("at_once", [7, 4096])
def test_a_changed_row_is_named_by_the_row_it_was_made_of(explainer, monkeypatch, at_once):
    monkeypatch.setattr(counterfactual_search, "AT_ONCE", at_once)
    explainer.model.refuse(BAD)
    with pytest.raises(BlackBoxError, match=f"^{SAID}; failing rows: {BAD}$") as caught:
        explainer.counterfactuals(ROWS, **WISH)
    assert isinstance(caught.value.__cause__, ValueError)


def test_so_it_is_where_examples_are_put_to_the_model_once_more(explainer, monkeypatch):
    check = CounterfactualSearch.verify

    def checked(*args):
        explainer.model.refuse(BAD)
        return check(*args)

    monkeypatch.setattr(CounterfactualSearch, "verify", checked)
    with pytest.raises(BlackBoxError, match=f"^{SAID}; failing rows: {BAD}$"):
        explainer.counterfactuals(ROWS, **WISH)


def test_in_a_stream_and_of_a_file_it_is_the_row_of_the_whole(explainer):
    explainer.model.refuse(BAD)
    says = rf"failing rows of new\.csv \(from 0\): {BAD}$"
    with pytest.raises(BlackBoxError, match=says), rows_after(0, "new.csv"):
        list(explainer.stream(ROWS, 8, "counterfactuals", **WISH | {"desired_class": "opposite"}))


def test_where_no_row_can_be_named_it_is_said_that_rows_were_changed(explainer):
    explainer.model.refuse(BAD)
    with pytest.raises(BlackBoxError, match=r"^on changed rows, the model raised ValueError on \d+ rows"):
        explainer.counterfactuals(ROWS[[BAD]], **WISH)


def test_a_report_on_some_rows_names_them_by_their_place_in_all(explainer, tmp_path):
    odd, place = X[:60].copy(), int(evenly_spaced(60, 20)[13])
    odd[place, 1] = np.inf
    with pytest.raises(RowError, match=f"column 'x1' holds inf in row {place}; replace"):
        explainer.report(odd, tmp_path / "a.html", max_rows=20)


def test_so_does_its_search_for_counterfactuals_in_some_of_these(explainer, tmp_path):
    shown = evenly_spaced(30, 20)
    positive = shown[ROWS[shown, 0] > 0]  # of the rows shown, these come first
    place = int(positive[evenly_spaced(len(positive), 8)[4]])
    assert len(positive) > 8
    explainer.model.refuse(place)
    with pytest.raises(BlackBoxError, match=r"^on changed rows, .*no such row") as caught:
        explainer.report(ROWS, tmp_path / "a.html", max_rows=20, max_counterfactual_rows=8)
    assert caught.value.rows == (place,)

"""A fit on very few rows works, and says that its figures mean little."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from illume.data.sampling import rows_needed, split_rows
from illume.errors import FewRowsWarning
from tests.common import global_explainer, linear_black_box


def fitted(n, **settings):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return global_explainer(linear_black_box([2.0, -1.0]), **settings).fit(X)


def test_ten_rows_are_warned_of_with_what_was_found_and_what_to_do():
    with pytest.warns(FewRowsWarning) as caught:
        explainer = fitted(10)
    (warning,) = caught
    assert str(warning.message) == (
        "only 2 held-out and 2 validation rows, so the figures mean little: were all 2 alike, the agreement "
        "might still be 0.34; fit with 130 rows or more (or, in Python, larger validation_size, report_size)"
    )
    assert warning.filename == __file__
    assert "only 2 held-out and 2 validation rows" in repr(explainer.quality_)


@pytest.mark.parametrize(("n", "size"), [(130, 0.15), (78, 0.25), (134, 0.15)])
def test_enough_rows_are_not_warned_of(n, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewRowsWarning)
        explainer = fitted(n, validation_size=size, report_size=size)
    assert explainer.quality_.report.n_rows == 20
    assert explainer.quality_.few == ""
    assert "mean little" not in repr(explainer.quality_)


def test_one_row_less_is_too_few():
    with pytest.warns(FewRowsWarning, match=r"only 19 held-out and 19 validation rows.* fit with 130 rows"):
        fitted(129)


def test_the_guide_names_the_same_number_of_rows():
    guide = (Path(__file__).parents[1] / "docs/guides/trust.md").read_text(encoding="utf-8")
    assert "(fewer than 130 rows in all, by default)" in guide


@pytest.mark.parametrize("share", [0.01, 0.1, 0.15, 0.2, 1 / 3, 0.4])
@pytest.mark.parametrize("size", [1, 2, 19, 20])
def test_so_many_rows_are_needed_and_none_less(size, share):
    def part(n):
        return len(split_rows(np.arange(n) % 2, share, share, np.random.default_rng(0)).report)

    needed = rows_needed(size, share)
    assert part(needed) >= size
    assert size == 1 or part(needed - 1) < size


def test_few_rows_that_choose_are_warned_of_too():
    with pytest.warns(FewRowsWarning, match="only 40 held-out and 10 validation rows"):
        fitted(100, validation_size=0.1, report_size=0.4)

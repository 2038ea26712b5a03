"""Attributions that several files of these tests look at."""

import pandas as pd
import pytest

from tests.common import loans


@pytest.fixture(scope="session")
def binary(loan_explainer):
    return loan_explainer(loans(60, seed=5).set_index(pd.RangeIndex(100, 160)))


@pytest.fixture(scope="session")
def pullback(loan_pullback):
    """Pulled-back contributions, with refined rows among them."""
    return loan_pullback(loans(60, seed=9))


@pytest.fixture(scope="session")
def several(three_class_explainer, three_class):
    return three_class_explainer(three_class[1].iloc[:40])

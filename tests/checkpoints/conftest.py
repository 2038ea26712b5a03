import pytest

from tests.common import brief_shapley


@pytest.fixture(scope="package", autouse=True)
def brief():
    with brief_shapley():
        yield

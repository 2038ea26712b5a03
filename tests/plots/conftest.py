import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from tests.plots.cases import CASES, FLAT, MIXED, SEVERAL

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # of other tests
    yield
    plt.close("all")


@pytest.fixture(scope="package")
def material(request):
    """Every kind of result, by the name of the case; made when first needed."""
    made = {}

    def get(case):
        if case not in made:
            made[case] = CASES[case](get, request.getfixturevalue)
        return made[case]

    return get


@pytest.fixture(params=CASES)
def case(request, material):
    return material(request.param)


@pytest.fixture
def mixed(material):
    return material(MIXED)


@pytest.fixture
def several(material):
    return material(SEVERAL)


@pytest.fixture
def flat(material):
    return material(FLAT)

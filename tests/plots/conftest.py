import matplotlib as mpl
import pytest

from tests.plots.cases import CASES, build

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="package")
def material(loan_explainer, three_class_explainer, three_class):
    """Every kind of result, by the case that it stands for; made on first need."""
    made = {}

    def get(case):
        if case not in made:
            made[case] = build(case, get, loan_explainer, three_class_explainer, three_class[1])
        return made[case]

    return get


@pytest.fixture(params=CASES)
def case(request, material):
    return material(request.param)


@pytest.fixture
def mixed(material):
    return material("binary, with categories and missing values")


@pytest.fixture
def several(material):
    return material("three classes")


@pytest.fixture
def flat(material):
    return material("two latents, three classes")

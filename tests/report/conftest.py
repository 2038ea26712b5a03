import numpy as np
import pytest

from illume import DataOptions, Explainer, SurrogateOptions
from tests.common import FAST, loans
from tests.report.browser import Page, start_chromium
from tests.report.common import CLASSES, DATE, SCRIPT, odd_frame, odd_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def odd_explainer():
    return Explainer(
        odd_model,
        queries=200,
        surrogate_options=SurrogateOptions(n_latents=2, training=FAST),
        data_options=DataOptions(class_names=CLASSES),
    ).fit(odd_frame())


@pytest.fixture(scope="session")
def loan_learned(loan_model):
    """The loans' model, learned by networks, with errors that were measured."""
    return Explainer(loan_model, twin="learned", effort="quick", queries=3_000, verbose=False).fit(
        loans(400, seed=9)
    )


@pytest.fixture(scope="session")
def learned_explorer(loan_learned, loan_frame, folder):
    return loan_learned.explorer(loan_frame, folder / "learned explorer.html", date=DATE)


@pytest.fixture(scope="session")
def odd_report(odd_explainer, folder):
    return odd_explainer.report(odd_frame(), folder / "odd.html", title=f"{SCRIPT} & co", date=DATE)


@pytest.fixture(scope="session")
def loan_report(loan_explainer, loan_frame, folder):
    return loan_explainer.report(
        loan_frame, folder / "loans.html", n_counterfactuals=1, max_counterfactual_rows=50, date=DATE
    )


@pytest.fixture(scope="session")
def three_class_report(three_class_explainer, three_class, folder):
    return three_class_explainer.report(
        three_class[1], folder / "three.html", max_counterfactual_rows=20, date=DATE
    )


@pytest.fixture(scope="session")
def number_report(limit_explainer, loan_frame, folder):
    return limit_explainer.report(loan_frame, folder / "limits.html", max_counterfactual_rows=20, date=DATE)


@pytest.fixture(scope="session")
def labelled_report(three_class_explainer, three_class, folder):
    """A report that measures the model, too."""
    model, X = three_class
    y = np.roll(model.predict(X), 30)
    return three_class_explainer.report(X, folder / "labelled.html", y=y, counterfactuals=False, date=DATE)


@pytest.fixture(scope="session")
def loan_explorer(loan_explainer, loan_frame, folder):
    return loan_explainer.explorer(loan_frame, folder / "loan explorer.html", date=DATE)


@pytest.fixture(scope="session")
def odd_explorer(odd_explainer, folder):
    return odd_explainer.explorer(
        odd_frame(), folder / "odd explorer.html", title=f"{SCRIPT} & co", date=DATE
    )


@pytest.fixture(scope="session")
def three_class_explorer(three_class_explainer, three_class, folder):
    return three_class_explainer.explorer(three_class[1], folder / "three explorer.html", date=DATE)


@pytest.fixture(scope="session")
def number_explorer(limit_explainer, loan_frame, folder):
    return limit_explainer.explorer(loan_frame, folder / "limit explorer.html", date=DATE)


@pytest.fixture(scope="session")
def page():
    driver = start_chromium()
    yield Page(driver)
    driver.quit()

"""The explorer of a service in a browser: the live model of every kind behind it, also behind a key."""

import re
from contextlib import contextmanager, suppress
from urllib.parse import quote

import joblib
import numpy as np
import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.report.browser import start_chromium
from tests.report.explorer_page import share

pytestmark = pytest.mark.browser
KEY = "a-key"


@contextmanager
def opened(url, **headers):
    """Open a page of a service in Chromium, with headers that are sent with every request."""
    driver = start_chromium()
    driver.set_network_conditions(offline=False, latency=0, throughput=10**8)
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": headers})
    try:
        driver.get(url)
        WebDriverWait(driver, 20).until(lambda d: d.find_elements(By.CSS_SELECTOR, ".answer-cell"))
        yield driver
    finally:
        driver.quit()


def answers(driver):
    """Return all that is said in answer, without the words of trust."""
    text = driver.find_element(By.CSS_SELECTOR, ".answer-cells").text
    return re.sub("(Nothing unusual|Be careful here|Too close to call)\n", "", text)


def model_says(driver):
    text = driver.find_element(By.CSS_SELECTOR, ".answer-cell.by-model").text
    return re.sub("(Nothing unusual|Be careful here|Too close to call)\n", "", text)


def set_number(driver, label, value):
    script = """const card = [...document.querySelectorAll(".control-card")]
      .find((one) => one.querySelector(".name").textContent.startsWith(arguments[1]));
    const box = card.querySelector("input.box");
    box.value = arguments[0];
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new Event("change", { bubbles: true }));"""
    driver.execute_script(script, str(value), label)


def wait_for_model(driver, text):
    """Wait until the model's own answer is shown with a text."""
    found = []
    with suppress(TimeoutException):
        WebDriverWait(driver, 10).until(lambda d: found.append(model_says(d)) or text in found[-1])
    assert text in found[-1]


def test_an_edited_row_gets_the_models_own_answer(serve, saved, loan_model, rows, tmp_path):
    rows[:1].to_csv(tmp_path / "rows.csv", index=False)
    words = ("--model", saved / "loans.model.joblib", "--trust-model")
    process, url, _ = serve(*words, "--explorer", tmp_path / "rows.csv")
    with opened(f"{url}/explorer") as driver:
        assert "The model itself is connected" in driver.find_element(By.CSS_SELECTOR, ".online").text
        asked = set()
        for age in (19, 79):
            set_number(driver, "age", age)
            (chance,) = loan_model.predict_proba(rows[:1].assign(age=age))[:, 1:].ravel()
            shown = re.compile(rf"{100 * chance:.0f}(\.\d)? ?%")
            WebDriverWait(driver, 20).until(lambda d, shown=shown: shown.search(model_says(d)))
            asked.add(np.round(chance, 2))
        assert len(asked) == 2
        process.kill()
        set_number(driver, "age", 50)
        WebDriverWait(driver, 20).until(lambda d: "the service cannot be reached" in answers(d))
        assert not [each for each in driver.get_log("browser") if "Security" in each["message"]]


def test_a_page_without_the_model_asks_nobody(serve, rows, tmp_path):
    rows[:1].to_csv(tmp_path / "rows.csv", index=False)
    _, url, _ = serve("--explorer", tmp_path / "rows.csv")
    with opened(f"{url}/explorer") as driver:
        assert not driver.find_elements(By.CSS_SELECTOR, ".online")
        set_number(driver, "age", 50)
        assert "it differs by" not in answers(driver)


@pytest.fixture
def open_live(serve, tmp_path):
    """Return a function that serves an explainer with its model, and opens the explorer of some rows."""

    def open_page(explainer, rows, *words):
        explainer.save(tmp_path / "served.illume")
        joblib.dump(explainer.model, tmp_path / "model.joblib")
        rows.to_csv(tmp_path / "rows.csv", index=False)
        model = ("--model", tmp_path / "model.joblib", "--trust-model", "--explorer", tmp_path / "rows.csv")
        return opened(f"{serve(*model, *words, file=tmp_path / 'served.illume')[1]}/explorer")

    return open_page


def wait_for_decision(driver, name, chance, of):
    """Wait until the model's own decision is shown, and its probability of a class."""
    wait_for_model(driver, f"{name}\n{share(chance)} for {of}")


def flips(driver):
    """Wait until the model has answered all changes that were found, and return what it says."""
    found = ".found .confirmed, .found .caution"
    WebDriverWait(driver, 20).until(
        lambda d: (
            d.find_elements(By.CSS_SELECTOR, found)
            and not d.find_elements(By.CSS_SELECTOR, ".found .unconfirmed")
        )
    )
    return [each.text for each in driver.find_elements(By.CSS_SELECTOR, found)]


def test_the_models_number_stands_beside_the_twins(open_live, limit_explainer, limit_model, loan_frame):
    row = loan_frame[:1]
    with open_live(limit_explainer, row) as driver:
        assert "The model itself is connected" in driver.find_element(By.CSS_SELECTOR, ".online").text
        for age in (19, 79):
            set_number(driver, "age", age)
            (number,) = limit_model.predict(row.assign(age=age))
            wait_for_model(driver, f"{number:,.0f}")
            WebDriverWait(driver, 20).until(lambda d: "it differs by" in answers(d))
        said = flips(driver)
        goal = driver.find_element(By.CSS_SELECTOR, ".wish input").get_property("valueAsNumber")
        for text in said:
            verdict, number = text.replace(",", "").split(": ")
            assert verdict == (
                "Confirmed by the model" if float(number) >= goal else "The model does not follow"
            )


def test_several_numbers_of_the_model_stand_beside_the_twins(open_live, two_numbers):
    model, X, explainer = two_numbers
    with open_live(explainer, X[:1]) as driver:
        set_number(driver, "a", 1.5)
        size = model.predict(X[:1].assign(a=1.5))[0, 0]
        decimals = explainer.fitted_.outputs.decimals(0)
        wait_for_model(driver, f"size {size:.{decimals}f}")
        assert "weight" in model_says(driver)


def test_the_class_of_many_that_the_model_decides_for_is_shown(open_live, three_class_explainer, three_class):
    model, X = three_class
    with open_live(three_class_explainer, X[:1]) as driver:
        decided = set()
        for a in (-2, 0.6, 2.5):
            set_number(driver, "a", a)
            row = X[:1].assign(a=a)
            (name,), chance = model.predict(row), model.predict_proba(row).max()
            WebDriverWait(driver, 20).until(
                lambda d, n=name, c=chance: re.search(rf"{n}\n{100 * c:.0f}(\.\d)? ?% for {n}", model_says(d))
            )
            decided.add(name)
        assert len(decided) > 1
        assert flips(driver)


def test_the_model_decides_by_the_services_threshold(open_live, loan_explainer, loan_model, loan_frame):
    row, words = loan_frame[:1], ("--positive-class", "grant", "--threshold", "0.98")
    with open_live(loan_explainer, row, *words) as driver:
        names = []
        for age in range(19, 80, 15):
            set_number(driver, "age", age)
            chance = loan_model.predict_proba(row.assign(age=age))[0, 0]
            names.append("grant" if chance >= 0.98 else "refuse")
            wait_for_decision(driver, names[-1], chance, "grant")
        assert "refuse" in names


def test_a_page_behind_a_key_asks_the_model_with_the_browsers_password_or_token(serve, saved, rows, tmp_path):
    rows[:1].to_csv(tmp_path / "rows.csv", index=False)
    words = ("--model", saved / "loans.model.joblib", "--trust-model", "--explorer", tmp_path / "rows.csv")
    _, url, _ = serve(*words, ILLUME_API_KEY=KEY)
    within = url.replace("http://", f"http://me:{quote(KEY)}@")
    for page in (opened(f"{within}/explorer"), opened(f"{url}/explorer", Authorization=f"Bearer {KEY}")):
        with page as driver:
            set_number(driver, "age", 50)
            WebDriverWait(driver, 20).until(lambda d: "it differs by" in answers(d))
            assert "not be asked" not in model_says(driver)

"""The explorer in JupyterLab and marimo: a real server, a real kernel and a real browser."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import joblib
import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.common import loans
from tests.report.browser import start_chromium

pytestmark = pytest.mark.notebook

# Python writes each edited row to a file, and takes age 61 as a wish to see age 25.
CELL = """
import illume, joblib, pandas as pd
explainer = illume.load("loans.illume", model=joblib.load("model.joblib"))
widget = explainer.explore(pd.read_pickle("rows.pkl"))

def take(change):
    change["new"].to_pickle("edited.pkl")
    if change["new"].loc[0, "age"] == 61:
        widget.row = change["new"].assign(age=25)

widget.observe(take, "row")
"""
MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
{cell}
    mo.ui.anywidget(widget)
    return

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def folder(loan_explainer, loan_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    loan_explainer.fit_rules().save(folder / "loans.illume")
    joblib.dump(loan_model, folder / "model.joblib")
    loans(20, seed=3).to_pickle(folder / "rows.pkl")
    cells = [CELL + "widget", "widget.row.dtypes.astype(str).to_dict()"]
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel}
    listed = [{**code, "id": f"cell-{i}", "source": source} for i, source in enumerate(cells)]
    (folder / "notebook.ipynb").write_text(json.dumps({**notebook, "cells": listed}))
    inside = "".join(f"    {line}\n" for line in CELL.splitlines())
    (folder / "app.py").write_text(MARIMO.format(cell=inside))
    return folder


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextmanager
def running(folder, *words, path):
    """Start a server of notebooks; yield the address of one."""
    port = free_port()
    command = [sys.executable, "-m", *words, "--port", str(port)]
    with open(folder / f"{words[0]}.log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}{path}"
    try:
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(url).close()
                break
            except OSError:
                assert process.poll() is None, log.name
                assert time.monotonic() < until, log.name
                time.sleep(0.3)
        yield url
    finally:
        process.terminate()
        process.wait(20)


class Notebook:
    """A notebook in a browser, with the explorer in one of its cells."""

    def __init__(self, driver):
        self.driver = driver

    def wait(self, condition, seconds=60):
        return WebDriverWait(self.driver, seconds, ignored_exceptions=[Exception]).until(
            lambda _: condition()
        )

    def inside(self, selector):
        """Return what is in the shadow root of the explorer."""
        script = """const at = (root) => root.querySelector(".illume-explorer")
          || [...root.querySelectorAll("*")].map((one) => one.shadowRoot && at(one.shadowRoot)).find(Boolean);
        return [...at(document).shadowRoot.querySelectorAll(arguments[0])];"""
        return self.driver.execute_script(script, selector)

    @property
    def model_says(self):
        return self.inside(".answer-cell.by-model")[0].text

    def age_box(self):
        cards = self.inside(".control-card")
        card = next(one for one in cards if one.find_element(By.CSS_SELECTOR, ".name").text.startswith("age"))
        return card.find_element(By.CSS_SELECTOR, "input.box")

    def type_age(self, age):
        box = self.age_box()
        self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", box)
        box.click()
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(str(age), Keys.TAB)


@pytest.fixture
def browser():
    driver = start_chromium()
    driver.set_network_conditions(offline=False, latency=0, throughput=10**8)
    driver.set_window_size(1500, 1000)
    yield driver
    driver.quit()


@pytest.fixture
def jupyterlab(folder, browser):
    words = ("jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1")
    words += ("--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True")
    with running(folder, *words, path="/lab/tree/notebook.ipynb?reset") as url:
        browser.get(url)
        notebook = Notebook(browser)
        session = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session"
        notebook.wait(lambda: browser.execute_script(f"return {session}?.kernel?.status") == "idle")
        browser.execute_script("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        yield notebook


@pytest.fixture
def marimo(folder, browser):
    words = ("marimo", "run", "app.py", "--headless", "--no-token", "--host", "127.0.0.1")
    with running(folder, *words, path="/") as url:
        browser.get(url)
        yield Notebook(browser)


@pytest.fixture(params=["jupyterlab", "marimo"])
def notebook(request):
    found = request.getfixturevalue(request.param)
    found.wait(lambda: found.inside(".answer-cell"), 120)
    return found


def edited(folder):
    import pandas as pd

    return pd.read_pickle(folder / "edited.pkl")


def test_a_typed_value_reaches_the_model_and_python_and_python_reaches_the_page(notebook, folder, loan_model):
    import pandas as pd

    rows = pd.read_pickle(folder / "rows.pkl")
    assert "The model itself is connected" in notebook.inside(".twin-note")[0].text
    for age in (19, 79):
        notebook.type_age(age)
        (chance,) = loan_model.predict_proba(rows[:1].assign(age=age))[:, 1:].ravel()
        shown = re.compile(rf"{100 * chance:.0f}(\.\d)? ?%")
        notebook.wait(lambda shown=shown: shown.search(notebook.model_says))
        notebook.wait(lambda age=age: edited(folder).loc[0, "age"] == age)
        pd.testing.assert_frame_equal(edited(folder), rows[:1].assign(age=age).astype(rows.dtypes))
    notebook.type_age(61)
    notebook.wait(lambda: notebook.age_box().get_attribute("value") == "25")
    assert not [each for each in notebook.driver.get_log("browser") if "illume" in each["message"]]


def test_keys_and_styles_stay_inside_the_explorer(jupyterlab):
    jupyterlab.wait(lambda: jupyterlab.inside(".answer-cell"), 120)
    cells = len(jupyterlab.driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell"))
    box = jupyterlab.age_box()
    jupyterlab.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", box)
    box.click()
    box.send_keys("d", "d", "a", "b")  # in a notebook, these delete a cell and add two
    time.sleep(1)
    assert len(jupyterlab.driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")) == cells
    style = "return getComputedStyle(document.querySelector('.jp-Notebook'))"
    assert jupyterlab.driver.execute_script(f"{style}.getPropertyValue('--quiet')") == ""

"""A page in a real browser, offline, with what a reader does to it."""

import os
import shutil
from pathlib import Path

import pytest

VIOLATIONS = """
const done = arguments[arguments.length - 1];
axe.run(document).then((found) => done(found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => one.id + ": " + one.nodes.map((node) => node.target + " " + node.failureSummary).join("; "))))
"""


class Page:
    """A report in a window, with what a reader does to it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, width=1300, dark=False):
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(path.as_uri())
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        return self.run(
            "[...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )

    def column(self, position):
        return self.texts(f"#table tbody tr > :nth-child({position})")

    def choose(self, selector, value):
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_value(value)

    def press(self, *keys):
        from selenium.webdriver import ActionChains, Keys

        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    @property
    def shown(self):
        return self.find("#shown").text

    @property
    def row(self):
        return self.find("#row h3").text

    @property
    def selected(self):
        return self.texts("#table tr[aria-selected=true] > th")

    @property
    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def violations(self):
        """Return what axe finds that keeps people from using the page."""
        self.driver.execute_script(axe_script())
        return self.driver.execute_async_script(VIOLATIONS)


def axe_script():
    """Return the script that looks for what keeps people from using a page."""
    script = Path(os.environ.get("AXE_SCRIPT", "build/axe/package/axe.min.js"))
    if not script.is_file():
        pytest.fail(f"there is no {script}; make test-browser fetches it")
    return script.read_text("utf-8")


def start_chromium():
    """Return a driver of Chromium without a network."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in found:
        pytest.fail("install Chromium and its driver; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found[1]))
    driver.set_network_conditions(offline=True, latency=0, download_throughput=0, upload_throughput=0)
    return driver

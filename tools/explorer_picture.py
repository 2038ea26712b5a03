"""The pictures of the explorer in README and its guide: the demo's model, in Chromium."""

import shutil
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume

SETTLED = 2.0  # seconds until all is searched and drawn
PRESS = (
    "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith(arguments[0])).click()"
)
SCROLL = "document.querySelector(arguments[0]).scrollIntoView({block: 'start'})"


def main(folder: str) -> None:
    """Write an explorer, and let Chromium draw it as it is used."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    explainer = illume.Explainer(model, effort="quick", queries=50_000, verbose=False).fit(X)
    with tempfile.TemporaryDirectory() as place:
        page = explainer.explorer(X[::4], Path(place) / "explorer.html", title="Breast cancer: what if?")
        draw(page, Path(folder))


def draw(page: Path, folder: Path) -> None:
    """Draw a row as it is, one that was changed, all rows, and a phone."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-prefers-reduced-motion"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        _open(driver, page, 1440, 900)
        _save(driver, folder / "explorer.png")
        driver.execute_script("document.querySelector('.found .ghost').click()")
        _save(driver, folder / "explorer-changed.png")
        driver.execute_script(PRESS, "All rows")
        _save(driver, folder / "explorer-rows.png")
        _open(driver, page, 390, 844)
        driver.execute_script(SCROLL, ".answer")
        _save(driver, folder / "explorer-phone.png")
    finally:
        driver.quit()


def _open(driver: Any, page: Path, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(page.as_uri())


def _save(driver: Any, path: Path) -> None:
    time.sleep(SETTLED)
    picture = Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    picture.quantize(255, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How fast the explorer repaints in a real browser, with 30 features and 1,000 rows, and with 10,000 rows.

Other processes only make it slower, so a figure counts as reached if one of a few drags reaches it.
"""

import math
import time

import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from tests.report.explorer_page import ExplorerPage
from tests.report.tracing import traced

pytestmark = pytest.mark.browser

N_DRAGS = 6
# From an input event, which a browser hands over at the start of a frame, to the end of the frame's painting
MEASURE = """
window.times = []; window.frames = [];
document.addEventListener("input", () => {
  const start = performance.now();
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.times.push(performance.now() - start);
    channel.port2.postMessage(0);
  });
}, true);
const tick = (now) => { window.frames.push(now); requestAnimationFrame(tick); };
requestAnimationFrame(tick);
"""


@pytest.fixture(scope="module")
def wide_explainer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(10_000, 30)).round(3)).add_prefix("feature ")
    X["feature 3"] = rng.choice(["low", "middle", "high"], len(X))

    def model(frame):
        score = frame["feature 0"] * frame["feature 1"] + 2 * frame["feature 2"] + frame["feature 4"]
        return 1 / (1 + np.exp(-score - (frame["feature 3"] == "high")))

    return Explainer(model, effort="quick", queries=5_000, random_state=0).fit(X[:1_000]), X


@pytest.fixture(scope="module")
def wide_explorer(wide_explainer, folder):
    explainer, X = wide_explainer
    return explainer.explorer(X[:1_000], folder / "wide explorer.html")


@pytest.fixture
def view(page, wide_explorer):
    view = ExplorerPage(page.driver).open(wide_explorer)
    view.driver.execute_script(MEASURE)
    yield view
    view.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 1})


def drag(view, n_moves=150, slower=1):
    """Drag the first slider to and fro; return milliseconds from inputs to paints, and between frames."""
    place = "(({left, top, width, height}) => [left, top + height / 2, width])"
    left, y, width = view.run(f"{place}(document.querySelector('.track input').getBoundingClientRect())")

    def mouse(kind, step, **more):
        x = left + 12 + (width - 24) * (0.5 + 0.45 * math.sin(step / 9))
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, **more}
        view.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    view.driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slower})
    view.driver.execute_script("window.times.length = window.frames.length = 0;")
    mouse("mousePressed", 0)
    for step in range(n_moves):
        mouse("mouseMoved", step, buttons=1)
    mouse("mouseReleased", n_moves)
    times, frames = view.run("[window.times, window.frames]")
    assert len(times) > n_moves / 2
    return np.array(times), np.diff(frames)


def reaches(measure, *limits):
    """Measure a few times, until all figures are at most these limits."""
    found = []
    for _ in range(N_DRAGS):
        found.append(np.round(measure(), 2).tolist())
        if all(figure <= limit for figure, limit in zip(found[-1], limits, strict=True)):
            return
    raise AssertionError(f"measured {found}, expected at most {limits}")


def test_an_edit_repaints_within_a_frame(view):
    reaches(lambda: np.percentile(drag(view)[0], [50, 99]), 16, 33)


def test_a_processor_eight_times_slower_repaints_within_a_tenth_of_a_second(view):
    reaches(lambda: [np.median(drag(view, 40, slower=8)[0])], 100)


def test_dragging_keeps_sixty_frames_a_second(view):
    reaches(lambda: [np.mean(drag(view)[1] > 20)], 0.02)


def test_no_task_keeps_the_page_from_answering(view):
    """By the browser's trace: processor time of an edit, and of what is searched and drawn after it."""
    values = iter([1.5, -1.5] * N_DRAGS)

    def longest():
        with traced(view.driver) as tasks:
            view.slide("feature 0", next(values))
            time.sleep(2)
        assert sum(tasks) > 20
        return [max(tasks)]

    reaches(longest, 16)


def test_the_first_paint_comes_within_a_second(page, wide_explorer):
    def paint():
        view = ExplorerPage(page.driver).open(wide_explorer)
        return [view.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")]

    reaches(paint, 1000)


def test_the_file_of_thirty_features_is_small(wide_explorer):
    """At most a megabyte beside the rows: their values, contributions with errors, and figures."""
    rows = 1_000 * (30 * (8 + 4 + 2) + 60) * 4 / 3
    assert wide_explorer.stat().st_size <= 1e6 + rows


def test_ten_thousand_rows_stay_fluid(page, wide_explainer, folder):
    explainer, X = wide_explainer
    path = explainer.explorer(X, folder / "many explorer.html", max_rows=10_000)
    view = ExplorerPage(page.driver).open(path)
    view.driver.execute_script(MEASURE)
    reaches(lambda: np.percentile(drag(view)[0], [50, 99]), 16, 33)
    view.click("All rows", ".tabs")
    assert view.shown.startswith("10,000 rows")
    search = (
        "(() => { const start = performance.now(); const box = document.getElementById('find');"
        "box.value = 'high'; box.dispatchEvent(new Event('input')); return performance.now() - start; })()"
    )
    view.run(search)  # the texts of all rows are put together once
    reaches(lambda: [view.run(search)], 200)
    assert view.errors == []

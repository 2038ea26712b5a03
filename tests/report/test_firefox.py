"""The explorer and the report in Firefox."""

import pytest

from tests.report.browser import VIOLATIONS, axe_script
from tests.report.explorer_page import answers_of, share
from tests.report.firefox import DOWN, ENTER, RIGHT, TAB, Firefox

pytestmark = pytest.mark.browser

FRAME = "requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))"
PAGES = ("loan_explorer", "odd_explorer", "three_class_explorer", "number_explorer")
SLIDE = """(() => { const card = [...document.querySelectorAll('.control-card')]
  .find((one) => one.querySelector('.name').textContent === arguments[0]);
  const slider = card.querySelector('input[type=range]'); slider.value = arguments[1];
  slider.dispatchEvent(new Event('input', {bubbles: true})); })()"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    browser = Firefox(tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.quit()


def text(firefox, selector):
    return firefox.run("document.querySelector(arguments[0]).textContent", selector)


@pytest.mark.parametrize("name", PAGES)
def test_an_explorer_opens_and_answers(name, firefox, request):
    firefox.open(request.getfixturevalue(name))
    assert firefox.until("document.querySelector('.what-if h2')?.textContent").startswith("Row")
    searched = (
        "document.querySelector('.found > li') || document.querySelector('.flip [role=status]').textContent"
    )
    firefox.until(f"Boolean({searched})")
    firefox.until("[...document.querySelectorAll('.curve g')].some((one) => one.children.length)")
    firefox.run("document.querySelectorAll('[role=tab]')[1].click()")
    assert firefox.run("document.querySelectorAll('#table tbody tr').length") == 20


def test_an_edit_shows_what_python_says(firefox, loan_explorer, loan_explainer, loan_frame):
    firefox.open(loan_explorer)
    row = int(firefox.until("document.querySelector('.what-if h2')?.textContent").removeprefix("Row "))
    firefox.run(SLIDE, "age", 25)
    firefox.wait(FRAME)
    Q = answers_of(loan_explainer, loan_frame.iloc[[row]].assign(age=25))
    at = loan_explainer.fitted_.outputs.at
    assert text(firefox, ".answer-line-box .number").replace("\xa0", " ") == share(Q[0, at])


def test_keys_alone_change_a_value_and_open_a_row(firefox, loan_explorer):
    firefox.open(loan_explorer)
    firefox.until("document.querySelector('.control-card input[type=range]')")
    firefox.run(
        "[...document.querySelectorAll('input[type=range]')].find((one) => one.ariaLabel === 'age').focus()"
    )
    firefox.press(RIGHT)
    firefox.wait(FRAME)
    assert text(firefox, ".changed-note") == "1 value changed"
    firefox.run("document.querySelector('[role=tab]').focus()")
    firefox.press(RIGHT)
    firefox.run("document.querySelector('#table thead th:last-child button').focus()")
    firefox.press(TAB, DOWN, ENTER)
    firefox.wait(FRAME)
    assert text(firefox, ".what-if h2") == "Row 1"


@pytest.mark.parametrize("name", ["loan_explorer", "odd_explorer"])
def test_a_narrow_window_needs_no_sideways_scrolling(name, firefox, request):
    firefox.open(request.getfixturevalue(name), width=360)
    firefox.until("document.querySelector('.what-if h2')")
    for tab in (1, 2, 0):
        firefox.run("document.querySelectorAll('[role=tab]')[arguments[0]].click()", tab)
        assert firefox.run("document.documentElement.scrollWidth - innerWidth") <= 0


def test_nothing_is_hard_to_read_or_to_reach(firefox, loan_explorer):
    firefox.open(loan_explorer)
    firefox.until("document.querySelectorAll('.found > li').length")
    firefox.send("WebDriver:ExecuteScript", script=axe_script(), args=[], sandbox=None)
    for tab in (0, 1, 2):
        firefox.run("document.querySelectorAll('[role=tab]')[arguments[0]].click()", tab)
        assert firefox.wait(VIOLATIONS) == []


def test_a_report_opens_with_its_table_and_charts(firefox, loan_report):
    firefox.open(loan_report)
    assert firefox.until("document.querySelector('#row h3')?.textContent").startswith("Row")
    assert firefox.run("document.querySelectorAll('#table tbody tr').length") == 20
    assert firefox.run("document.querySelectorAll('.waterfall .bar-fill').length") > 4

"""The explorer in a real browser: flips, all rows, scenarios, keys, paper and small screens."""

import csv

import numpy as np
import pytest

import illume
from tests.report.explorer_page import ExplorerPage, answers_of

pytestmark = pytest.mark.browser

UNCONFIRMED = "Found on the network, not confirmed by the model."


@pytest.fixture
def view(page):
    return ExplorerPage(page.driver)


@pytest.fixture
def downloads(view, tmp_path):
    wish = {"behavior": "allow", "downloadPath": str(tmp_path)}
    view.driver.execute_cdp_cmd("Browser.setDownloadBehavior", wish)
    return tmp_path


def test_flips_of_a_row_hold_for_the_model_and_can_be_applied_and_undone(
    view, loan_explorer, loan_model, loan_frame
):
    view.open(loan_explorer)
    row = view.go(3)
    view.until(lambda: view.found and not view.texts(".flip.stale"))
    assert view.texts(".flip > .confirmed") == ["Holds for the model itself"]
    decided = loan_model.predict(loan_frame.iloc[[row]])[0]
    assert not [text for text in view.texts(".found-answer") if text.startswith(decided)]
    view.find(".found button").click()
    view.frame()
    assert view.model_says[1] != decided
    assert len(view.texts(".control-card.changed")) >= 1
    view.click("Undo")
    assert view.model_says[1] == decided
    assert view.texts(".control-card.changed") == []


def test_flips_that_a_network_finds_are_marked_as_unconfirmed(view, learned_explorer):
    view.open(learned_explorer)
    view.until(lambda: view.texts(".flip > .confirmed") == ["Confirmed by the model"])
    view.slide("age", float(view.value("age")) + 1)
    told = view.until(lambda: view.texts(".flip > .unconfirmed"))[0]
    assert UNCONFIRMED in told


def test_where_nothing_is_found_only_what_can_be_done_is_advised(view, loan_explorer):
    view.open(loan_explorer)
    view.slide("age", float(view.value("age")) + 1)
    for label in ("age", "income", "education", "owner"):
        view.within(label, ".lock").click()
    nothing = "No change of one value within the range of the fitted rows is enough"
    view.until(
        lambda: (
            view.find(".flip [role=status]").text
            == f"{nothing}, and none of several was found. You can take away locks and limits."
        )
    )
    view.choose(".wish select", "1")
    hint = "You can allow more values to change, or take away locks and limits."
    view.until(lambda: view.find(".flip [role=status]").text == f"{nothing}. {hint}")


def test_locks_and_limits_from_python_are_set_at_first(view, loan_explainer, loan_frame, tmp_path):
    path = loan_explainer.explorer(
        loan_frame.iloc[:30],
        tmp_path / "limited.html",
        immutable=["age"],
        direction={"income": "up", "education": ["low", "middle", "high"]},
        permitted_range={"income": [30, 90]},
    )
    view.open(path)
    assert view.within("age", ".lock").get_attribute("aria-pressed") == "true"
    assert view.within("income", ".lock").get_attribute("aria-pressed") == "false"
    view.until(lambda: "locks and limits of 3 features" in view.find(".flip").text)
    view.within("income", ".limits summary").click()
    view.within("education", ".limits summary").click()
    view.frame()
    assert view.within("income", ".limits select").get_attribute("value") == "1"
    ends = view.card("income").find_elements("css selector", ".limits input[type=range]")
    assert [float(end.get_attribute("value")) for end in ends] == pytest.approx([30, 90])
    assert "only forth in: low, middle, high" in view.card("education").text
    assert view.card("income").find_element("css selector", ".limits summary").text == "Limits (set)"


def test_a_locked_feature_is_kept(view, loan_explorer):
    view.open(loan_explorer)
    first = view.until(lambda: view.found)[0].split(" ")[0]
    view.within(first, ".lock").click()
    view.until(lambda: all(not text.startswith(f"{first} ") for text in view.found))
    assert "locks and limits of 1 feature" in view.find(".flip").text
    assert view.within(first, ".lock").get_attribute("aria-pressed") == "true"


def test_directions_and_ranges_limit_what_is_found(view, loan_explorer):
    view.open(loan_explorer)
    view.until(lambda: view.found)
    own = float(view.value("age"))
    for label in ("income", "education", "owner"):
        view.within(label, ".lock").click()
    view.within("age", ".limits summary").click()
    view.frame()
    view.until(lambda: all(text.startswith("age") for text in view.found))
    from selenium.webdriver.support.ui import Select

    way = Select(view.within("age", ".limits select"))
    for word, sign in (("only up", 1), ("only down", -1)):
        way.select_by_visible_text(word)
        view.until(lambda sign=sign: all(sign * (float(text.split("→")[1]) - own) > 0 for text in view.found))
    way.select_by_visible_text("up and down")
    view.run(
        "(() => { arguments[0].value = arguments[1]; for (const name of ['input', 'change'])"
        "arguments[0].dispatchEvent(new Event(name, {bubbles: true})); })()",
        view.within("age", ".limits input[aria-label^='Largest']"),
        own - 1,
    )
    view.until(lambda: all(float(text.split("→")[1]) <= own - 1 for text in view.found))


def test_a_wished_number_is_reached(view, number_explorer):
    view.open(number_explorer)
    view.until(lambda: view.found)
    box = view.find(".wish input")
    goal = float(box.get_attribute("value")) + 1
    box.clear()
    box.send_keys(str(goal), "\t")
    view.until(lambda: view.found)
    answers = [float(text.replace(",", "")) for text in view.texts(".found-answer")]
    assert min(answers) >= goal - 0.5


def test_a_row_chosen_in_the_table_is_opened(view, loan_explorer):
    view.open(loan_explorer)
    view.click("Choose another row")
    assert view.shown.startswith("200 rows")
    view.run("document.querySelectorAll('#table tbody tr')[7].click()")
    view.frame()
    assert view.find(".what-if h2").text == "Row 7"
    assert view.find(".what-if").is_displayed()
    view.find("[aria-label='Next row']").click()
    view.frame()
    assert view.find(".what-if h2").text == "Row 8"
    view.click("Undo")
    assert view.find(".what-if h2").text == "Row 7"


def test_importance_and_map_are_drawn_when_they_are_shown(view, loan_explorer):
    view.open(loan_explorer)
    view.click("All rows", ".tabs")
    painted = view.run(
        "[...document.querySelectorAll('.rows-panel canvas')].map((one) => new Set(one.getContext('2d')"
        ".getImageData(0, 0, one.width, one.height).data).size)"
    )
    assert min(painted) > 3
    assert len(view.texts("#bars li")) == 4


def test_scenarios_are_kept_named_compared_opened_and_deleted(view, loan_explorer):
    view.open(loan_explorer)
    view.slide("age", 30)
    view.click("Keep as scenario")
    view.slide("income", 45)
    view.click("Keep as scenario")
    view.click("Scenarios (2)", ".tabs")
    assert view.texts(".scenarios thead th")[:4] == ["Name", "From", "Page", "Model"]
    assert sorted(view.texts(".scenarios thead th")[4:]) == ["age", "income"]
    name = view.find(".scenarios tbody input")
    name.clear()
    name.send_keys("younger")
    view.find(".scenarios tbody [aria-label^='Open']").click()
    view.frame()
    assert view.value("age") == "30"
    view.click("Scenarios (2)", ".tabs")
    view.find(".scenarios tbody tr:last-child [aria-label^='Delete']").click()
    view.frame()
    assert [one.get_attribute("value") for one in [view.find(".scenarios tbody input")]] == ["younger"]
    assert len(view.texts(".scenarios tbody tr")) == 1


def test_python_reads_the_scenarios_that_the_page_saves(
    view, loan_explorer, loan_explainer, loan_frame, downloads
):
    view.open(loan_explorer).go(3)
    view.slide("age", 30)
    view.within("income", ".missing input").click()
    view.frame()
    view.click("Keep as scenario")
    view.click("Scenarios", ".tabs")
    view.click("Download JSON")
    path = downloads / "scenarios.json"
    view.until(path.is_file)
    found = illume.load_scenarios(path)
    assert found[loan_frame.columns].dtypes.equals(loan_frame.dtypes)
    assert found.loc[0, "age"] == 30
    assert np.isnan(found.loc[0, "income"])
    Q = answers_of(loan_explainer, found)
    names = loan_explainer.fitted_.outputs.names
    np.testing.assert_allclose(found[[f"twin_{name}" for name in names]], Q, rtol=1e-5)
    np.testing.assert_allclose(found[[f"model_{name}" for name in names]], Q, rtol=1e-5)


def test_cells_that_a_spreadsheet_would_run_are_escaped(view, odd_explorer, downloads):
    view.open(odd_explorer)
    view.click("Keep as scenario")
    view.click("Scenarios", ".tabs")
    name = view.find(".scenarios tbody input")
    name.clear()
    name.send_keys('=HYPERLINK("x")')
    view.click("Download CSV")
    path = downloads / "scenarios.csv"
    view.until(path.is_file)
    head, line = csv.reader(path.read_text("utf-8").splitlines())
    assert line[0] == '\'=HYPERLINK("x")'
    assert len(head) == len(line)


def test_everything_works_by_keys_alone(view, loan_explorer):
    view.open(loan_explorer)
    view.run("arguments[0].focus()", view.within("age", "input[type=range]"))
    view.press("ARROW_RIGHT", "ARROW_RIGHT")
    view.frame()
    assert view.find(".changed-note").text == "1 value changed"
    from selenium.webdriver import ActionChains, Keys

    ActionChains(view.driver).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    view.frame()
    assert view.find(".changed-note").text == ""
    view.run("document.querySelector('[role=tab]').focus()")
    view.press("ARROW_RIGHT")
    assert view.find(".rows-panel").is_displayed()
    view.run("document.querySelector('#table thead th:last-child button').focus()")
    view.press("TAB", "ARROW_DOWN", "ENTER")
    view.frame()
    assert view.find(".what-if h2").text == "Row 1"
    reach = (
        "[...document.querySelectorAll('.what-if button, .what-if input, .what-if select, .what-if summary')]"
    )
    assert view.run(f"{reach}.every((one) => one.tabIndex >= 0)")


@pytest.mark.parametrize("width", [360, 768])
@pytest.mark.parametrize("name", ["loan_explorer", "odd_explorer", "three_class_explorer"])
def test_small_screens_need_no_sideways_scrolling(name, width, view, request):
    view.open(request.getfixturevalue(name), width=width)
    view.slide(view.texts(".control-card:has(input[type=range]) .name")[0], 30)
    view.click("Keep as scenario")
    for tab in ("All rows", "Scenarios", "What if"):
        view.click(tab, ".tabs")
        assert view.run("document.documentElement.scrollWidth") <= width
    assert view.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "width"), [("loan_explorer", 1440), ("odd_explorer", 360), ("three_class_explorer", 1000)]
)
def test_nothing_is_hard_to_read_or_to_reach(name, width, dark, view, request):
    view.open(request.getfixturevalue(name), width=width, dark=dark)
    view.slide(view.texts(".control-card:has(input[type=range]) .name")[0], 30)
    view.click("Keep as scenario")
    view.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    view.until(lambda: view.found or view.find(".flip [role=status]").text)
    for tab in ("What if", "All rows", "Scenarios"):
        view.click(tab, ".tabs")
        assert view.violations() == []


def test_printing_shows_all_parts_on_light_paper_and_leaves_the_page_as_it_was(view, loan_explorer):
    view.open(loan_explorer)
    view.find("#theme").click()
    view.driver.execute_script("""
        window.addEventListener("beforeprint", () => {
            const shown = document.querySelectorAll("[role=tabpanel]:not([hidden])").length;
            const curves = [...document.querySelectorAll(".curve g")].every((one) => one.children.length > 0);
            window.seen = [document.documentElement.dataset.theme, shown, curves];
        });""")
    assert view.driver.print_page()
    assert view.run("window.seen") == ["light", 3, True]
    assert view.run("document.documentElement.dataset.theme") == "dark"
    assert (
        len(
            [
                one
                for one in view.driver.find_elements("css selector", "[role=tabpanel]")
                if one.is_displayed()
            ]
        )
        == 1
    )
    assert view.errors == []

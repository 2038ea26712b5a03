"""The report in a real browser, offline."""

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, SurrogateOptions
from illume.report.payload import contribution_plane
from tests.report.common import LONG, SCRIPT, data_of, numbers

pytestmark = pytest.mark.browser


def signed(number):
    """Return a contribution as the page writes it."""
    text = f"{abs(number):.3f}"
    return text if float(text) == 0 else ("+" if number > 0 else "−") + text


@pytest.fixture(scope="module")
def big_report(folder):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(10_000, 30))).add_prefix("feature ")
    X["feature 3"] = rng.choice(["low", "middle", "high"], len(X))

    def model(frame):
        rough = sum(np.sin(300 * frame[f"feature {j}"]) for j in (4, 5, 6))  # which no network learns
        smooth = frame["feature 0"] * frame["feature 1"] + 2 * frame["feature 2"]
        return 1 / (1 + np.exp(-smooth - 0.8 * rough))

    return (
        Explainer(model, effort="quick", surrogate_options=SurrogateOptions(encoder="identity"))
        .fit(X)
        .report(X, folder / "big.html")
    )


@pytest.mark.parametrize("name", ["odd_report", "loan_report", "three_class_report", "number_report"])
def test_a_report_opens_offline_without_an_error(name, page, request):
    page.open(request.getfixturevalue(name))
    assert page.row.startswith("Row")
    assert len(page.column(1)) == 20
    assert page.run("performance.getEntriesByType('resource').length") == 0
    assert page.errors == []


def test_markup_in_names_shows_as_text_and_runs_nothing(page, odd_report):
    from selenium.common.exceptions import NoAlertPresentException

    page.open(odd_report)
    with pytest.raises(NoAlertPresentException):
        page.driver.switch_to.alert.accept()
    assert page.find("h1").text == f"{SCRIPT} & co"
    assert SCRIPT in page.texts("#table thead .head-name")
    assert SCRIPT in page.texts("#bars .name")
    assert page.column(1)[0] == "customer 000 </script><!--"
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    assert page.errors == []


def test_filters_search_and_reset_choose_rows(page, loan_report, loan_explainer, loan_frame):
    found = loan_explainer(loan_frame)
    page.open(loan_report)
    n = int((found.decisions == 1).sum())
    page.choose("#by-decision", "1")
    assert page.shown.startswith(f"{n} rows of 200")
    assert set(page.column(2)) == {found.class_names[1]}
    page.choose("#by-trust", "low")
    assert page.shown.startswith("No row")
    page.find("#reset").click()
    assert page.shown.startswith("200 rows,")
    page.find("#find").send_keys("middle true")
    both = (loan_frame["education"] == "middle") & loan_frame["owner"]
    assert page.shown.startswith(f"{both.sum()} rows of 200")
    page.find("#find").send_keys(" nothing like this")
    assert page.shown == "No row of 200 matches"
    assert page.errors == []


def test_low_trust_can_be_filtered(page, big_report):
    n = int((numbers(data_of(big_report)["rows"]["low"]) > 0).sum())
    assert 20 < n < 5000
    page.open(big_report).choose("#by-trust", "low")
    assert page.shown.startswith(f"{n:,} rows of 10,000")
    position = 1 + page.texts("#table thead .head-name").index("Trust")
    assert all(text.endswith("low") for text in page.column(position))


def test_any_column_sorts_both_ways_with_missing_values_last(page, loan_report, loan_frame):
    page.open(loan_report)
    position = 1 + page.texts("#table thead .head-name").index("income")
    button = f"#table thead th:nth-child({position}) button"
    page.find(button).click()
    lowest = np.sort(loan_frame["income"].dropna())[:20]
    np.testing.assert_allclose([float(text) for text in page.column(position)], lowest, atol=0.01)
    assert page.find(f"#table thead th:nth-child({position})").get_attribute("aria-sort") == "ascending"
    page.find(button).click()
    highest = np.sort(loan_frame["income"].dropna())[::-1][:20]
    np.testing.assert_allclose([float(text) for text in page.column(position)], highest, atol=0.01)
    page.find("#last").click()
    assert set(page.column(position)[-5:]) == {"(missing)"}


def test_a_click_on_the_map_selects_the_row(page, loan_report, loan_explainer, loan_frame):
    from selenium.webdriver import ActionChains

    page.open(loan_report)
    canvas = page.find("#map")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
    plane = contribution_plane(loan_explainer(loan_frame).values).places
    apart = np.sort(np.square(plane[:, None] - plane).sum(2), axis=1)[:, 1]
    far = apart.argmax()  # a row that no other one hides
    low, span = plane.min(0), np.ptp(plane, axis=0)
    width, height = page.run("[arguments[0].clientWidth, arguments[0].clientHeight]", canvas)
    share = (plane[far] - low) / span
    x, y = 14 + share[0] * (width - 28), height - 14 - share[1] * (height - 28)
    ActionChains(page.driver).move_to_element_with_offset(canvas, x - width / 2, y - height / 2).perform()
    assert page.find("#tip").text.startswith(f"row {far}:")
    ActionChains(page.driver).click().perform()
    assert page.row == f"Row {far}"
    assert page.selected == [str(far)]
    assert page.errors == []


def test_a_rectangle_on_the_map_keeps_its_rows_in_the_table(page, loan_report, loan_explainer, loan_frame):
    from selenium.webdriver import ActionChains

    page.open(loan_report)
    canvas = page.find("#map")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
    width, height = page.run("[arguments[0].clientWidth, arguments[0].clientHeight]", canvas)
    corner = ActionChains(page.driver).move_to_element_with_offset(canvas, 9 - width // 2, 9 - height // 2)
    corner.click_and_hold().move_by_offset(width // 2 - 9, height - 18).release().perform()
    plane = contribution_plane(loan_explainer(loan_frame).values).places[:, 0]
    share = (plane - plane.min()) / np.ptp(plane)
    n = int((14 + share * (width - 28) <= width // 2).sum())
    assert page.shown.startswith(f"{n} rows of 200")
    page.find("#reset").click()
    assert page.shown.startswith("200 rows,")
    assert page.errors == []


def test_the_map_works_by_keys(page, loan_report):
    page.open(loan_report)
    page.run("document.getElementById('map').focus()")
    page.press("ARROW_RIGHT", "ARROW_RIGHT")
    said = page.find("#said").get_attribute("textContent")
    page.press("ENTER")
    assert said.startswith(f"{page.row.replace('Row', 'row')}:")
    assert page.row != "Row 0"


def test_the_table_works_by_keys_alone(page, loan_report):
    page.open(loan_report)
    page.run("document.querySelector('#table thead th:last-child button').focus()")
    page.press("TAB", "ARROW_DOWN", "ARROW_DOWN", "ENTER")
    assert page.row == "Row 2"
    assert page.selected == ["2"]
    page.press("PAGE_DOWN", "ARROW_UP", "SPACE")
    assert page.row == "Row 21"
    assert page.find("#page-now").text == "Page 2 of 10"
    page.press("END", "ENTER")
    assert page.row == "Row 199"
    page.press("HOME", "ENTER")
    assert page.row == "Row 0"
    assert page.run("document.activeElement.getAttribute('aria-selected')") == "true"


def test_a_row_shows_attribution_rule_counterfactual_and_trust(page, loan_report, loan_explainer, loan_frame):
    page.open(loan_report)
    found = loan_explainer(loan_frame.iloc[:1])[0]
    text = page.find("#row").text
    assert f"{found.decision} with probability {found.probability:.3f}" in text
    assert all(signed(line.contribution) in text for line in found.lines(10))
    rule = loan_explainer.rules(loan_frame.iloc[:1])[0]
    assert all(str(condition) in text for condition in rule.conditions)
    example = loan_explainer.counterfactuals(loan_frame.iloc[:1], n=1)[0].examples[0]
    assert f"{example.decision} ({example.probability:.2f})" in text
    assert "The contributions are exact" in text
    page.find("#row button[aria-label='Next row']").click()
    assert page.row == "Row 1"


@pytest.mark.parametrize("width", [1280, 1440])
@pytest.mark.parametrize("name", ["loan_report", "three_class_report", "odd_report", "number_report"])
def test_the_panel_of_a_row_needs_no_scrolling_at_900_pixels(name, width, page, request):
    page.open(request.getfixturevalue(name), width=width)
    for row in range(0, 20, 4):
        page.run("document.querySelectorAll('#table tbody tr')[arguments[0]].click()", row)
        shown = page.run(
            "(() => { const one = document.getElementById('row'); one.scrollIntoView({behavior: 'instant'});"
            "return [one.offsetHeight, one.scrollHeight - one.clientHeight]; })()"
        )
        assert shown[0] <= 900
        assert shown[1] == 0
    texts = page.texts("#row h4")
    assert [text.split(" ")[0] for text in texts] == ["What", "What", "Rule", "How"]
    bars = page.run("document.querySelector('#row .waterfall .track-line').getBoundingClientRect().width")
    assert bars >= 160


def test_a_counterfactual_stands_beside_the_row_itself(page, loan_report, loan_explainer, loan_frame):
    page.open(loan_report)
    example = loan_explainer.counterfactuals(loan_frame.iloc[:1], n=1)[0].examples[0]
    for change in example.changes:
        line = f"//table[@class='changes']//tr[th='{change.feature}']/td"
        before, after = [cell.text for cell in page.driver.find_elements("xpath", line)]
        assert before != after
    assert page.texts(".changes thead th") == ["This row", "Changed"]


def test_each_class_has_its_own_contributions(page, three_class_report, three_class_explainer, three_class):
    page.open(three_class_report)
    values = three_class_explainer(three_class[1]).values
    for output in range(3):
        page.choose("#row-output", str(output))
        shown = page.texts("#row .waterfall tr:not(.quiet):not(.sum) td.number")
        largest = values[0, np.abs(values[0, :, output]).argmax(), output]
        assert shown[0] == signed(largest)
    page.choose("#output", "1")
    bars = page.texts("#bars .number")
    assert bars[0] == f"{np.abs(values[:, :, 1]).mean(0).max():.3f}"
    assert page.errors == []


@pytest.mark.parametrize("name", ["odd_report", "three_class_report"])
def test_a_phone_needs_no_sideways_scrolling(name, page, request):
    page.open(request.getfixturevalue(name), width=400)
    assert page.run("document.documentElement.scrollWidth") <= 400
    page.run("document.querySelectorAll('#table tbody tr')[3].click()")
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert page.run("parseFloat(getComputedStyle(document.querySelector('#summary p')).fontSize)") >= 14


def test_dark_mode_follows_the_system_and_the_button(page, loan_report):
    def lightness():
        background = page.run("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in background[4:-1].split(","))

    page.open(loan_report)
    assert lightness() > 600
    page.find("#theme").click()
    assert lightness() < 150
    assert page.find("#theme").get_attribute("aria-pressed") == "true"
    page.open(loan_report, dark=True)
    assert lightness() < 150
    page.find("#theme").click()
    assert lightness() > 600


def test_values_of_the_strongest_features_are_drawn_and_told(page, loan_report, loan_explainer, loan_frame):
    page.open(loan_report)
    names = [loan_explainer.schema_.names[j] for j in np.argsort(-loan_explainer(loan_frame).strength)]
    assert page.texts("#dependence figcaption b") == names[:6]
    told = page.run("[...document.querySelectorAll('#dependence canvas')].map((one) => one.ariaLabel)")
    assert all(
        text.startswith(f"Mean contribution of {name} by") for name, text in zip(names, told, strict=False)
    )
    painted = page.run(
        "[...document.querySelectorAll('#dependence canvas')].map((one) => new Set(one.getContext('2d')"
        ".getImageData(0, 0, one.width, one.height).data).size)"
    )
    assert min(painted) > 3


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "width"),
    [("labelled_report", 1300), ("odd_report", 1300), ("three_class_report", 1300), ("loan_report", 400)],
)
def test_nothing_is_hard_to_read_or_to_reach(name, width, dark, page, request):
    """Contrast of at least 4.5:1 is one of the rules that axe checks."""
    page.open(request.getfixturevalue(name), width=width, dark=dark)
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.violations() == []


def test_printing_shows_everything_on_light_paper_and_leaves_the_page_as_it_was(page, loan_report):
    page.open(loan_report)
    page.find("#theme").click()
    page.driver.execute_script("""
        window.addEventListener("beforeprint", () => {
            const closed = document.querySelectorAll("details:not([open])").length;
            window.seen = [document.documentElement.dataset.theme, closed];
        });""")
    assert page.driver.print_page()
    assert page.run("window.seen") == ["light", 0]
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert page.run("document.querySelectorAll('details[open]').length") == 0
    assert page.errors == []


def test_one_row_makes_a_report_too(page, loan_explainer, loan_frame, folder):
    page.open(loan_explainer.report(loan_frame.iloc[[7]], folder / "one.html"))
    assert page.row == "Row 7"
    assert page.shown == "1 row, 1 to 1 shown"
    assert page.errors == []


def test_ten_thousand_rows_stay_usable(page, big_report):
    assert big_report.stat().st_size < 15e6
    page.open(big_report)
    paint = page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 2000
    assert page.shown == "10,000 rows, 1 to 20 shown"
    took = page.run(
        "(() => { const start = performance.now(); const box = document.getElementById('find');"
        "box.value = 'high'; box.dispatchEvent(new Event('input')); return performance.now() - start; })()"
    )
    assert took < 2000
    assert "of 10,000" in page.shown
    assert page.errors == []


def test_long_names_are_cut_and_told_in_full(page, odd_report):
    page.open(odd_report)
    head = page.find(f"#table thead button[title^='{LONG[:20]}']")
    assert head.get_attribute("title") == LONG
    assert head.size["width"] < 260

"""The explorer in a real browser, offline: what-if, reasons, rule and trust."""

import numpy as np
import pytest

from tests.report.common import SCRIPT
from tests.report.explorer_page import ExplorerPage, answers_of, share

pytestmark = pytest.mark.browser

PAGES = ("loan_explorer", "learned_explorer", "odd_explorer", "three_class_explorer", "number_explorer")


@pytest.fixture
def view(page):
    return ExplorerPage(page.driver)


def edited(frame, row, **values):
    """Return one row with other values."""
    changed = frame.iloc[[row]].copy()
    for name, value in values.items():
        changed[name] = value
    return changed


@pytest.mark.parametrize("name", PAGES)
def test_an_explorer_opens_offline_without_an_error(name, view, request):
    view.open(request.getfixturevalue(name))
    assert view.find(".what-if h2").text.startswith("Row")
    assert view.run("performance.getEntriesByType('resource').length") == 0
    view.until(lambda: view.found or view.find(".flip [role=status]").text)
    for tab in ("All rows", "Scenarios", "What if"):
        view.click(tab, ".tabs")
    assert view.errors == []


def test_markup_in_names_and_values_shows_as_text_and_runs_nothing(view, odd_explorer):
    view.open(odd_explorer)
    assert view.find("h1").text == f"{SCRIPT} & co"
    assert SCRIPT in view.texts(".control-card .name")
    view.click("Keep as scenario")
    for tab in ("All rows", "Scenarios"):
        view.click(tab, ".tabs")
    assert view.run("document.querySelectorAll('main img, main script, main b b').length") == 0
    assert "</script><!--" in view.find(".scenarios").text
    assert view.errors == []


def test_one_line_says_what_answers(view, loan_explorer, learned_explorer, loan_learned):
    view.open(loan_explorer)
    own = "These are the model's own answers: the page holds its 20 trees."
    assert view.find(".twin-note").text == own
    assert "This file holds the model itself" in view.find("footer").text
    assert [cell[0] for cell in view.cells] == ["The model says"]
    view.open(learned_explorer)
    agreement = f"{np.floor(100 * loan_learned.quality_.agreement + 0.5):.0f} %"
    assert f"A network that agrees with the model on {agreement}" in view.find(".twin-note").text
    assert "holds the model itself" not in view.find("footer").text
    assert view.cells[-1][0] == "The network says"


@pytest.mark.parametrize("name", ["loan_explainer", "loan_learned"])
def test_the_row_as_it_is_leads_with_the_answer_of_the_model_itself(name, view, request, loan_frame):
    explainer = request.getfixturevalue(name)
    view.open(request.getfixturevalue({"loan_learned": "learned_explorer"}.get(name, "loan_explorer")))
    row = int(view.find(".what-if h2").text.removeprefix("Row "))
    found = explainer(loan_frame.iloc[[row]])[0]
    assert view.model_says[:2] == ["The model says", found.decision]
    at = explainer.fitted_.outputs.at
    own = f"{share(found.batch.probabilities[0, at])} for {explainer.fitted_.outputs.names[at]}"
    assert view.cells[0][-1] == own
    if name == "loan_learned":
        Q = answers_of(explainer, loan_frame.iloc[[row]])
        assert f"{share(Q[0, at])} for" in " ".join(view.cells[1])
    total = view.texts(".waterfall .sum .number")[0]
    assert float(total.replace("−", "-")) == pytest.approx(found.score, abs=6e-4)


@pytest.mark.parametrize(
    "edit",
    [("income", 45), ("age", 25), ("education", "middle")],
)
@pytest.mark.parametrize("name", ["loan_explainer", "loan_learned"])
def test_an_edit_shows_what_python_says(name, edit, view, request, loan_frame):
    label, value = edit
    explainer, exact = request.getfixturevalue(name), name == "loan_explainer"
    view.open(request.getfixturevalue("loan_explorer" if exact else "learned_explorer"))
    row = int(view.find(".what-if h2").text.removeprefix("Row "))
    (view.pick if label == "education" else view.slide)(label, value)
    fitted, who = explainer.fitted_, "the model" if exact else "the network"
    Q = answers_of(explainer, edited(loan_frame, row, **{label: value}))
    decided = fitted.outputs.names[int(fitted.outputs.decide(Q)[0])]
    badges = ("Nothing unusual", "Be careful here", "Too close to call")
    head, said, note = [text for text in view.cells[0] if text not in badges]
    assert head == f"Changed row, says {who}"
    assert said == decided
    assert note.startswith(f"{share(Q[0, fitted.outputs.at])} for")
    assert view.find(".switched").is_displayed() is not exact
    if not exact:
        changed = "Changed: answer and contributions are now the network's. For the row as it is, it says "
        assert view.find(".switched").text.startswith(changed)
    own = answers_of(explainer, loan_frame.iloc[[row]])[0, fitted.outputs.at]
    assert view.cells[1][0] == f"The original row, says {who}"
    assert view.cells[1][2].startswith(f"{share(own)} for")
    assert view.find(".changed-note").text == "1 value changed"
    assert "changed" in view.card(label).get_attribute("class")
    assert view.texts(".waterfall .changed .name") == [label]
    total = float(view.texts(".waterfall .sum .number")[0].replace("−", "-"))
    scores = fitted.outputs.scores(Q)[0, 0] * (1 if fitted.outputs.at == 1 else -1)
    assert total == pytest.approx(scores, abs=2e-3)


def test_a_number_predicted_follows_the_edit(view, number_explorer, limit_explainer, loan_frame):
    view.open(number_explorer)
    view.slide("income", 50)
    row = int(view.find(".what-if h2").text.removeprefix("Row "))
    Q = answers_of(limit_explainer, edited(loan_frame, row, income=50.0))
    assert view.cells[0][1] == limit_explainer.fitted_.outputs.format(Q[0, 0])


def test_undo_and_reset_lead_back(view, loan_explorer):
    view.open(loan_explorer)
    before = view.value("age"), view.value("income")
    for number in (30, 31, 32):
        view.slide("age", number)
    view.slide("income", 50)
    assert view.find(".changed-note").text == "2 values changed"
    view.click("Undo")
    assert (view.value("age"), view.value("income")) == ("32", before[1])
    view.click("Undo")
    assert (view.value("age"), view.value("income")) == before  # moves of one slider are one step
    view.slide("age", 40)
    view.slide("income", 50)
    view.within("age", "[aria-label='Reset age']").click()
    view.frame()
    assert (view.value("age"), view.value("income")) == (before[0], "50")
    view.click("Reset all")
    assert (view.value("age"), view.value("income")) == before
    view.click("Undo")
    assert view.value("income") == "50"


def test_what_was_seen_missing_can_be_made_missing(view, loan_explorer, loan_explainer, loan_frame):
    view.open(loan_explorer)
    row = view.go(3)
    assert not view.within("age", ".missing").is_displayed()
    view.within("income", ".missing input").click()
    view.frame()
    Q = answers_of(loan_explainer, edited(loan_frame, row, income=np.nan))
    assert f"{share(Q[0, loan_explainer.fitted_.outputs.at])} for" in " ".join(view.cells[0])
    assert view.value("income") == ""
    view.within("income", ".missing input").click()
    view.frame()
    assert view.find(".changed-note").text == ""
    assert float(view.value("income")) == loan_frame["income"][row]


def test_a_value_outside_the_data_is_said(view, loan_explorer):
    view.open(loan_explorer)
    box = view.within("age", ".box")
    box.clear()
    box.send_keys("300")
    view.frame()
    assert "outside the data" in view.card("age").text
    assert any("age has a value not seen while fitting" in text for text in view.texts(".trust li"))
    assert view.texts(".trust .badge") == ["Be careful here"]
    assert "held-out rows most like this one" not in view.find(".trust").text  # nothing is known of such rows


def test_the_rule_says_which_conditions_are_broken(view, loan_explorer, loan_explainer, loan_frame):
    view.open(loan_explorer)
    row = int(view.find(".what-if h2").text.removeprefix("Row "))
    rule = loan_explainer.rules(loan_frame.iloc[[row]])[0]
    kept = [text.removeprefix("✓ ").removesuffix(" (kept)") for text in view.texts(".rule .kept")]
    assert kept == [str(condition) for condition in rule.conditions]
    numeric = next(c for c in rule.conditions if c.name in ("age", "income"))
    ends = loan_frame[numeric.name].agg(["min", "max"]).tolist()
    kept = rule.covers(edited(loan_frame, row, **{numeric.name: ends[1]}))[0]
    view.slide(numeric.name, ends[0] if kept else ends[1])
    assert [text for text in view.texts(".rule .broken") if str(numeric) in text]
    assert "no longer applies" in view.find(".rule").text


def test_a_rule_that_does_not_match_the_answer_any_more_says_so(
    view, loan_explorer, loan_explainer, loan_frame
):
    view.open(loan_explorer)
    fitted, rules = loan_explainer.fitted_, loan_explainer.rules(loan_frame)
    ages = np.arange(18, 80)
    for row, rule in enumerate(rules):
        made = loan_frame.iloc[[row] * len(ages)].assign(age=ages)
        other = fitted.outputs.decide(answers_of(loan_explainer, made)) != rules.decisions[row]
        free = np.flatnonzero(other & rule.covers(made))
        if len(free):
            break
    view.go(row)
    assert "The rule says" in view.find(".rule").text
    view.slide("age", int(ages[free[0]]))
    told = view.find(".rule").text
    assert f"The rule no longer matches the answer. It says “{rule.decision}” for all rows with" in told
    assert view.texts(".rule .broken") == []


def test_an_answer_within_the_networks_error_of_the_boundary_is_too_close_to_call(
    view, learned_explorer, loan_learned, loan_frame
):
    view.open(learned_explorer)
    error, incomes = loan_learned.quality_.error, np.linspace(20, 50, 301).round(1)
    for row in range(len(loan_frame)):
        made = loan_frame.iloc[[row] * len(incomes)].assign(income=incomes)
        off = np.abs(answers_of(loan_learned, made)[:, 1] - 0.5)
        if (off < error / 2).any():
            break
    view.go(row)
    view.slide("income", float(incomes[(off - error).argmin()]))
    assert view.texts(".trust .badge") == ["Too close to call"]
    assert view.find(".trust").text.count("Too close to call: ") == 1
    assert "low" in view.find(".answer .badge").get_attribute("class")


def test_each_class_has_its_own_contributions(view, three_class_explorer, three_class_explainer, three_class):
    view.open(three_class_explorer)
    values = three_class_explainer(three_class[1].iloc[:1]).values[0]
    for output in range(3):
        view.choose(".why select", str(output))
        view.frame()
        text = view.texts(".waterfall tr:not(.quiet):not(.sum) .number")[0]
        shown = float(text.split(" ")[0].replace("−", "-"))
        assert shown == pytest.approx(values[np.abs(values[:, output]).argmax(), output], abs=6e-4)


def test_curves_are_drawn_for_what_is_on_the_screen(view, loan_explorer):
    view.open(loan_explorer)
    view.until(
        lambda: min(view.run("[...document.querySelectorAll('.curve g')].map((one) => one.children.length)"))
    )
    told = view.run("[...document.querySelectorAll('.curve')].map((one) => one.getAttribute('aria-label'))")
    assert all(text.startswith("Response to ") and "% at" in text for text in told)
    marks = view.run(
        "[...document.querySelectorAll('.now-line')].map((one) => one.getAttribute('visibility'))"
    )
    assert "visible" in marks


def test_the_heat_map_takes_both_features_to_a_click(view, loan_explorer):
    from selenium.webdriver import ActionChains

    view.open(loan_explorer)
    for place, label in enumerate(("age", "income"), 1):
        box = f".heat-choice label:nth-child({place}) select"
        at = view.texts(f"{box} option").index(label)
        view.choose(
            box, view.run("document.querySelector(arguments[0]).options[arguments[1]].value", box, at)
        )
    canvas = view.find(".heat canvas")
    centre = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})"
    view.run(centre, canvas)
    view.until(lambda: "over age and income" in (canvas.get_attribute("aria-label") or ""))
    view.run(centre, canvas)
    left, top = 9 - canvas.size["width"] // 2, 9 - canvas.size["height"] // 2
    ActionChains(view.driver).move_to_element_with_offset(canvas, left, top).click().perform()
    view.frame()
    assert view.find(".changed-note").text == "2 values changed"
    assert float(view.value("age")) == 18
    assert float(view.value("income")) > 50
    assert view.errors == []

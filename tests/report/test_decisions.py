"""What a reader of a report sees of the positive class and the threshold."""

from copy import copy

import pytest

from illume import plots
from tests.report.common import DATE, data_of, numbers

browser = pytest.mark.browser


@pytest.fixture(scope="module")
def strict(loan_explainer):
    """Refuses from a low probability on, so that log-odds below zero are refused, too."""
    return copy(loan_explainer).set_params(positive_class="refuse", threshold=0.02)


@pytest.fixture(scope="module")
def strict_report(strict, loan_frame, folder):
    return strict.report(loan_frame, folder / "strict.html", counterfactuals=False, date=DATE)


@pytest.fixture(scope="module")
def row(strict, loan_frame):
    """A row that is refused although refusal is the less likely answer."""
    found = strict(loan_frame)
    refused = (found.decisions == 1) & (found.probabilities[:, 1] < 0.5)
    return int(refused.argmax()), found[int(refused.argmax())]


def test_the_threshold_is_a_line_in_a_waterfall(strict, loan_explainer, row):
    ax = plots.waterfall(row[1])
    assert strict.fitted_.outputs.edge == pytest.approx(-3.892, abs=1e-3)
    assert strict.fitted_.outputs.edge in [line.get_xdata()[0] for line in ax.lines]
    assert "where the threshold changes the decision" in ax.get_title()
    assert loan_explainer.fitted_.outputs.edge is None


def test_the_edge_is_that_of_the_explained_class(strict):
    outputs = strict.fitted_.outputs
    assert outputs.towards("grant").edge == -outputs.edge


@browser
def test_the_total_has_the_colour_of_the_decision(page, strict_report, row):
    page.open(strict_report)
    page.find("#find").send_keys("refuse")
    page.find(f"#table tr[data-row='{row[0]}']").click()
    assert row[1].score < 0
    assert page.find("#row tr.sum .bar-fill").get_attribute("class").split() == ["bar-fill", "for"]
    assert "where the threshold 0.02 changes the decision" in page.find("#row").text
    assert "refuse from 0.02 on" in page.find("#row .decision").text


@browser
def test_probabilities_in_the_table_are_those_of_the_class_that_the_head_names(
    page, strict, strict_report, loan_frame
):
    page.open(strict_report)
    heads = page.texts("#table thead .head-name")
    shown = [float(text) for text in page.column(1 + heads.index("Prob. refuse"))]
    assert shown == pytest.approx(strict(loan_frame).probabilities[:20, 1], abs=6e-4)


@browser
def test_a_report_opens_on_the_first_row_of_the_positive_class(page, strict, strict_report, loan_frame):
    first = int((strict(loan_frame).decisions == 1).argmax())
    assert page.open(strict_report).row == f"Row {first}"


@browser
def test_trust_says_what_is_low(page, strict_report):
    page.open(strict_report)
    rows = data_of(strict_report)["rows"]
    words = [rows["levels"][each] for each in numbers(rows["level"]).astype(int)[:20]]
    heads = page.texts("#table thead .head-name")
    assert page.column(1 + heads.index("Trust")) == words
    assert ("Low trust in" in page.find("#row .trust h4").text) == bool(page.texts("#row .low-mark"))


@browser
def test_rules_keep_their_words_whole_on_a_phone(page, loan_report):
    page.open(loan_report, width=400)
    broken = """[...document.querySelectorAll('.rule-set tbody th, .rule-set td')].filter((cell) => {
        const range = document.createRange();
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode())
            for (const word of node.data.matchAll(/\\S+/g)) {
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                if (range.getClientRects().length > 1) return true;
            }
        return false;
    }).map((cell) => cell.textContent)"""
    assert page.run("document.querySelectorAll('.rule-set tbody tr').length") > 1
    assert page.run(broken) == []
    assert page.run("document.body.scrollWidth") <= 400

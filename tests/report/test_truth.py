"""What a reader of a report sees of true answers, and how rows and categories are found and ordered."""

import re
from copy import copy

import numpy as np
import pytest

from illume.report.assemble import safe_json
from illume.report.payload import pack, pack_codes
from tests.report.common import DATE, data_in, data_of, numbers

browser = pytest.mark.browser
FEW = {"counterfactuals": False, "date": DATE}


@pytest.fixture(scope="module")
def loan_decided(loan_frame, loan_model):
    return loan_model.predict(loan_frame).astype(object)


@pytest.fixture(scope="module")
def labels(loan_decided):
    """The model's answers, wrong for every fifth row."""
    y = loan_decided.copy()
    y[::5] = np.where(y[::5] == "grant", "refuse", "grant")
    return y


@pytest.fixture(scope="module")
def true_report(loan_explainer, loan_frame, labels, folder):
    return loan_explainer.report(loan_frame, folder / "true.html", y=labels, **FEW)


def test_labels_reach_the_rows_that_are_shown(loan_explainer, loan_frame, labels, tmp_path, loan_report):
    path = loan_explainer.report(loan_frame, tmp_path / "a.html", y=labels, max_rows=40, **FEW)
    shown = np.array(data_of(path)["rows"]["classes"])[numbers(data_of(path)["rows"]["truth"]).astype(int)]
    positions = np.array(data_of(path)["rows"]["labels"]).astype(int)
    assert shown.tolist() == labels[positions].tolist()
    assert data_of(loan_report)["rows"]["truth"] is None


def test_true_numbers_reach_the_rows(limit_explainer, loan_frame, tmp_path):
    y = np.arange(200) * 10.0
    path = limit_explainer.report(loan_frame, tmp_path / "a.html", y=y, **FEW)
    assert numbers(data_of(path)["rows"]["truth"]).tolist() == y.tolist()


def test_categories_are_in_the_order_of_the_schema_with_unknown_ones_last(
    loan_frame, loan_explainer, tmp_path
):
    rows = loan_frame.head(30).assign(education=["middle", "low", "an unseen one"] * 10)
    texts = {"education": {"values": {"low": "z", "middle": "a"}}}
    named = copy(loan_explainer).set_params(labels=texts, unknown="ignore")
    path = named.report(rows, tmp_path / "a.html", **FEW)
    columns = {column["name"]: column for column in data_of(path)["rows"]["columns"]}
    assert columns["education"]["categories"] == ["z", "a", "an unseen one"]
    assert numbers(columns["education"]["values"])[:3].tolist() == [1, 0, 2]
    assert columns["owner"]["categories"] == ["False", "True"]


@browser
def test_true_classes_are_a_column_a_filter_and_part_of_the_panel(
    page, true_report, labels, loan_model, loan_frame
):
    decided = loan_model.predict(loan_frame)
    page.open(true_report)
    position = 1 + page.texts("#table thead .head-name").index("True")
    assert page.column(position) == labels[:20].tolist()
    assert page.find("#row .truth").text == f"truly {labels[0]}"
    alike = decided == decided[0]
    right = int((labels[alike] == decided[0]).sum())
    said = page.find("#row .trust").text
    assert (
        f"decides “{decided[0]}” for {alike.sum()} rows of this report, and is right for {right} of them"
        in said
    )
    page.choose("#by-right", "wrong")
    assert page.shown.startswith("40 rows of 200")
    assert page.column(1)[:3] == ["0", "5", "10"]
    page.choose("#by-right", "right")
    assert page.shown.startswith("160 rows of 200")
    page.find("#table tbody tr").click()
    assert page.find("#row .truth").text == f"truly {decided[1]}"
    assert page.errors == []


@browser
def test_true_numbers_are_a_column_and_part_of_the_panel(page, limit_explainer, loan_frame, tmp_path):
    y = limit_explainer(loan_frame).predictions[:, 0] + 1_000
    page.open(limit_explainer.report(loan_frame, tmp_path / "a.html", y=y, **FEW))
    assert "Actual" in page.texts("#table thead .head-name")
    assert not page.find("#by-right-box").is_displayed()
    assert (
        "off by 1,000 on this row, and by 1,000 on average on the 200 rows" in page.find("#row .trust").text
    )
    assert page.errors == []


@browser
def test_without_labels_nothing_is_said_of_true_classes(page, loan_report):
    page.open(loan_report)
    assert "True" not in page.texts("#table thead .head-name")
    assert not page.find("#by-right-box").is_displayed()
    assert page.texts("#row .truth") == []


@browser
def test_an_arrow_shows_only_where_rows_were_sorted_and_the_first_click_sorts_upwards(
    page, loan_explainer, loan_frame, tmp_path
):
    page.open(loan_explainer.report(loan_frame.iloc[[7, 126, 3, 90]], tmp_path / "a.html", **FEW))
    assert page.column(1) == ["7", "126", "3", "90"]
    assert page.texts("#table .arrow") == []
    assert page.run("document.querySelectorAll('#table th[aria-sort]:not([aria-sort=none])').length") == 0
    page.find("#table thead th button").click()
    assert page.column(1) == ["3", "7", "90", "126"]
    assert page.texts("#table .arrow") == ["▲"]
    page.find("#table thead th button").click()
    assert page.column(1) == ["126", "90", "7", "3"]


@browser
def test_a_search_for_a_row_label_shows_this_row_first(page, loan_report):
    page.open(loan_report)
    page.find("#find").send_keys("45")
    found = page.column(1)
    assert len(found) > 1
    assert found[0] == "45"


@browser
@pytest.mark.parametrize("width", [1280, 390])
def test_answer_truth_and_trust_are_in_sight_without_scrolling_the_table(page, true_report, width):
    page.open(true_report, width=width)
    ends = page.run(
        "[...document.querySelectorAll('#table thead th')].map((one) => one.getBoundingClientRect().right)"
    )
    names = page.texts("#table thead .head-name")
    assert ends[names.index("Trust")] <= page.run(
        "document.getElementById('table-box').getBoundingClientRect().right"
    )


@browser
def test_the_commonest_categories_have_a_colour_and_the_rarest_are_called_other(page, loan_report, tmp_path):
    text = loan_report.read_text("utf-8")
    data = data_in(text)
    rows = data["rows"]
    names = [column["name"] for column in rows["columns"]]
    codes = np.repeat(np.arange(10), [2, 4, 6, 8, 10, 14, 20, 30, 46, 60])
    education = rows["columns"][names.index("education")]
    education["categories"], education["values"] = [f"kind {i}" for i in range(10)], pack_codes(codes, 10)
    rows["contributions"][0][names.index("age")] = pack(10.0 + codes, "f4")  # which the kind explains
    rows["importance"][0][names.index("age")] = 100.0
    script = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    (tmp_path / "kinds.html").write_text(text.replace(script, safe_json(data)), "utf-8")
    page.open(tmp_path / "kinds.html")
    shown = page.texts("#dependence figure:first-child .legend span")
    assert shown == ["Colour: education", *(f"kind {i}" for i in range(9, 2, -1)), "other"]
    assert page.errors == []

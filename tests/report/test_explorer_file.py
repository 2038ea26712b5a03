"""The explorer's file: safe, whole, small, the same every time."""

import base64
import csv
import hashlib
import io
import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest

import illume
from illume.cli.output import escape_formulas
from illume.errors import SchemaError
from illume.report.assemble import STATIC
from illume.results.scenarios import describe_table
from tests.report.common import CLASSES, DATE, SCRIPT, data_of, odd_frame
from tests.report.engine import NODE, needs_node


def test_the_default_path_is_explorer_html_and_replaces_no_file(
    loan_explainer, loan_frame, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("explorer.html", "explorer-2.html"):
        assert loan_explainer.explorer(loan_frame.iloc[:20]).name == name
        assert (tmp_path / name).is_file()


def test_the_policy_allows_the_pages_own_script_and_style_alone(loan_explorer):
    page = loan_explorer.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none';")
    script, style = (re.findall(rf"<{name}>(.*?)</{name}>", page, re.S)[-1] for name in ("script", "style"))
    for inline in (script, style):
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_whatever_looks_like_html_is_text(odd_explorer):
    page = odd_explorer.read_text("utf-8")
    assert page.count("<script") == 2
    assert "<img" not in page
    data = data_of(odd_explorer)
    assert SCRIPT in [feature["name"] for feature in data["engine"]["features"]]
    assert data["engine"]["outputs"]["names"] == CLASSES
    assert data["rows"]["labels"][0] == "customer 000 </script><!--"


def test_the_same_rows_and_date_give_the_same_file(loan_explainer, loan_frame, loan_explorer, tmp_path):
    again = loan_explainer.explorer(loan_frame, tmp_path / "again.html", date=DATE)
    assert again.read_bytes() == loan_explorer.read_bytes()


def test_too_many_rows_are_spaced_evenly_and_keep_their_labels(loan_explainer, loan_frame, tmp_path):
    found = data_of(loan_explainer.explorer(loan_frame, tmp_path / "few.html", max_rows=3))
    assert found["rows"]["labels"] == [str(i) for i in np.linspace(0, 199, 3).round().astype(int)]
    assert found["engine"]["rows"]["n"] == 3


def test_a_page_of_a_model_that_is_not_at_hand_says_so(loan_explainer, loan_frame, tmp_path):
    loan_explainer.save(tmp_path / "loans.illume")
    alone = illume.load(tmp_path / "loans.illume")
    found = data_of(alone.explorer(loan_frame, tmp_path / "alone.html"))
    assert found["rows"]["has_model"] is False
    assert found["engine"]["rows"]["answers"] is None


def test_scenarios_get_the_types_of_the_fitted_columns(loan_explorer, loan_explainer):
    assert data_of(loan_explorer)["page"]["table"] == describe_table(loan_explainer.fitted_.dtypes)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"path": "page.txt"}, ValueError, "the explorer page.txt must end in .html or .htm"),
        ({"path": "no such folder/page.html"}, FileNotFoundError, "there is no folder no such folder"),
        ({"max_rows": 0}, ValueError, "max_rows must be a positive integer, found 0"),
        ({"date": 5}, TypeError, "date must be a date"),
    ],
)
def test_bad_options_are_refused_before_any_work(loan_explainer, options, error, message):
    with pytest.raises(error, match=message):
        loan_explainer.explorer(None, **{"path": "page.html"} | options)


def test_no_rows_are_refused(loan_explainer, loan_frame, tmp_path):
    with pytest.raises(SchemaError, match="the frame holds no rows; an explorer needs at least one"):
        loan_explainer.explorer(loan_frame.iloc[:0], tmp_path / "none.html")


def test_names_that_no_file_can_hold_are_written_as_numbers(odd_explainer, tmp_path):
    path = odd_explainer.explorer(odd_frame(), tmp_path / "odd.html", title="lone \ud800", max_rows=2)
    assert "<title>lone &#55296;</title>" in path.read_text("utf-8")


@needs_node
def test_texts_are_escaped_for_spreadsheets_as_python_does():
    texts = [
        "=1+1",
        "@a",
        "\tx",
        "\rx",
        "+1",
        "-1.5e3",
        "-a",
        "+",
        "-",
        "a=b",
        'say "=1"',
        "a,b",
        "a\nb",
        "",
        "-1 ",
    ]
    code = (
        f"import {{ csvCell }} from {(STATIC / 'explorer_scenarios.js').as_uri()!r};"
        f"console.log(JSON.stringify({json.dumps(texts)}.map(csvCell)))"
    )
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    (line,) = csv.reader(io.StringIO(",".join(json.loads(done.stdout)), newline=""))
    assert line == escape_formulas(pd.DataFrame({"a": texts}))["a"].tolist()

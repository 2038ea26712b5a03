"""The file: safe, whole, the same every time, small."""

import base64
import hashlib
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, SurrogateOptions
from illume.errors import SaveError, SchemaError
from illume.report.assemble import STATIC, modules, read_static
from illume.report.payload import pack_rounded
from tests.report.common import CLASSES, DATE, IMAGE, LONG, SCRIPT, data_of, numbers, odd_frame, text_of


def test_whatever_looks_like_html_is_text(odd_report):
    page = odd_report.read_text("utf-8")
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    for markup in (SCRIPT, IMAGE, CLASSES[0], "<!--"):
        assert markup not in page
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt; &amp; co</title>" in page


def test_odd_names_come_back_whole(odd_report):
    rows = data_of(odd_report)["rows"]
    assert [column["name"] for column in rows["columns"]] == list(odd_frame().columns)
    assert rows["labels"] == odd_frame().index.tolist()
    assert rows["classes"] == CLASSES
    by_name = {column["name"]: column for column in rows["columns"]}
    assert IMAGE in by_name[SCRIPT]["categories"]
    np.testing.assert_array_equal(numbers(by_name[LONG]["values"]), odd_frame()[LONG])
    assert np.isnan(numbers(by_name["income"]["values"])).sum() == odd_frame()["income"].isna().sum()
    assert SCRIPT in text_of(odd_report)


def test_the_policy_allows_the_one_script_and_style_and_nothing_else(odd_report):
    page = odd_report.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    for kind, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        inline = re.search(pattern, page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r'\s(style|on\w+|src)="', page)


def test_a_page_names_no_other_place(loan_report):
    found = set(re.findall(r"https?://[^\s\"'<]+", loan_report.read_text("utf-8")))
    assert found == {"http://www.w3.org/2000/svg"}


def test_scripts_build_text_not_html():
    from importlib.resources import files

    for file in (files("illume.report") / "static").iterdir():
        code = file.read_text("utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", code
        )
        assert len(code.splitlines()) <= 300


def test_equal_rows_give_equal_files(odd_explainer, odd_report, tmp_path):
    again = odd_explainer.report(odd_frame(), tmp_path / "again.html", title=f"{SCRIPT} & co", date=DATE)
    assert again.read_bytes() == odd_report.read_bytes()


def test_the_date_is_now_unless_given(odd_explainer, tmp_path):
    few = {"rules": False, "counterfactuals": False, "max_rows": 5}
    path = odd_explainer.report(odd_frame(), tmp_path / "now.html", **few)
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", text_of(path))
    with pytest.raises(TypeError, match="a date, a datetime or a string, found int"):
        odd_explainer.report(odd_frame(), tmp_path / "now.html", date=3, **few)


def test_ten_thousand_rows_of_thirty_features_stay_below_15_mb(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 30))).add_prefix("feature ")

    def model(frame):
        return 1 / (1 + np.exp(-frame["feature 0"] * frame["feature 1"] - frame["feature 2"]))

    path = (
        Explainer(
            model, effort="quick", queries=1_000, surrogate_options=SurrogateOptions(encoder="identity")
        )
        .fit(X)
        .report(X, tmp_path / "big.html", max_counterfactual_rows=100)
    )
    assert 10 * path.stat().st_size < 15e6


def test_rounded_numbers_are_off_by_less_than_a_60000th_of_the_largest():
    values = np.random.default_rng(0).normal(size=1000)
    assert np.abs(numbers(pack_rounded(values)) - values).max() <= np.abs(values).max() / 65_000
    assert pack_rounded(np.zeros(3))["unit"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rows": 0}, "max_rows must be a positive integer, found 0"),
        ({"n_counterfactuals": 1.5}, "n_counterfactuals must be a positive integer"),
        ({"max_counterfactual_rows": True}, "max_counterfactual_rows must be a positive integer"),
    ],
)
def test_impossible_numbers_are_refused(options, message, odd_explainer, tmp_path):
    with pytest.raises(ValueError, match=message):
        odd_explainer.report(odd_frame(), tmp_path / "no.html", **options)


def test_no_rows_and_missing_columns_are_refused(odd_explainer, tmp_path):
    with pytest.raises(SchemaError, match="a report needs at least one"):
        odd_explainer.report(odd_frame().iloc[:0], tmp_path / "no.html")
    with pytest.raises(SchemaError, match="column 'age' is missing"):
        odd_explainer.report(odd_frame().drop(columns="age"), tmp_path / "no.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named_before_any_work(odd_explainer, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write report\.html into"):
        odd_explainer.report(None, tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it"):
        odd_explainer.report(None, tmp_path)


def test_a_file_is_written_whole_or_not_at_all(odd_explainer, tmp_path, monkeypatch):
    target, few = tmp_path / "report.html", {"rules": False, "counterfactuals": False, "max_rows": 5}
    odd_explainer.report(odd_frame(), target, title="first \ud800", **few)
    assert "<title>first &#55296;</title>" in target.read_text("utf-8")

    def fails(*_):
        raise OSError("no space")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(SaveError, match="no space; what was there before is unchanged"):
        odd_explainer.report(odd_frame(), target, title="second", **few)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert "<title>first" in target.read_text("utf-8")


ENTRIES = pytest.mark.parametrize("entry", ["main", "explorer_main", "explorer_served"])


@ENTRIES
def test_modules_of_the_script_do_nothing_until_they_are_called(entry):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to import the modules with")
    names = [name for name in modules(entry) if name != entry]
    code = "".join(f"await import({(STATIC / f'{name}.js').as_uri()!r});" for name in names)
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@ENTRIES
def test_names_at_the_top_of_modules_differ(entry):
    code = "".join(map(read_static, (f"{name}.js" for name in modules(entry))))
    found = re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", code, re.MULTILINE)
    assert len(found) == len(set(found)) > 20

import gzip
import io
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES

import illume
from illume.cli.messages import CommandError
from illume.cli.read_rows import MISSING, STDIN, read_rows
from illume.data.row_sources import parquet_files
from illume.data.table_files import CSV, PARQUET

TABLE = "age,job\n31,smith\n45,\n"


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.tsv", "semicolon.csv", "bom.csv", "a.csv.gz"])
def test_kinds_of_csv_give_the_same_rows(tmp_path, name):
    text = TABLE
    if name in ("a.tsv", "semicolon.csv"):
        text = text.replace(",", "\t" if name == "a.tsv" else ";")
    content = text.encode("utf-8-sig" if name == "bom.csv" else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    frame = read_rows(tmp_path / name)
    assert frame["age"].tolist() == [31, 45]
    assert frame["job"].iloc[0] == "smith"
    assert frame["job"].isna().tolist() == [False, True]


def test_parquet_gives_the_same_rows_and_a_named_index_as_a_column(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pd.read_csv(io.StringIO(TABLE))
    frame.to_parquet(path)
    pd.testing.assert_frame_equal(read_rows(path), frame)
    frame.set_index("job").to_parquet(path)
    assert set(read_rows(path).columns) == {"age", "job"}
    frame.iloc[[1, 0]].to_parquet(path)
    assert read_rows(path).index.tolist() == [0, 1]


@pytest.mark.parametrize("end", PARQUET)
def test_every_parquet_file_that_the_library_reads_is_read(run, explainer, folder, tmp_path, end):
    frame = pd.read_csv(folder / "new.csv")
    frame.to_parquet(tmp_path / f"new{end}")
    assert parquet_files(tmp_path) == [tmp_path / f"new{end}"]
    pd.testing.assert_frame_equal(read_rows(tmp_path / f"new{end}"), frame)
    answer = run("explain", explainer, tmp_path / f"new{end}", "-q")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout == run("explain", explainer, folder / "new.csv", "-q").stdout
    answer = run("explain", explainer, tmp_path / f"new{end}", "--missing", "?")
    assert answer.exit_code == 2
    assert "--missing are for CSV" in answer.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"PK", r"an unknown type; expected \.csv"),
        ("a.csv", b"", "is empty; expected a line of column names"),
        ("a.csv", b"a,b\n1,\xff\n", "not UTF-8 text"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as CSV: .*line 3"),
        ("a.csv", b"a,b\nrow1,1,2\nrow2,3,4\n", "lines with more fields than the header names columns; name"),
        ("a.csv.gz", b"a,b\n", "cannot be read as CSV"),
        ("a.parquet", b"a,b\n", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_is_named(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError, match=said):
        read_rows(tmp_path / name)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"absent\.csv does not exist"):
        read_rows(tmp_path / "absent.csv")
    with pytest.raises(CommandError, match="is a folder"):
        read_rows(tmp_path)


TYPES = {
    "as pandas reads them": (
        "zip,n,yes,town\n01010,1,True,Ulm\n22222,,False,NA\n",
        {},
        {"zip": [1010, 22222], "n": [1.0, None], "yes": [True, False], "town": ["Ulm", None]},
    ),
    "text that looks like numbers": (
        "zip,n\n01010,01\n7,2\n,3\n",
        {"text": ["zip"]},
        {"zip": ["01010", "7", None], "n": [1, 2, 3]},
    ),
    "other words for a missing value": (
        "region,income\nNA,3\nEU,?\n,5\n",
        {"missing": ["?"]},
        {"region": ["NA", "EU", None], "income": [3.0, None, 5.0]},
    ),
    "only empty cells are missing": (
        "region,income\nNA,3\nEU,?\n,5\n",
        {"missing": [""]},
        {"region": ["NA", "EU", None], "income": ["3", "?", "5"]},
    ),
    "known categories stay text and are not missing": (
        "a,b,code\nNA,NA,01\nx,y,2\n",
        {"categories": {"a": ("NA", "x", None), "b": ("y",), "code": (1, 2)}},
        {"a": ["NA", "x"], "b": [None, "y"], "code": [1, 2]},
    ),
    "columns without a name": ("a,\n01,NA\n2,3\n", {}, {"a": [1, 2], "Unnamed: 1": [None, 3.0]}),
}


@pytest.mark.parametrize(("text", "options", "expected"), TYPES.values(), ids=TYPES)
def test_cells_are_read_as_pandas_does_unless_told_otherwise(tmp_path, text, options, expected):
    (tmp_path / "a.csv").write_text(text)
    frame = read_rows(tmp_path / "a.csv", **options)
    assert frame.astype(object).where(frame.notna(), None).to_dict("list") == expected


@pytest.mark.parametrize("given", [["a,b", "c"], ["c", "a,b"], ["a,b"]])
def test_a_column_whose_name_holds_a_comma_can_be_text(tmp_path, given):
    (tmp_path / "one.csv").write_text('"a,b",a,b,c\n01,01,01,01\n')
    frame = read_rows(tmp_path / "one.csv", text=given)
    expected = {"a,b": "01", "a": 1, "b": 1, "c": "01" if "c" in given else 1}
    assert {name: frame[name][0] for name in frame} == expected
    (tmp_path / "two.csv").write_text("a,b,c\n01,01,01\n")
    frame = read_rows(tmp_path / "two.csv", text=given)
    assert (frame["a"][0], frame["b"][0]) == ("01", "01")


def test_words_for_a_missing_value_are_those_of_pandas():
    assert {*MISSING, ""} == set(STR_NA_VALUES)


def test_stdin_and_packed_files_are_read_alike(monkeypatch, tmp_path):
    content = b"a;zip\n1;01\n3;02\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    for path in (STDIN, tmp_path / "a.csv.gz"):
        assert read_rows(path, text=["zip"]).to_dict("list") == {"a": [1, 3], "zip": ["01", "02"]}


@pytest.fixture(scope="module")
def zips(folder, tmp_path_factory):
    """A folder with rows of codes that begin with 0, with NA for a region and ? for a gap."""
    place = tmp_path_factory.mktemp("zips")
    income = pd.read_csv(folder / "loans.csv")["income"]
    X = pd.DataFrame({"income": income, "zip": ["01010", "1010", "NA", "22222"] * 50})
    X.to_csv(place / "zips.csv", index=False, na_rep="?")
    (place / "scores_of_zips.py").write_text(
        "def chance(rows):\n    return (rows['zip'] == 'NA') * 0.5 + (rows['income'] > 30) * 0.2 + 0.1\n"
    )
    return place


@pytest.fixture(scope="module")
def zip_explainer(zips, run, fast):
    """The file of the explainer, fitted with the words of its rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(zips)
        model, read = "--model scores_of_zips:chance --n-latents 2 --queries 0", "--text zip --missing ?"
        answer = run("fit", zips / "zips.csv", model, read, "-o", zips / "zips.illume")
    assert answer.exit_code == 0, answer.stderr
    return zips / "zips.illume"


def test_rows_to_explain_are_read_as_the_schema_says(zips, zip_explainer, run):
    assert illume.load(zip_explainer).schema_["zip"].categories == ("01010", "1010", "22222", "NA")
    new = [("zip", "income", "key"), ("1010", "3", "007"), ("01010", "?", "08"), ("NA", "5", "9")]
    (zips / "new.csv").write_text("".join(f"{','.join(row)}\n" for row in new))
    answer = run("explain", zip_explainer, zips / "new.csv", "--json --missing ? --keep key")
    assert answer.exit_code == 0, answer.stderr
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    by_name = [{each["name"]: each for each in line["features"]} for line in lines]
    assert [row["zip"]["value"] for row in by_name] == ["1010", "01010", "NA"]
    assert [row["income"]["value"] for row in by_name] == [3.0, None, 5.0]
    assert [line["kept"]["key"] for line in lines] == ["007", "08", "9"]  # copied as they are written


def test_a_word_that_is_not_named_as_missing_is_text_and_refused(zips, zip_explainer, run):
    (zips / "gap.csv").write_text("zip,income\n1010,?\n")
    answer = run("explain", zip_explainer, zips / "gap.csv")
    assert answer.exit_code == 1
    assert "column 'income' holds text such as '?', expected numbers" in answer.stderr


@pytest.mark.parametrize("command", ["fit", "explain", "report", "check"])
def test_parquet_takes_no_such_words(run, folder, model, command, tmp_path):
    rows, out = folder / "loans.parquet", ("-o", tmp_path / "a.illume")
    words = {
        "fit": (rows, "--model m.joblib", *out),
        "explain": (folder / "loans.illume", rows),
        "report": (folder / "loans.illume", rows, "--model a.joblib"),
        "check": (folder / "loans.illume", rows),
    }
    answer = run(command, *words[command], "--missing", "?")
    assert answer.exit_code == 2
    assert "--missing are for CSV" in answer.stderr


def test_the_ends_of_names_are_told_where_a_file_is_of_another_kind(tmp_path):
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(CommandError) as caught:
        read_rows(tmp_path / "a.json")
    assert all(end in str(caught.value) for end in (*CSV, ".parquet"))

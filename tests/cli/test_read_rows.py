import gzip
import io
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES

import illume
from illume.cli import train
from illume.cli.messages import CommandError
from illume.cli.read_rows import MISSING, STDIN, CsvOptions, read_rows

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


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"PK", r"an unknown type; expected \.csv"),
        ("a.csv", b"", "is empty; expected a line of column names"),
        ("a.csv", b"a,b\n1,\xff\n", "not UTF-8 text"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as CSV: .*line 3"),
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


@pytest.fixture
def read(tmp_path):
    """Read a text as CSV and return the frame and what was said."""

    def call(content, **how):
        (tmp_path / "a.csv").write_text(content)
        said = []
        return read_rows(tmp_path / "a.csv", CsvOptions(**how), said.append), said

    return call


@pytest.mark.parametrize("codes", [["01010", "22222"], ["10", "00"], ["7", "007", ""], ["01", "NA"]])
def test_digits_with_leading_zeros_are_text(read, codes):
    frame, said = read("\n".join(["zip,n", *(f"{code},1" for code in codes)]) + "\n")
    assert [code for code in frame["zip"] if isinstance(code, str)] == [
        c for c in codes if c not in ("", "NA")
    ]
    assert frame["n"].tolist() == [1] * len(codes)
    assert said[0].startswith("column 'zip' holds digits with leading zeros, such as '0")
    assert "--number zip" in said[0]


@pytest.mark.parametrize("numbers", ["0\n10\n-3", "0.5\n00.5\n10", "1e05\n0\n20", "0\n0\n0"])
def test_numbers_stay_numbers(read, numbers):
    frame, said = read(f"a\n{numbers}\n")
    assert frame["a"].dtype.kind in "if"
    assert not said


CODES = {"zip": frozenset(["01010"]), "code": frozenset([" 7", "7"]), "town": frozenset(["Ulm"])}
CELLS = {
    "text and numbers can be asked for": (
        ("zip,age,level\n1010,01,01\n2020,02,02\n", {"text": ("zip",), "plain": ("age",)}),
        ({"zip": ["1010", "2020"], "age": [1, 2], "level": ["01", "02"]}, 1),
    ),
    "spaces around codes are no part of them": (
        ("zip,n\n 01010,1\n01010 ,2\n22222,3\n,4\n", {}),
        ({"zip": ["01010", "01010", "22222", None], "n": [1, 2, 3, 4]}, 1),
    ),
    "spaces around codes of new rows are no part of them unless they were when fitting": (
        (
            "zip,code,town\n 01010, 7, Ulm\n01010 ,7,Ulm\n 9,7 ,Bonn \n",
            {"text": tuple(CODES), "categories": CODES},
        ),
        ({"zip": ["01010", "01010", " 9"], "code": [" 7", "7", "7"], "town": [" Ulm", "Ulm", "Bonn "]}, 0),
    ),
    "other words can be named for missing values": (
        ("region,income\nNA,3\nEU,?\n,5\n", {"missing": ("?",)}),
        ({"region": ["NA", "EU", None], "income": [3.0, None, 5.0]}, 1),
    ),
    "empty cells are always missing": (
        ("region,income\nNA,3\nEU,?\n,5\n", {"missing": ()}),
        ({"region": ["NA", "EU", None], "income": ["3", "?", "5"]}, 0),
    ),
    "a word that is a known category is not missing": (
        ("a,b\nNA,NA\nx,y\n", {"text": ("a", "b"), "categories": {"a": frozenset(["NA", "x"])}}),
        ({"a": ["NA", "x"], "b": [None, "y"]}, 1),
    ),
    "columns without a name are read as pandas does": (
        ("a,\n01,NA\n2,3\n", {}),
        ({"a": ["01", "2"], "Unnamed: 1": [None, 3.0]}, 2),
    ),
}


@pytest.mark.parametrize(("given", "expected"), CELLS.values(), ids=CELLS)
def test_cells_are_read_as_the_guide_says(read, given, expected):
    text, options = given
    frame, said = read(text, **options)
    values = frame.astype(object).where(frame.notna(), None).to_dict("list")
    assert (values, len(said)) == expected


@pytest.mark.parametrize("given", [("a,b", "c"), ("c", "a,b"), ("a,b",)])
def test_a_column_whose_name_holds_a_comma_can_be_asked_for(read, given):
    text = '"a,b",a,b,c\n01,01,01,01\n'
    frame, _ = read(text, plain=given)
    assert {name: frame[name][0] for name in frame} == {
        "a,b": 1,
        "a": "01",
        "b": "01",
        "c": 1 if "c" in given else "01",
    }
    frame, _ = read(text.replace('"a,b",', "").replace("01,01,01,01", "01,01,01"), plain=given)
    assert frame["a"][0] == frame["b"][0] == 1


def test_words_that_count_as_missing_are_counted_and_said(read):
    frame, said = read("region,income\nNA,3\nEU,n/a\nNA,\n")
    assert frame["region"].isna().tolist() == [True, False, True]
    assert frame["income"].isna().tolist() == [False, True, True]
    assert said == [
        "3 cells count as missing by the word they hold: 'NA' in 'region' 2 times, "
        "'n/a' in 'income' 1 times; --missing A,B names the words that do, and --missing '' none"
    ]


def test_what_pandas_takes_for_missing_is_by_default_and_no_more(read):
    assert {*MISSING, ""} == set(STR_NA_VALUES)
    frame, _ = read("a,b\n" + "".join(f"{word},1\n" for word in [*MISSING, "-"]))
    assert frame["a"].isna().tolist() == [True] * len(MISSING) + [False]


@pytest.mark.parametrize("end", [",", ",,", ", "])
@pytest.mark.parametrize("every", [1, 2])
def test_commas_at_the_ends_of_lines_move_no_value(read, end, every):
    lines = [f"{i:02d},{i},x{end if i % every == 0 else ''}" for i in range(6)]
    frame, said = read("\n".join(["zip,n,town", *lines]) + "\n")
    assert frame.to_dict("list") == {
        "zip": [f"{i:02d}" for i in range(6)],
        "n": list(range(6)),
        "town": ["x"] * 6,
    }
    assert len(said) == 1
    assert "column 'zip' holds digits with leading zeros, such as '00'" in said[0]


@pytest.mark.parametrize("first", ["1,2,", '"1\n3",2,'])
def test_a_line_with_more_values_than_columns_is_named(read, first):
    with pytest.raises(CommandError) as caught:
        read(f"a,b\n{first}\n3,4,9\n5,6,\n")
    line = 4 if "\n" in first else 3
    assert f"line {line} of " in str(caught.value)
    assert str(caught.value).endswith(
        "a.csv has 3 fields, but the header names 2 columns; name every column, or remove the extra fields"
    )


def test_names_of_rows_without_a_header_are_not_taken_for_the_first_column(read):
    with pytest.raises(CommandError, match=r"line 2 of .* has 3 fields, but the header names 2 columns"):
        read("a,b\nrow1,1,2\nrow2,3,4\n")


def test_stdin_and_packed_files_are_read_alike(monkeypatch, tmp_path):
    content = b"a;zip\n1;01;\n3;02;\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    for path in (STDIN, tmp_path / "a.csv.gz"):
        assert read_rows(path).to_dict("list") == {"a": [1, 3], "zip": ["01", "02"]}


@pytest.fixture(scope="module")
def zips(run, folder, fast, tmp_path_factory):
    """An explainer of rows with codes that begin with 0, with NA for a region and ? for a gap."""
    place = tmp_path_factory.mktemp("zips")
    table = pd.read_csv(folder / "loans.csv")[["income", "decision"]]
    table = table.assign(zip=["01010", "1010", "NA", "22222"] * 50)
    table.to_csv(place / "zips.csv", index=False, na_rep="?")
    words = ("--target decision --train gbm --n-latents 2 --queries 0 --missing", "?")
    return place, run("fit", place / "zips.csv", *words, "-o", place / "zips.illume")


def test_fit_says_how_cells_were_read(zips):
    _, answer = zips
    assert answer.exit_code == 0, answer.stderr
    assert "12 cells count as missing by the word they hold: '?' in 'income' 12 times" in answer.stderr


def test_rows_to_explain_are_read_as_those_of_the_fit(zips, run):
    place, _ = zips
    explainer = illume.load(place / "zips.illume")
    assert explainer.schema_["zip"].categories == ("01010", "1010", "22222", "NA")
    assert explainer.fitted_.missing_words == ("?",)
    new = [("zip", "income"), ("1010", "3"), ("01010", "?"), ("NA", "5")]
    (place / "new.csv").write_text("".join(f"{a},{b}\n" for a, b in new))
    answer = run("explain", place / "zips.illume", place / "new.csv", "--json")
    assert answer.exit_code == 0, answer.stderr
    rows = [json.loads(line)["features"] for line in answer.stdout.splitlines()]
    by_name = [{each["name"]: each for each in row} for row in rows]
    assert [row["zip"]["value"] for row in by_name] == ["1010", "01010", "NA"]
    assert [row["income"]["value"] for row in by_name] == [3.0, None, 5.0]


def test_without_those_words_the_gap_is_text_and_refused(zips, run):
    place, _ = zips
    (place / "gap.csv").write_text("zip,income\n1010,?\n")
    answer = run("explain", place / "zips.illume", place / "gap.csv", "--missing", "-")
    assert answer.exit_code == 1
    assert "column 'income' holds text such as '?', expected numbers" in answer.stderr


@pytest.mark.parametrize("option", ["--text", "--number"])
def test_columns_that_are_not_there_are_refused(run, folder, option, tmp_path):
    words = ("--target decision --train gbm -o", tmp_path / "a.illume")
    answer = run("fit", folder / "loans.csv", *words, option, "educaton")
    assert answer.exit_code == 1
    assert (
        f"{option} names 'educaton', which is no column; the nearest column is 'education'" in answer.stderr
    )


@pytest.mark.parametrize("option", ["--text", "--number"])
def test_a_column_whose_name_holds_a_comma_is_one_for_fit_too(option, tmp_path, monkeypatch, run):
    table = pd.DataFrame({"zip, old": ["01", "02"] * 10, "n": [1, 2] * 10, "y": ["a", "b"] * 10})
    table.to_csv(tmp_path / "a.csv", index=False)
    kinds = {}

    def stop(rows, *rest):
        kinds.update({name: rows[name].dtype.kind for name in rows})
        raise CommandError("enough")

    monkeypatch.setattr(train, "train_gbm", stop)
    words = ("--target y --train gbm -o", tmp_path / "a.illume", option, "zip, old", option, "n")
    assert "enough" in run("fit", tmp_path / "a.csv", *words).stderr
    assert (kinds["zip, old"] == "i", kinds["n"] == "i") == (option == "--number", option == "--number")


@pytest.mark.parametrize("command", ["fit", "explain", "report", "check"])
def test_parquet_takes_no_such_words(run, folder, command, tmp_path):
    rows, out = folder / "loans.parquet", ("-o", tmp_path / "a.illume")
    words = {
        "fit": (rows, "--target decision --train gbm", *out),
        "explain": (folder / "loans.illume", rows),
        "report": (folder / "loans.illume", rows, "--model a.joblib"),
        "check": (folder / "loans.illume", rows),
    }
    answer = run(command, *words[command], "--missing", "?")
    assert answer.exit_code == 2
    assert "--missing are for CSV" in answer.stderr

import gzip
import io

import pandas as pd
import pytest

from illume.cli.errors import CommandError
from illume.cli.reading import read_rows

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


def test_csv_can_come_from_stdin(monkeypatch):
    from pathlib import Path

    class Stdin:
        buffer = io.BytesIO(TABLE.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert len(read_rows(Path("-"))) == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"PK", r"no known kind; expected \.csv"),
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

"""Parts and plans of a run over a folder that were damaged before it is resumed."""

import pandas as pd
import pytest

from illume.distributed import explain_parquet
from illume.errors import FormatError


@pytest.fixture
def out(source, given, tmp_path):
    """A folder that was written completely."""
    explain_parquet(source, tmp_path / "out", workers=0, **given)
    return tmp_path / "out"


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda content: content[:-100], lambda content: b""])
def test_a_part_that_was_cut_off_is_made_again(source, given, out, damage):
    expected = pd.read_parquet(out)
    path = out / "part-00002.parquet"
    path.write_bytes(damage(path.read_bytes()))
    written = explain_parquet(source, out, workers=0, **given)
    assert written.n_skipped == written.n_parts - 1
    assert written.n_lines == len(expected)
    pd.testing.assert_frame_equal(pd.read_parquet(out), expected)
    assert explain_parquet(source, out, workers=0, **given).n_skipped == written.n_parts


@pytest.mark.parametrize("damage", [flip, lambda content: content[:-30], lambda content: b"[]"])
def test_a_damaged_plan_says_what_to_do(source, given, out, damage):
    path = out / "_illume.json"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=r"_illume.json, the plan of the run, is damaged; remove .*out or"):
        explain_parquet(source, out, workers=0, **given)


def test_a_truncated_source_is_named(source, given, tmp_path):
    path = min(each for each in source.glob("*.parquet") if not each.name.startswith("_"))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(FormatError, match=rf"{path.name} cannot be read as Parquet"):
        explain_parquet(source, tmp_path / "out", workers=0, **given)

"""The README's own code runs, from top to bottom."""

import re
from pathlib import Path

import pytest

from illume import settings
from tests.common import FAST

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_picture_and_the_pages_of_the_readme_are_there():
    linked = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert linked
    assert all((README.parent / path).is_file() for path in linked)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")  # of shap
def test_every_block_of_the_readme_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(settings, "QUICK", FAST)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    assert len(BLOCKS) >= 2
    assert "report rows, which chose nothing" in capsys.readouterr().out

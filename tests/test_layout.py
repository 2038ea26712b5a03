import subprocess
import sys
from pathlib import Path

import pytest

import illume

ROOT = Path(__file__).parents[1]
FILES = sorted(p for folder in ("src", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_has_one_idea_and_at_most_400_lines(path):
    assert len(path.read_text().splitlines()) <= (300 if "src" in path.parts else 400)


def test_importing_illume_loads_nothing_heavy():
    code = "import illume, sys; print({'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_every_public_name_can_be_had():
    assert all(getattr(illume, name) is not None for name in illume.__all__)
    assert set(illume.__all__) <= set(dir(illume))
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        illume.explain  # noqa: B018

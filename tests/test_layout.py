import re
import subprocess
import sys
from pathlib import Path

import pytest

import illume

ROOT = Path(__file__).parents[1]
FILES = sorted(p for folder in ("src", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.py"))


def test_the_first_line_of_a_file_says_what_it_is_about():
    for path in FILES:
        if "src" in path.parts:
            assert re.match(r'r?"""[A-Z`].+[.:]?', path.read_text()), path


def test_importing_illume_loads_nothing_heavy():
    code = "import illume, sys; print({'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_every_public_name_can_be_had():
    assert all(getattr(illume, name) is not None for name in illume.__all__)
    assert set(illume.__all__) <= set(dir(illume))
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        illume.explain  # noqa: B018

import re
import subprocess
import sys
from pathlib import Path

import pytest

import illume

ROOT = Path(__file__).parents[1]
FILES = sorted(p for folder in ("src", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_is_short_and_its_first_line_says_what_it_is_about(path):
    text = path.read_text()
    assert len(text.splitlines()) <= (350 if "src" in path.parts else 400)
    if "src" in path.parts:
        assert re.match(r'r?"""[A-Z`].+[.:]?', text)


def test_importing_illume_loads_nothing_heavy():
    code = "import illume, sys; print({'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_every_public_name_can_be_had():
    assert all(getattr(illume, name) is not None for name in illume.__all__)
    assert set(illume.__all__) <= set(dir(illume))
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        illume.explain  # noqa: B018


def test_the_face_stays_small():
    assert len(illume.__all__) <= 25
    assert len(illume.Explainer(None).get_params(deep=False)) <= 17
    packages = list((ROOT / "src" / "illume").glob("*/__init__.py"))
    assert len(packages) <= 14
    allowed = {"__init__.py", "__main__.py", "_typing.py", "errors.py", "explainer.py"}
    assert {path.name for path in (ROOT / "src" / "illume").glob("*.py")} <= allowed
    assert not any("explainer: Any" in path.read_text() for path in (ROOT / "src").rglob("*.py"))

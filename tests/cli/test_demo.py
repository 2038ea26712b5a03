import pytest

from illume import demo
from illume.cli import demo as command
from illume.errors import MissingExtraError


def test_the_demo_is_the_librarys(run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(demo, "main", lambda folder, verbose: asked.append((folder, verbose)))
    assert run("demo", tmp_path).exit_code == 0
    assert run("demo", tmp_path, "--quiet").exit_code == 0
    assert asked == [(str(tmp_path), True), (str(tmp_path), False)]


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"illume\[demo\]"):
        command.demo(tmp_path)

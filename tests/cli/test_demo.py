import subprocess
import sys

import pytest

import illume
from illume import Explainer, SurrogateOptions, Training
from illume.cli import demo
from illume.errors import MissingExtraError


def test_the_demo_prints_all_kinds_of_explanation_and_writes_plots(tmp_path, monkeypatch, capsys):
    options = SurrogateOptions(n_latents=2, training=Training(max_epochs=2, max_steps=20))
    short = {"queries": 500, "surrogate_options": options}
    monkeypatch.setattr(illume, "Explainer", lambda *given, **more: Explainer(*given, **more | short))
    monkeypatch.setattr(demo, "TEST_ROWS", 20)
    demo.main(str(tmp_path), verbose=False)
    shown = capsys.readouterr().out
    assert "Contributions: exact" in shown
    assert shown.count("Test row") == 4
    assert all(word in shown for word in ("Rules of", "every rule holds", "Counterfactuals of", "⇒"))
    assert {"overview.png", "map.png", "rule-0.png", "report.html", "explorer.html"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_the_command_runs_the_demo(run, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(demo, "main", lambda folder, verbose: calls.append((folder, verbose)))
    assert run("demo", tmp_path).exit_code == 0
    assert run("demo", tmp_path, "--quiet").exit_code == 0
    assert calls == [(str(tmp_path), True), (str(tmp_path), False)]


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"illume\[demo\]"):
        demo.main(str(tmp_path))


def test_the_demo_needs_no_typer():
    code = "import sys, illume.cli.demo; sys.exit('typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

import matplotlib as mpl

from illume import demo, settings
from illume.results.effort import EFFORTS
from tests.common import FAST

mpl.use("Agg")


def test_the_demo_prints_all_kinds_of_explanation_and_writes_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(settings, "QUICK", FAST)
    monkeypatch.setitem(EFFORTS, "standard", EFFORTS["quick"])
    demo.main(str(tmp_path))
    shown = capsys.readouterr().out
    assert "held-out report rows" in shown
    assert shown.count("Test row") == 5
    assert all(word in shown for word in ("Rules of", "a typical rule", "Counterfactuals of", "⇒"))
    assert {"overview.png", "map.png", "rule-0.png", "report.html"} <= {
        path.name for path in tmp_path.iterdir()
    }

import matplotlib as mpl

from illume import demo, settings
from tests.common import FAST

mpl.use("Agg")


def test_the_demo_prints_fidelity_and_three_rows_and_writes_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(settings, "QUICK", FAST)
    demo.main(str(tmp_path))
    shown = capsys.readouterr().out
    assert "report rows, which chose nothing" in shown
    assert shown.count("Test row") == 3
    assert {"overview.png", "beeswarm.png", "row-0.png"} <= {path.name for path in tmp_path.iterdir()}

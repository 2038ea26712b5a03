import json

from benchmarks import choosing, records


def test_a_fit_that_is_told_what_the_other_chose_finds_the_same(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(choosing, "SIZES", {"tiny": (300, 6, 3)})
    words = ["choosing", "tiny", "--device", "cpu", "--repeats", "1", "--queries", "60"]
    monkeypatch.setattr("sys.argv", words)
    choosing.main()
    found = json.loads((tmp_path / "choosing.jsonl").read_text())
    assert found["same"]
    assert found["times_as_long"] == found["choosing_seconds"] / found["told_seconds"]
    assert "times_as_long" in capsys.readouterr().out

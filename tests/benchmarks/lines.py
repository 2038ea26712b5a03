"""Result lines made by hand."""

import json


def line(data="breast", black_box="xgb", method="inp", setting=None, **others):
    start = {"data": data, "black_box": black_box, "method": method, "setting": setting or {}, "seed": 0}
    start |= {"protocol": "clean", "metrics": {}, "times": {"fit_s": 1.0, "explain_s": 2.0, "rows": 114}}
    start |= {"error": None, "commit": "c0ffee", "machine": "a machine", "time": "2025-01-01T00:00:00"}
    return start | others


def store(folder, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder

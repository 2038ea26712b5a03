"""Result lines made by hand."""

import json

from benchmarks.evaluation import selection

PLACE = {"data": "m30", "model": "lightgbm"}
COMMON = {"m": 30, "threads": 2, "load": 0.1, "error": None, "peak_mb": 10.0, "commit": "c0ffee"}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path.parent


def line(data="breast", black_box="xgb", method="inp", setting=None, **others):
    start = {"data": data, "black_box": black_box, "method": method, "setting": setting or {}, "seed": 0}
    start |= {"protocol": "clean", "metrics": {}, "times": {"fit_s": 1.0, "explain_s": 2.0, "rows": 114}}
    start |= {"error": None, "commit": "c0ffee", "machine": "a machine", "time": "2025-01-01T00:00:00"}
    return start | others


def store(results, lines):
    return write(results / "cells" / "some.jsonl", lines).parent


def speed_line(method, rows, *, rate, own=None, prepare_s=1.0, timed=None):
    figures = {"rows_timed": timed or rows, "extrapolated": bool(timed), "repeats": 3, "setting": "as it is"}
    figures |= {"seconds": rows / rate, "rows_per_second": rate, "own_rows_per_second": own or rate}
    figures |= {"prepare_s": prepare_s, "first_s": prepare_s + 1 / rate, "model_share": 0.0}
    return PLACE | {"method": method, "rows": rows} | COMMON | figures


def fit_line(**figures):
    known = {"n_train": 10_000, "fit_model_s": 1.0, "agreement": 0.9, "encoder": "meta"}
    return PLACE | {"method": "fit", "rows": 0} | COMMON | known | figures


def averaged(folder, lines):
    """Return the cells of some lines, averaged over seeds."""
    return selection.cells(selection.read(store(folder, lines)))

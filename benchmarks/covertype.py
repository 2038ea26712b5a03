"""Covertype, 581,012 x 54 and seven classes, explained from Parquet to Parquet by two processes.

Time is that of a process of its own, from its start to its end, loading included; memory is what it and its
workers hold together, looked at while they run. What the black box takes for the same rows is given apart.
Packages are imported where they are used, so that the process that is measured holds only what it needs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from illume.distributed import explain_parquet

FOLDER = Path("build/covertype")


def prepare(folder: Path, trees: int) -> None:
    """Write the rows as Parquet, a model trained on a tenth of them, and its explainer."""
    import joblib
    from lightgbm import LGBMClassifier

    from benchmarks.datasets import load
    from illume import Explainer, Training

    short = Training(batch_size=256, learning_rate=3e-3, max_steps=500, decay=True, stability_rows=64)
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load("covertype")
    X.to_parquet(folder / "rows.parquet", row_group_size=65_536, index=False)
    some = X.sample(58_101, random_state=0).index
    model = LGBMClassifier(n_estimators=trees, random_state=0, n_jobs=1, verbose=-1)
    model.fit(X.loc[some], y.loc[some])
    joblib.dump(model, folder / "model.joblib")
    fitted = X.loc[some[:20_000]]
    explainer = Explainer(model, n_latents=8, queries=2_000, training=short, verbose=False).fit(fitted)
    explainer.save(folder / "covertype.illume", rules=False)


def explained(folder: Path, workers: int, float32: bool) -> dict[str, Any]:
    """Explain all rows, and say what came of it."""
    start = time.perf_counter()
    written = explain_parquet(
        folder / "rows.parquet",
        folder / "explained",
        folder / "covertype.illume",
        model=folder / "model.joblib",
        trust_model=True,
        workers=workers,
        float32=float32,
    )
    return {"rows": written.n_rows, "seconds": time.perf_counter() - start, "parts": written.n_parts}


def asked(folder: Path) -> float:
    """Return the seconds that the model alone takes on one core."""
    import joblib
    import pandas as pd

    model, X = joblib.load(folder / "model.joblib"), pd.read_parquet(folder / "rows.parquet")
    start = time.perf_counter()
    for first in range(0, len(X), 65_536):
        model.predict_proba(X.iloc[first : first + 65_536])
    return time.perf_counter() - start


def main() -> None:
    """Measure; what is prepared stays in build/covertype."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["explain"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trees", type=int, default=30, help="of each class")
    parser.add_argument("--float32", action="store_true")
    options = parser.parse_args()
    folder = FOLDER / f"trees-{options.trees}"
    if options.what == "explain":
        print(json.dumps(explained(folder, options.workers, options.float32)))
        return
    import pandas as pd

    from benchmarks import resident
    from benchmarks.records import record

    if not (folder / "covertype.illume").is_file():
        prepare(folder, options.trees)
    shutil.rmtree(folder / "explained", ignore_errors=True)
    words = ["benchmarks.covertype", "explain", "--workers", options.workers, "--trees", options.trees]
    found, seen, seconds = resident.run([*map(str, words), *["--float32"] * options.float32])
    table = pd.read_parquet(folder / "explained", columns=["agreed", "status"])
    record(
        "covertype",
        rows=found["rows"],
        features=54,
        classes=7,
        latents=8,
        workers=options.workers,
        trees=7 * options.trees,
        float32=options.float32,
        seconds=seconds,
        seconds_in_call=found["seconds"],
        processor_seconds=seen.processor_seconds,
        model_seconds_on_one_core=asked(folder),
        resident_mb=seen.together,
        resident_mb_of_a_worker=seen.workers(),
        written_mb=sum(path.stat().st_size for path in (folder / "explained").glob("*.parquet")) / 1e6,
        agreed=float(table["agreed"].mean()),
        refined=float((table["status"] == "refined").mean()),
    )


if __name__ == "__main__":
    main()

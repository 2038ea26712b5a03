"""Compare the speed of two checkouts by alternating runs of both."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROOT, Cell, Line

CHILD = Path(__file__).with_name("commits_child.py")


def commits(before: str = "", repeats: int = 3, adult: bool = False) -> Iterator[Cell]:
    """Measure this checkout and another, the folder `before`, by turns; a ratio above 1 is slower now."""
    if not (Path(before) / "src" / "illume").is_dir() or not before:
        raise SystemExit("name the folder of another checkout: --before FOLDER")
    settings = {"repeats": repeats, "adult": adult}
    yield Cell(settings, lambda: compare(Path(before).resolve(), repeats, adult))


def compare(before: Path, repeats: int, adult: bool) -> Line:
    """Return median and extreme ratios of the seconds now to the seconds before."""
    file = [str(Path(os.environ["ILLUME_DATA"]) / "adult.csv.gz")] if adult else [""]
    runs = [(time_calls(before, file), time_calls(ROOT, file)) for _ in range(repeats)]
    ratios = {call: [now[call] / then[call] for then, now in runs] for call in runs[0][1]}
    return {
        "ratio": {call: round(statistics.median(found), 3) for call, found in ratios.items()},
        "spread": {call: [round(min(found), 3), round(max(found), 3)] for call, found in ratios.items()},
        "seconds": [{"before": then, "now": now} for then, now in runs],
        "seed": 0,
    }


def time_calls(folder: Path, words: list[str]) -> dict[str, float]:
    """Return the seconds of each call in a checkout."""
    options = {"env": os.environ | {"PYTHONPATH": str(folder / "src")}, "cwd": folder, "check": True}
    answer = subprocess.run([sys.executable, CHILD, *words], capture_output=True, text=True, **options)
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "illume", "--help"], stdout=subprocess.DEVNULL, **options)
        times.append(time.perf_counter() - start)
    return found | {"illume --help": min(times)}

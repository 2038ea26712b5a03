"""What stands behind the tables of speed, in a few sentences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.speed.cells import METHODS
from benchmarks.speed.problems import LAYERS, N_LATENTS, TRAINING_ROWS, TREES
from benchmarks.speed.run import latest
from benchmarks.store import read

IDLE = 0.5  # the load of the machine above which others were at work, too


def about(results: Path) -> str:
    """Say what was measured, how each method was called, where, and how busy the machine was."""
    lines = [line for line in latest(results.parent / "speed.jsonl") if not line["error"]]
    grown = [line for line in read(results.parent / "growth.jsonl") if not line["error"]]
    parts = [MODELS, HOW, called(lines), where([*lines, *grown]), busy(lines)]
    return "\n\n".join(part for part in parts if part)


MODELS = (
    "Measured by `python -m benchmarks speed` and `growth`. The models are LightGBM "
    f"({TREES['n_estimators']} trees of depth {TREES['max_depth']} at most, with the default of 31 leaves) "
    f"and scikit-learn's MLPClassifier (hidden layers of {LAYERS[0]} and {LAYERS[1]}), fitted on "
    f"{TRAINING_ROWS:,} generated rows whose classes eight columns decide, most of them not linearly; adult "
    "has 105 one-hot encoded columns, and 39,073 rows to fit on. "
    f"illume has {N_LATENTS} latents and otherwise its defaults."
)
HOW = (
    "Every method runs on a data set and model in a fresh process, all with the same number of threads, rows "
    "given as an array of numbers. A method for batches gets all rows in one call. Of repeated calls the "
    "median counts. What would take too long is timed on fewer rows and extrapolated: in proportion, or for "
    "a method that does something once for a batch, along the line through its two largest timings; "
    "`rows_timed` in `speed.jsonl` says on how many. A first call, which may compile or load things, is "
    "timed apart, unless it took so long that there was no second one (`warm` is then false)."
)


def called(lines: list[dict[str, Any]]) -> str:
    """Say how each method was called."""
    settings = {line["method"]: line["setting"] for line in lines if line.get("setting")}
    parts = [f"- {name}: {settings[name]}" for name in METHODS if name in settings]
    return "How methods were called:\n\n" + "\n".join(parts) if parts else ""


def where(lines: list[dict[str, Any]]) -> str:
    """Say on which machines, with how many threads and of which commits."""
    sentences = []
    for name, words in (("machine", "Machines"), ("threads", "Threads"), ("commit", "Commits")):
        values = Counter(str(line[name]) for line in lines if line.get(name))
        sentences.append(f"{words}: {'; '.join(f'{v} ({n} lines)' for v, n in values.most_common())}.")
    return " ".join(sentences)


def busy(lines: list[dict[str, Any]]) -> str:
    """Say so where other work was going on: figures are then too low, and not alike for all methods."""
    loads = [line["load"] for line in lines if line.get("load", 0.0) > IDLE + line.get("threads", 0)]
    if not loads:
        return ""
    return (
        f"The machine was busy with other work while {len(loads)} of {len(lines)} lines were measured (load "
        f"up to {max(loads):.1f}): those figures only show that the benchmark runs."
    )

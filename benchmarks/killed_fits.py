"""Kill a process at random instants while it fits: started again, it must come to the same explainer.

`python -m benchmarks.killed_fits 200` prints what the kills found. Three kinds of fits take turns; each is
killed again and again, and goes on from its checkpoints, until it is done.
"""

from __future__ import annotations

import copy
import hashlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

PATIENCE = 600.0  # seconds
SHARE = 0.5  # of the time that a whole fit takes, the latest kill

# Warms up; then, for each line that comes in, forks a child that fits, and kills it after some seconds.
PROGRAM = """
import os, signal, sys, time
import torch
from benchmarks.killed_fits import fit_and_note, fitted
torch.set_num_threads(1)  # a child that is forked has no other threads
fitted(0)  # what is loaded on first use is there, too
print("ready", flush=True)
for line in sys.stdin:
    kind, seconds, folder, note = line.split()
    child = os.fork()
    if not child:
        fit_and_note(int(kind), folder, note)
        os._exit(0)
    end = time.monotonic() + float(seconds)
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < end:
        time.sleep(0.002)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


def bent(rows: Any) -> Any:
    """Answer as a model that no linear surrogate follows."""
    return 1 / (1 + np.exp(-4 * (rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2])))


def explainer(kind: int, folder: str | None) -> Any:
    """Return an unfitted explainer: one training and an encoder for rules, a sparse one, or trials."""
    from illume import Checkpoints, Explainer, Objective, Training

    small = Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_co=0.0, lambda_y=0.0, width=8)
    options: dict[str, Any] = [
        {"objective": small, "rule_objective": "so"},
        {"objective": replace(small, lambda_so=1.0, alpha=2)},
        {"objective": "joint", "n_latents": "auto"},
    ][kind]
    training = Training(batch_size=32, max_epochs=20, patience=6, decay=True, sparsity_epochs=5)
    usual = {
        "contributions": "pullback",
        "n_latents": 2,
        "queries": 40,
        "training": training,
        "verbose": False,
    }
    where = None if folder is None else Checkpoints(folder, every=0)
    return Explainer(bent, checkpoint_dir=where, **(usual | options))


def fitted(kind: int, folder: str | None = None) -> Any:
    """Fit, and grow the rules where they have an encoder of their own."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    fit = explainer(kind, folder).fit(rows)
    return fit if fit.rule_objective == "shared" else fit.fit_rules()


def timeless(fit: Any) -> str:
    """Return a hash of all that was learned, to the last bit; not of how long it took."""
    from illume.io.saving import content

    found = copy.copy(fit)
    found.quality_ = replace(found.quality_, seconds=0.0)
    if found.history_ is not None:
        epochs = tuple(replace(epoch, seconds=0.0) for epoch in found.history_)
        found.history_ = replace(found.history_, epochs=epochs)
    if hasattr(found, "rule_quality_"):
        found.rule_quality_ = replace(found.rule_quality_, seconds=0.0)
    parts = [content(found, "all"), found.local_.surrogate.coef_.tobytes()]
    if hasattr(found.local_.encoder, "weights_"):
        parts += [array.tobytes() for array in found.local_.encoder.weights_.values()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def fit_and_note(kind: int, folder: str, note: str) -> None:
    """Fit, and write down what came out of it."""
    Path(note).write_text(timeless(fitted(kind, folder)))


def _seconds(kind: int) -> float:
    """Return how long a fit with checkpoints takes that is left alone."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        fitted(kind, folder)
    return time.perf_counter() - start


def unreadable(folder: Path) -> int:
    """Count checkpoints that cannot be read."""
    from illume.data import archive
    from illume.errors import FormatError

    bad = 0
    for path in folder.glob("*.checkpoint"):
        try:
            archive.read(path)
        except FormatError:
            bad += 1
    return bad


def run(kills: int, seed: int = 0, kinds: tuple[int, ...] = (0, 1, 2)) -> Counter[str]:
    """Kill so many times; count fits that came to the same, or to another, explainer, and bad checkpoints."""
    rng = np.random.default_rng(seed)
    wanted = {kind: timeless(fitted(kind)) for kind in kinds}
    seconds = {kind: SHARE * _seconds(kind) for kind in kinds}
    found: Counter[str] = Counter()
    code = 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        tempfile.TemporaryDirectory() as top,
        subprocess.Popen([sys.executable, "-c", PROGRAM], text=True, **pipes) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        while found["killed"] < kills or code:
            n_fits = found["same"] + found["other"] + found["failed"]
            kind, folder = kinds[n_fits % len(kinds)], Path(top) / str(n_fits)
            note = folder.with_suffix(".txt")
            left_alone = found["killed"] >= kills  # the last fit comes to its end
            latest = PATIENCE if left_alone else rng.uniform(0, seconds[kind])
            process.stdin.write(f"{kind} {latest} {folder} {note}\n")
            process.stdin.flush()
            code = int(process.stdout.readline())
            found["unreadable"] += unreadable(folder)
            found["halfway through a write"] += len(list(folder.glob(".*.tmp*")))
            if code == 0:
                found["same" if note.read_text() == wanted[kind] else "other"] += 1
                found["left behind"] += len(list(folder.iterdir()))
            else:
                found["killed" if code < 0 else "failed"] += 1
                if code > 0:
                    break
                found["with a checkpoint"] += (folder / "training.checkpoint").exists()
        process.stdin.close()
    return found


def main(kills: int) -> int:
    """Print what was found; 0 if every fit came to the same explainer."""
    found = run(kills)
    print(f"{kills} kills: {dict(found)}")
    return int(found["unreadable"] + found["other"] + found["failed"] > 0 or not found["same"])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))

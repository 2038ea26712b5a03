"""Kill processes while they save or fit: files must be whole, and resumed fits must be the same."""

from __future__ import annotations

import copy
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

LONGEST_SAVE_S = 0.15
LONGEST_FIT_S = 600.0
LATEST_KILL = 0.5  # as a share of the time of a whole fit

# Loads two explainers once; for each input line, forks a child that saves them alternately.
SAVING = """
import os, sys
import illume
one, other = illume.load(sys.argv[1]), illume.load(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        while True:
            one.save(sys.argv[3], rows="all")
            other.save(sys.argv[3], rows="all")
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""

# Warms up; for each input line, forks a child that fits, and kills it after some seconds.
FITTING = """
import os, signal, sys, time
from pathlib import Path
import torch
from benchmarks.crashes import fit, fit_hash
torch.set_num_threads(1)  # a forked child has no other threads
fit(0)  # imports everything
print("ready", flush=True)
for line in sys.stdin:
    kind, seconds, folder, note = line.split()
    child = os.fork()
    if not child:
        Path(note).write_text(fit_hash(fit(int(kind), folder)))
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


def killed_saves(kills: int = 200) -> int:
    """Kill a process at random times while it saves: the file must be the old one or the new one."""
    from benchmarks.mutated_files import valid_files

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.illume" for i in range(2)]
        for path, content in zip(paths, valid_files(), strict=False):
            path.write_bytes(content)
        found = kill_saves(*paths, kills)
    print(f"{kills} kills: {dict(found)}")
    return int(found["neither"] > 0 or found["one"] + found["other"] != kills)


def kill_saves(one: Path, other: Path, kills: int, seed: int = 0) -> Counter[str]:
    """Count the files found after each kill: one, the other, or neither."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    contents = {one.read_bytes(): "one", other.read_bytes(): "other"}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "target.illume"
        target.write_bytes(one.read_bytes())
        with _program(SAVING, str(one), str(other), str(target)) as ask:
            for _ in range(kills):
                child = int(ask("go"))
                time.sleep(rng.uniform(0, LONGEST_SAVE_S))
                os.kill(child, signal.SIGKILL)
                assert ask("") == "gone"
                found[contents.get(target.read_bytes(), "neither")] += 1
        found["left behind"] = len(list(Path(folder).glob(".*.tmp*")))
    return found


def killed_fits(kills: int = 200) -> int:
    """Kill a process at random times while it fits: started again, it must give the same explainer.

    Three kinds of fits take turns; each is killed and resumed from its checkpoints until it is done.
    """
    found = kill_fits(kills)
    print(f"{kills} kills: {dict(found)}")
    return int(found["unreadable"] + found["other"] + found["failed"] > 0 or not found["same"])


def kill_fits(kills: int, seed: int = 0, kinds: tuple[int, ...] = (0, 1, 2)) -> Counter[str]:
    """Count fits that give the same or another explainer, and unreadable checkpoints."""
    rng, found, code = np.random.default_rng(seed), Counter[str](), 0
    wanted = {kind: fit_hash(fit(kind)) for kind in kinds}
    seconds = {kind: LATEST_KILL * _fit_seconds(kind) for kind in kinds}
    with tempfile.TemporaryDirectory() as top, _program(FITTING) as ask:
        while found["killed"] < kills or code:
            n_fits = found["same"] + found["other"] + found["failed"]
            kind, folder = kinds[n_fits % len(kinds)], Path(top) / str(n_fits)
            note = folder.with_suffix(".txt")
            # the last fit is not killed
            latest = LONGEST_FIT_S if found["killed"] >= kills else rng.uniform(0, seconds[kind])
            code = int(ask(f"{kind} {latest} {folder} {note}"))
            found["unreadable"] += _count_unreadable(folder)
            found["halfway through a write"] += len(list(folder.glob(".*.tmp*")))
            if code == 0:
                found["same" if note.read_text() == wanted[kind] else "other"] += 1
                found["left behind"] += len(list(folder.iterdir()))
            else:
                found["killed" if code < 0 else "failed"] += 1
                if code > 0:
                    break
                found["with a checkpoint"] += (folder / "training.checkpoint").exists()
    return found


@contextmanager
def _program(code: str, *words: str) -> Iterator[Any]:
    """Run a program; yield a function that writes a line to it, unless empty, and returns its answer."""
    command = [sys.executable, "-c", code, *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:

        def ask(line: str) -> str:
            if line:
                process.stdin.write(line + "\n")
                process.stdin.flush()
            return process.stdout.readline().strip()

        assert ask("") == "ready"
        yield ask
        process.stdin.close()


def bent_model(rows: Any) -> Any:
    """Answer as a model that no linear surrogate agrees with."""
    return 1 / (1 + np.exp(-4 * (rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2])))


def fit(kind: int, folder: str | None = None) -> Any:
    """Fit one training with an encoder for rules (0), a sparse one (1), or trials (2)."""
    from illume import Checkpoints, Explainer, Objective, RuleOptions, SurrogateOptions, Training

    small = Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_co=0.0, lambda_y=0.0, width=8)
    objective = (small, replace(small, lambda_so=1.0, alpha=2), "joint")[kind]
    training = Training(batch_size=32, max_epochs=20, patience=6, decay=True, sparsity_epochs=5)
    explainer = Explainer(
        bent_model,
        contributions="pullback",
        queries=40,
        surrogate_options=SurrogateOptions(
            objective=objective, n_latents="auto" if kind == 2 else 2, training=training
        ),
        rule_options=RuleOptions(objective="shared" if kind else "so"),
        verbose=False,
        checkpoint_dir=None if folder is None else Checkpoints(folder, every=0),
    )
    explainer.fit(np.random.default_rng(0).normal(size=(60, 3)))
    return explainer if kind else explainer.fit_rules()


def fit_hash(explainer: Any) -> str:
    """Return a hash of all that was learned, to the last bit, but not of the time that it took."""
    fitted = explainer.fitted_
    changed: dict[str, Any] = {"quality": replace(fitted.quality, seconds=0.0)}
    if fitted.history is not None:
        epochs = tuple(replace(epoch, seconds=0.0) for epoch in fitted.history)
        changed["history"] = replace(fitted.history, epochs=epochs)
    if fitted.rule_quality is not None:
        changed["rule_quality"] = replace(fitted.rule_quality, seconds=0.0)
    timeless = copy.copy(explainer)
    timeless.fitted_ = replace(fitted, **changed)
    parts = [saved_bytes(timeless, "all"), fitted.local.surrogate.coef_.tobytes()]
    parts += [array.tobytes() for array in getattr(fitted.local.encoder, "weights_", {}).values()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def saved_bytes(explainer: Any, rows: str) -> bytes:
    """Return the file of an explainer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.illume"
        explainer.save(path, rows=rows, rules=False)
        return path.read_bytes()


def _fit_seconds(kind: int) -> float:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        fit(kind, folder)
    return time.perf_counter() - start


def _count_unreadable(folder: Path) -> int:
    from illume.data import archive
    from illume.errors import FormatError

    bad = 0
    for path in folder.glob("*.checkpoint"):
        try:
            archive.read(path)
        except FormatError:
            bad += 1
    return bad

"""Kill processes while they save: files must be whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

LONGEST_SAVE_S = 0.15

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


def saved_bytes(explainer: Any, rows: str) -> bytes:
    """Return the file of an explainer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.illume"
        explainer.save(path, rows=rows)
        return path.read_bytes()

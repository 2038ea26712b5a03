"""Kill a process at random instants while it saves: the file must be the old one or the new one.

`python -m benchmarks.killed_saves 200` prints how many kills found which file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

LONGEST = 0.15  # seconds, some saves

# Loads two explainers once; then, for each line that comes in, forks a child that saves them by turns.
PROGRAM = """
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


def run(one: Path, other: Path, kills: int, seed: int = 0) -> Counter[str]:
    """Kill a saving process so many times; count the files that were found: one, other, or neither."""
    rng = np.random.default_rng(seed)
    contents = {one.read_bytes(): "one", other.read_bytes(): "other"}
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "target.illume"
        target.write_bytes(one.read_bytes())
        words = [sys.executable, "-c", PROGRAM, str(one), str(other), str(target)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(words, text=True, **pipes) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for _ in range(kills):
                process.stdin.write("go\n")
                process.stdin.flush()
                child = int(process.stdout.readline())
                time.sleep(rng.uniform(0, LONGEST))
                os.kill(child, signal.SIGKILL)
                assert process.stdout.readline() == "gone\n"
                found[contents.get(target.read_bytes(), "neither")] += 1
            process.stdin.close()
        found["left behind"] = len(list(Path(folder).glob(".*.tmp*")))
    return found


def main(kills: int) -> int:
    """Print what was found; 0 if it always was a whole file."""
    from benchmarks.mutated_files import valid_files

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.illume" for i in range(2)]
        for path, content in zip(paths, valid_files(), strict=False):
            path.write_bytes(content)
        found = run(*paths, kills)
    print(f"{kills} kills: {dict(found)}")
    return int(found["neither"] > 0 or found["one"] + found["other"] != kills)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))

"""Memory and processor time of a command and all processes it starts, looked at while it runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

EVERY = 0.05  # seconds between two looks


@dataclass
class Resident:
    """The most that was held, in MB: by all processes together, and by each; and the time each computed."""

    together: float = 0.0
    each: dict[int, float] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)

    def look(self, root: psutil.Process) -> None:
        """Look at a process and its descendants; those that end meanwhile count for nothing."""
        total = 0.0
        for process in _tree(root):
            try:
                held = process.memory_info().rss / 1e6
                spent = process.cpu_times()
                self.names.setdefault(process.pid, " ".join(process.cmdline()))
            except psutil.Error:
                continue
            total += held
            self.seconds[process.pid] = spent.user + spent.system
            self.each[process.pid] = max(held, self.each.get(process.pid, 0.0))
        self.together = max(self.together, total)

    @property
    def processor_seconds(self) -> float:
        """Return the time that all processes together computed."""
        return sum(self.seconds.values())

    def workers(self) -> float:
        """Return the most that one process started by `multiprocessing` held."""
        return max((mb for pid, mb in self.each.items() if "spawn_main" in self.names[pid]), default=0.0)


def run(words: Sequence[str]) -> tuple[dict[str, Any], Resident, float]:
    """Run a module; return the JSON in its last line, its memory, and its seconds from start to end."""
    start, seen = time.perf_counter(), Resident()
    child = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True)
    root = psutil.Process(child.pid)
    while child.poll() is None:
        seen.look(root)
        time.sleep(EVERY)
    seconds = time.perf_counter() - start
    assert child.stdout is not None
    said = child.stdout.read().strip().splitlines()
    if child.returncode:
        raise SystemExit(f"{' '.join(words)} ended with code {child.returncode}")
    return json.loads(said[-1]), seen, seconds


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []

"""The command `illume`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from illume.errors import MissingExtraError

SPIN_TICKS = "20"  # 2**20 clock ticks, less than a millisecond


def main() -> None:
    """Run the command line."""
    # By default, OpenBLAS threads that a model has used keep spinning for longer than illume's own threads
    # need for a chunk of rows. OpenBLAS reads this variable when NumPy is imported.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPIN_TICKS)
    if find_spec("typer") is None:
        sys.stderr.write(f"error: {MissingExtraError.of('typer', 'cli')}\n")
        sys.exit(1)
    try:
        from illume.cli.app import app

        app(prog_name="illume")
    except KeyboardInterrupt:  # while modules are still being imported
        sys.exit(130)

"""Where the command `illume` begins."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from illume.errors import MissingExtraError

SOON = "20"  # 2**20 ticks of the clock, less than a millisecond


def main() -> None:
    """Run the command line, or say what it needs."""
    # Threads of linear algebra that a model has used look out for more work, by default for longer than a
    # piece of rows takes to be explained, in threads of illume's own. It is read when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SOON)
    if find_spec("typer") is None:
        sys.stderr.write(f"error: {MissingExtraError.of('typer', 'cli')}\n")
        sys.exit(1)
    try:
        from illume.cli.app import app

        app(prog_name="illume")
    except KeyboardInterrupt:  # while modules were still being loaded
        sys.exit(130)

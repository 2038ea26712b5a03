"""The command `illume`."""

from __future__ import annotations

import os
import sys

from illume.errors import MissingExtraError, import_extra

SPIN_TICKS = "20"  # 2**20 clock ticks, less than a millisecond


def main() -> None:
    """Run the command line."""
    # By default, OpenBLAS threads that a model has used keep spinning for longer than illume's own threads
    # need for a chunk of rows. OpenBLAS reads this variable when NumPy is imported.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPIN_TICKS)
    try:
        import_extra("typer", "cli")
        from illume.cli.app import app

        app(prog_name="illume")
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:  # while modules are still being imported
        sys.exit(130)

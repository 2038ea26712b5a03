"""Where the command `illume` begins."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from illume.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say what it needs."""
    if find_spec("typer") is None:
        sys.stderr.write(f"error: {MissingExtraError.of('typer', 'cli')}\n")
        sys.exit(1)
    try:
        from illume.cli.app import app

        app(prog_name="illume")
    except KeyboardInterrupt:  # while modules were still being loaded
        sys.exit(130)

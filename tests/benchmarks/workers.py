"""Work for processes of a test: it must be importable there."""

import os


def fatal(cell):
    """Take the whole process down on one cell, as running out of memory would."""
    if cell.data == "deadly":
        os._exit(1)
    return {"metrics": {"x": 1.0}, "times": {}, "error": None}

"""Print what an extra of the project asks for, so that it can be installed without the project itself."""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def extra(name: str) -> list[str]:
    """Return the requirements of an extra."""
    found: list[str] = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"][name]
    return found


if __name__ == "__main__":
    sys.stdout.write(" ".join(extra(sys.argv[1])))

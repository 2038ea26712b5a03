"""Versions of libraries that are installed; torch, for one, need not be."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def installed(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those libraries that are installed.

    >>> list(installed(["numpy", "no-such-library"]))
    ['numpy']
    """
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

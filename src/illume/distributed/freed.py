"""Memory that a worker frees stays with it for the next piece, where the C library can be told so."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as malloc.h of glibc numbers them
MOST = 2**25  # bytes; the most that glibc takes, and what it comes to by itself
USUAL = 2**17  # bytes; where glibc begins to ask the system, unless told otherwise
TOLD = "MALLOC_TRIM_THRESHOLD_"


@contextlib.contextmanager
def freed_kept() -> Iterator[None]:
    """Let arrays of up to 32 MB come from memory that was used before, while the block runs.

    So does glibc by itself, unless it was told when to give memory back; Dask tells it to do so soon. Then
    every array is new memory, page by page, and explaining takes half as long again. Afterwards what it was
    told holds again.
    """
    _tell(MOST, 2 * MOST)
    try:
        yield
    finally:
        told = os.environ.get(TOLD, "")
        if told.isdecimal():
            _tell(USUAL, int(told))


def _tell(mapped: int, trimmed: int) -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems, other C libraries
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, mapped)
        mallopt(TRIM_THRESHOLD, trimmed)

"""Memory that a worker frees stays with it for the next piece, where the C library can be told so."""

from __future__ import annotations

import contextlib
import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as malloc.h of glibc numbers them
MOST = 2**25  # bytes; the most that glibc takes, and what it comes to by itself


def keep_freed() -> None:
    """Let arrays of up to 32 MB come from memory that was used before.

    So does glibc by itself, unless it was told when to give memory back; Dask tells it to do so soon. Then
    every array is new memory, page by page, and explaining takes half as long again.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems, other C libraries
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, MOST)
        mallopt(TRIM_THRESHOLD, 2 * MOST)

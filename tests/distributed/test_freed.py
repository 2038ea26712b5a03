import os
import platform
import subprocess
import sys

import pytest

LOOK = """
import resource, sys, threading
import numpy as np
from illume.distributed.freed import freed_kept

if sys.argv[1] in ("kept", "kept before"):
    kept = freed_kept()
    kept.__enter__()
if sys.argv[1] == "kept before":
    kept.__exit__(None, None, None)

def work():
    for _ in range(200):
        np.ones(2**17)  # 1 MB, 256 pages

thread = threading.Thread(target=work)  # as Dask does
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
thread.start()
thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries cannot be told")
def test_freed_memory_is_used_again_although_the_process_was_told_to_give_it_back():
    told = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}

    def pages(how):
        words = [sys.executable, "-c", LOOK, how]
        return int(subprocess.run(words, env=told, capture_output=True, text=True, check=True).stdout)

    assert pages("given back") > 200 * 200
    assert pages("kept") < 10 * 256
    assert pages("kept before") > 200 * 200

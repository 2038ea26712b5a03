"""Progress of long work: a bar on a terminal or in a notebook, lines in the log elsewhere."""

from __future__ import annotations

import logging
import math
import time
from importlib.util import find_spec
from typing import Any

if find_spec("ipywidgets") is None:  # tqdm.auto would warn in a notebook
    from tqdm import tqdm as _tqdm
else:
    from tqdm.auto import tqdm as _tqdm

LOG = logging.getLogger(__name__)
SECONDS = 10.0  # between two lines


class tqdm(_tqdm):  # noqa: N801 -- it is tqdm's
    """A bar that logs lines instead, where `disable=None` found no terminal to show it on."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logs = self.disable and options.get("disable") is None
        self.what, self.whole = options.get("desc", "working"), options.get("total")
        self.done, self.start, self.said = 0.0, time.monotonic(), -math.inf

    def update(self, n: float | None = 1) -> bool | None:
        """Count what is done; say at once if it will take long, and then every few seconds."""
        if self.logs:
            self.done += n or 0
            now = time.monotonic()
            long = (now - self.start) * (self.whole or 0) >= SECONDS * max(self.done, 1e-9)
            if now - max(self.said, self.start) >= SECONDS or (self.said < self.start and long):
                self.said = now
                LOG.info("%s: %s", self.what, describe(self.done, self.whole, now - self.start))
        found: bool | None = super().update(n)
        return found


def log_lines(what: str, whole: float | None = None) -> tqdm:
    """Return a bar that is never drawn: where work takes long, it logs lines."""
    bar = tqdm(desc=what, total=whole, disable=True)
    bar.logs = True
    return bar


def describe(done: float, whole: float | None, seconds: float) -> str:
    """Return how far work is, and about how long it will take.

    >>> describe(25, 100, 12.0), describe(7, None, 12.0)
    ('25 % after 12 s, about 36 s left', '7 after 12 s')
    """
    if not whole or done <= 0:
        return f"{done:,.0f} after {seconds:.0f} s"
    left = seconds * max(whole - done, 0) / done
    return f"{done / whole:.0%} after {seconds:.0f} s, about {left:.0f} s left".replace("%", " %")

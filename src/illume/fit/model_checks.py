"""Whether a model answers a row alike when it is asked again, alone, or in another order."""

from __future__ import annotations

import time

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.black_box import BlackBox
from illume.data.frames import Frame
from illume.data.sampling import evenly_spaced
from illume.errors import BlackBoxError, IgnoredColumnsWarning, NoisyModelWarning, warn
from illume.explanations.compare_answers import TOLERANCE
from illume.results.noise import Noise
from illume.results.quality import Quality

ROWS, FEWEST_ROWS, ALONE = 64, 8, 4
SECONDS = 10.0  # that the checks may take about
NOTABLE = 1e-3  # of what counts as a large difference; less is the noise of single precision
ROUNDING = 0.02  # of it; less, in another batch, may be the rounding of half precision
FACTOR = 5.0  # by which the noise of another order must exceed that of asking again, to be no chance


def check_model(black_box: BlackBox, frame: Frame, P: FloatArray) -> Noise | None:
    """Ask some rows again, in reverse order and alone; return the noise of the answers, None without any.

    Raise if answers depend on the other rows of a batch or on their order. P are the answers to all rows.
    """
    outputs = black_box.require_outputs()
    start = time.perf_counter()
    few = evenly_spaced(len(frame), FEWEST_ROWS)
    black_box(frame.take(few))
    seconds = (time.perf_counter() - start) / len(few)
    affordable = int(SECONDS / (4 * max(seconds, 1e-9)))
    rows = evenly_spaced(len(frame), max(FEWEST_ROWS, min(ROWS, affordable)))
    some, back = frame.take(rows), np.arange(len(rows))[::-1]
    first = black_box(some)
    again = _differences(black_box(some), first, outputs.unit)
    alone = evenly_spaced(len(rows), ALONE)
    single = np.concatenate([black_box(some.slice(int(i), int(i) + 1)) for i in alone])
    moved = {
        "in reverse order": _differences(black_box(some.take(back))[back], first, outputs.unit),
        "in a batch of all rows": _differences(P[rows], first, outputs.unit),
        "alone": _differences(single, first[alone], outputs.unit),
    }
    for how, off in moved.items():
        _require_independent(how, off, again, float(outputs.unit.max()))
    off = np.maximum(again, moved["in a batch of all rows"])
    off[alone] = np.maximum(off[alone], moved["alone"])
    if off.max() <= TOLERANCE:
        return None
    different = float((~outputs.alike(P[rows], first)).mean())
    return Noise(float(off.max()), float(np.median(off)), different, len(rows))


def _differences(P: FloatArray, Q: FloatArray, unit: FloatArray) -> FloatArray:
    """Return how far answers (n, c) are apart, row by row, in units (n,)."""
    return np.asarray((np.abs(P - Q) / unit).max(1))


def _require_independent(how: str, off: FloatArray, again: FloatArray, scale: float) -> None:
    """Raise if rows get other answers than before, by more than asking again explains."""
    if off.max() <= ROUNDING or off.mean() <= FACTOR * again.mean():
        return
    rows: IntArray = np.flatnonzero(off > NOTABLE)
    raise BlackBoxError(
        f"the model's answer to a row depends on the other rows it is asked with, or on their order: asked "
        f"{how}, {len(rows)} of {len(off)} rows got other answers than among {len(again)}, by up to "
        f"{off.max() * scale:.2g}; it must answer each row by itself, in the order of the rows, and may not "
        f"sort, drop or scale rows within a batch"
    )


def warn_of_model(quality: Quality) -> None:
    """Warn of answers that are random, and of columns that the model ignores."""
    if quality.noise is not None and quality.noise.largest > NOTABLE:
        warn(
            f"{quality.noise.describe(quality.outputs)}; explanations are about one answer to each row: fix "
            "the model's seed, or let it average several answers",
            NoisyModelWarning,
        )
    if quality.ignored:
        advice = "leave them out, or find out why the model does not use them"
        warn(f"{quality.ignored_text}; {advice}", IgnoredColumnsWarning)

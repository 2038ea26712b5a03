"""The problems of the evaluation, by name."""

from __future__ import annotations

import re

from benchmarks.data import real, seneca_rb, seneca_rc
from benchmarks.data.problem import Problem
from benchmarks.data.real import RANKINGS, REAL

PROTOCOLS = ("clean", "paper")
SIZES = ((4, 0), (8, 0), (16, 0), (16, 16), (16, 48))  # informative and uninformative columns
SENECA_RC = tuple(f"seneca-rc-{t}+{u}-{number}" for t, u in SIZES for number in range(5))
SENECA_RB = tuple(f"seneca-rb-{t}+{u}-{number}" for t, u in SIZES for number in range(5))
FAMILIES = {"real": REAL, "rankings": RANKINGS, "seneca-rc": SENECA_RC, "seneca-rb": SENECA_RB}


def problem(data: str, black_box: str, seed: int, protocol: str) -> Problem:
    """Return a problem; the same arguments give the same problem in any process."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {PROTOCOLS}, not {protocol!r}")
    if data in (*REAL, *RANKINGS):
        return real.problem(data, black_box, seed, protocol)
    named = re.fullmatch(r"seneca-(rc|rb)-(\d+)\+(\d+)-(\d+)", data)
    if not named:
        raise ValueError(f"no data set is called {data!r}")
    if black_box != "truth":
        raise ValueError(f"the black box of {data} is 'truth', not {black_box!r}")
    t, u, number = map(int, named.groups()[1:])
    kind = seneca_rc if named[1] == "rc" else seneca_rb
    return kind.problem(data, t, u, number, seed=seed, protocol=protocol)

import time

import numpy as np
import pytest
from benchmarks.stage_times import Times, stage_times

from illume import Explainer


def test_the_stages_of_a_fit_add_up_to_its_time():
    X = np.random.default_rng(0).normal(size=(80, 3))
    start = time.perf_counter()
    with stage_times() as stages:
        Explainer(lambda rows: 1 / (1 + np.exp(-4 * rows[:, 0])), encoder="identity").fit(X)
    seconds = time.perf_counter() - start
    assert {"black box", "surrogates", "trust map", "quality"} <= stages.keys()
    assert sum(stages.values()) == pytest.approx(seconds, rel=0.2)


def test_a_stage_does_not_count_what_runs_inside_it(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 6.0, 10.0, 15.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    times = Times()
    inner = times.timed(lambda: None, "inner")
    times.timed(inner, "outer")()
    times.turn()
    assert dict(times.seconds) == {"others": 1.0 + 5.0, "outer": 2.0 + 4.0, "inner": 3.0}

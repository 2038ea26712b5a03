import os

import pytest

from benchmarks import crashes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks the fits that are killed")
def test_a_process_that_is_killed_while_fitting_goes_on_to_the_same_explainer():
    found = crashes.kill_fits(kills=8, kinds=(1,))
    assert found["killed"] == 8
    assert found["same"] >= 1
    assert found["with a checkpoint"] >= 1
    assert found["unreadable"] + found["other"] + found["failed"] + found["left behind"] == 0

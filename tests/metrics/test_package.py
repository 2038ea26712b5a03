import subprocess
import sys

import pytest

from illume import metrics
from illume.metrics import fidelity


def test_every_metric_can_be_had_from_the_package():
    assert all(getattr(metrics, name).__name__ == name for name in metrics.__all__)
    assert dir(metrics) == sorted(metrics.__all__)
    assert metrics.agreement is fidelity.agreement
    with pytest.raises(AttributeError, match="no attribute 'fame'"):
        metrics.fame  # noqa: B018


def test_metrics_need_no_torch_and_load_nothing_before_they_are_used():
    code = (
        "import sys, illume.metrics as m; print({'torch', 'sklearn', 'scipy'} & set(sys.modules));"
        "[getattr(m, name) for name in m.__all__]; print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["set()", "False"]

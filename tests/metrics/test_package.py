import subprocess
import sys

from illume import metrics


def test_every_metric_can_be_had_from_the_package():
    assert all(getattr(metrics, name).__name__ == name for name in metrics.__all__)


def test_metrics_need_no_torch_and_load_scipy_and_scikit_learn_only_when_used():
    code = "import sys, illume.metrics; print({'torch', 'sklearn', 'scipy'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"

"""The wheel works in a clean environment with nothing but what it asks for."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import importlib.util, numpy as np, illume
assert importlib.util.find_spec("pandas") is None
X = np.random.default_rng(0).normal(size=(60, 3))
model = lambda rows: 1 / (1 + np.exp(-3 * rows[:, 0]))
options = illume.SurrogateOptions(n_latents=2, training=illume.Training(max_epochs=2))
explainer = illume.Explainer(model, queries=50, surrogate_options=options).fit(X)
print(explainer(X)[0])
try:
    explainer(X).to_frame()
except illume.errors.MissingExtraError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_wheel_installs_and_explains_in_a_clean_environment(tmp_path):
    def run(*words, **options):
        return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout

    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("illume-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    shown = run(python, "-c", PROGRAM, cwd=tmp_path)
    assert "contributions: " in shown
    assert 'pip install "illume[pandas]"' in shown

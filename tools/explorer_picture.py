"""The picture of the explorer in README and its guide: the demo's model, a row as it is."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume


def main(path: str, width: str = "1440", height: str = "900") -> None:
    """Write an explorer, and let Chromium draw it."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    explainer = illume.Explainer(model, effort="quick", queries=50_000, verbose=False).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        page = explainer.explorer(X[::4], Path(folder) / "explorer.html", title="Breast cancer: what if?")
        size = f"--window-size={width},{height}"
        where = f"--screenshot={Path(path).resolve()}"
        words = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=5000"]
        subprocess.run(["chromium", *words, size, where, page.as_uri()], check=True, timeout=120)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The picture of README and of the home page: what moved one decision, and all of them, with the default."""

import sys

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import illume

mpl.use("Agg")
import matplotlib.pyplot as plt


def main(path: str) -> None:
    """Fit as README does, and draw."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    attributions = illume.Explainer(model).fit(X)(X)
    figure, (one, all_rows) = plt.subplots(1, 2, figsize=(13.5, 4.6), layout="constrained")
    illume.plots.waterfall(attributions[0], ax=one)
    illume.plots.beeswarm(attributions, ax=all_rows)
    figure.savefig(path, dpi=110)
    sys.stdout.write(f"{attributions[0]}\n")


if __name__ == "__main__":
    main(sys.argv[1])

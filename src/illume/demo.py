"""A demonstration: explain a gradient-boosting model of breast cancer, in text and in pictures."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from illume import Explainer, plots
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactual
from illume.results.rules import Rule


def main(folder: str = "demo", *, verbose: bool = True) -> None:
    """Fit, explain, print, write pictures and a report to `folder`; `verbose` shows the training."""
    start = time.perf_counter()
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, labels, stratify=labels, test_size=0.25, random_state=0
    )
    model = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    print(
        f"Black box: gradient boosting, accuracy {model.score(X_test, y_test):.3f} on {len(X_test)} test rows"
    )

    explainer = Explainer(model, verbose=verbose).fit(X_train)
    attributions = explainer(X_test)

    print(f"\n{explainer.quality_}\n\n{attributions}\n")
    disagreed = np.flatnonzero(~attributions.agreed).tolist()
    for i in [0, 1, *(disagreed or [2])[:1]]:
        print(f"Test row {i}: {attributions[i]}\n")
    rules = explainer.rules(X_test)
    print(f"{explainer.rule_quality_}\n\n{rules}\n\nTest row 0: {rules[0]!r}\n\n{explainer.rule_set()}\n")
    found = explainer.counterfactuals(X_test, n=2)
    print(f"{found}\n\nTest row 0: {found[0]}\n")
    written = write_pictures(explainer, attributions, Path(folder))
    written += write_more(explainer, X_test, rules[0], found[0], Path(folder))
    names = ", ".join(path.name for path in written)
    print(f"Pictures in {folder}/: {names}")
    report = explainer.report(X_test, Path(folder) / "report.html", title="Breast cancer")
    print(f"A report to open in a browser: {report}")
    print(f"All done in {time.perf_counter() - start:.0f} s")


def write_pictures(explainer: Explainer, attributions: Attributions, folder: Path) -> list[Path]:
    """Draw the batch and three rows, and the training; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        "importance": plots.bar(attributions),
        "beeswarm": plots.beeswarm(attributions),
        "row-0": plots.waterfall(attributions[0]),
        "row-1": plots.waterfall(attributions[1]),
        "row-2": plots.waterfall(attributions[2]),
    }
    if explainer.history_ is not None:
        drawn["training"] = plots.history(explainer.history_)
    overview = Figure(figsize=(13.5, 4.6), layout="constrained")
    one, all_rows = overview.subplots(ncols=2)
    plots.waterfall(attributions[0], ax=one)
    drawn["overview"] = plots.beeswarm(attributions, ax=all_rows)
    return _written(drawn, folder)


def write_more(
    explainer: Explainer, frame: Any, rule: Rule, counterfactual: Counterfactual, folder: Path
) -> list[Path]:
    """Draw what only this method has: the rows' places and maps, a rule and its counterfactual."""
    latents = explainer.latents(frame, maps=True)
    drawn = {
        "map": plots.latent_map(latents, highlight=0),
        "how": plots.exemplification(latents[0])[0],
        "rule-0": plots.rule(rule, frame),
        "counterfactual-0": plots.counterfactual(counterfactual),
    }
    return _written(drawn, folder)


def _written(drawn: dict[str, Axes], folder: Path) -> list[Path]:
    paths = [folder / f"{name}.png" for name in drawn]
    for path, ax in zip(paths, drawn.values(), strict=True):
        cast(Figure, ax.figure).savefig(path, dpi=120)
    return paths


if __name__ == "__main__":
    main(*sys.argv[1:])

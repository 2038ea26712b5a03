"""A demonstration: explain a gradient boosting model of breast cancer in text and plots."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from illume.errors import import_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from illume import Explainer
    from illume.results.attributions import Attributions
    from illume.results.counterfactuals import Counterfactual
    from illume.results.rules import Rule

TEST_ROWS = 143  # a quarter


def main(folder: str = "demo", *, verbose: bool = True) -> None:
    """Fit, explain, print, and write plots, a report and an explorer; `verbose` shows the training."""
    for package in ("pandas", "matplotlib"):
        import_extra(package, "demo")
    import matplotlib as mpl
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    from illume import Explainer

    mpl.use("Agg")
    start = time.perf_counter()
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, labels, stratify=labels, test_size=TEST_ROWS, random_state=0
    )
    model = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    accuracy = model.score(X_test, y_test)
    print(f"Model: gradient boosting, accuracy {accuracy:.3f} on {len(X_test)} test rows")

    explainer = Explainer(model, effort="quick", verbose=verbose).fit(X_train)
    attributions = explainer(X_test)
    print(f"\n{explainer.quality_}\n\n{attributions}\n")
    for i in range(2):
        print(f"Test row {i}: {attributions[i]}\n")
    print("Training the latent surrogate, behind rules and latents, and growing rules")
    rules = explainer.rules(X_test)
    print(f"{explainer.rule_quality_}\n\n{rules}\n\nTest row 0: {rules[0]!r}\n\n{explainer.rule_set()}\n")
    counterfactuals = explainer.counterfactuals(X_test, n=2)
    print(f"{counterfactuals}\n\nTest row 0: {counterfactuals[0]}\n")

    plots = draw(explainer, attributions, X_test, rules[0], counterfactuals[0])
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, ax in plots.items():
        cast("Figure", ax.figure).savefig(Path(folder) / f"{name}.png", dpi=120)
    print(f"Plots in {folder}/: {', '.join(f'{name}.png' for name in plots)}")
    report = explainer.report(X_test, Path(folder) / "report.html", title="Breast cancer")
    print(f"Report to open in a browser: {report}")
    page = explainer.explorer(X_test, Path(folder) / "explorer.html", title="Breast cancer: what if?")
    print(f"Explorer, to change values and see what follows: {page}")
    print(f"Done in {time.perf_counter() - start:.0f} s")


def draw(
    explainer: Explainer, attributions: Attributions, frame: Any, rule: Rule, counterfactual: Counterfactual
) -> dict[str, Axes]:
    """Draw the batch, three rows, the training, the latent space, a rule and its counterfactual."""
    from matplotlib.figure import Figure

    from illume import plots

    drawn = {
        "importance": plots.bar(attributions),
        "beeswarm": plots.beeswarm(attributions),
        **{f"row-{i}": plots.waterfall(attributions[i]) for i in range(3)},
    }
    if explainer.history_ is not None:
        drawn["training"] = plots.history(explainer.history_)
    left, right = Figure(figsize=(13.5, 4.6), layout="constrained").subplots(ncols=2)
    plots.waterfall(attributions[0], ax=left)
    latents = explainer.latents(frame, maps=True)
    return drawn | {
        "overview": plots.beeswarm(attributions, ax=right),
        "map": plots.latent_map(latents, highlight=0),
        "how": plots.exemplification(latents[0])[0],
        "rule-0": plots.rule(rule, frame),
        "counterfactual-0": plots.counterfactual(counterfactual),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])

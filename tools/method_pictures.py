"""The pictures of docs/method.md: what each step of the method does, on rows of two columns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

import illume

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = ("#d55e00", "#0072b2")
LOOSE = replace(illume.Objective.preset("aligned"), lambda_st=1.0, lambda_n=0.0)
SHADES = ListedColormap(["#f9dfcc", "#d6e8f4"])


@dataclass(frozen=True, eq=False)
class Case:
    """Rows of two columns, a model of them, and its explainer."""

    X: pd.DataFrame
    model: Any
    explainer: illume.Explainer

    @classmethod
    def moons(cls) -> Case:
        """Make two half moons, a forest that tells them apart, and an explainer with two latents."""
        points, y = make_moons(700, noise=0.15, random_state=3)
        X = pd.DataFrame(points, columns=["width", "height"])
        model = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
        model.fit(X, np.where(y, "below", "above"))
        explainer = illume.Explainer(
            model, queries=30_000, surrogate_options=illume.SurrogateOptions(n_latents=2, objective=LOOSE)
        )
        return cls(X, model, explainer.fit(X))


def ground(case: Case, ax: Axes, *, rows: bool = True) -> None:
    """Shade what the model decides where, and draw the rows."""
    across, up = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.3, 1.8, 160))
    places = pd.DataFrame({"width": across.ravel(), "height": up.ravel()})
    decided = (case.model.predict(places) == "below").reshape(across.shape)
    ax.pcolormesh(across, up, decided, cmap=SHADES, rasterized=True)
    if rows:
        below = case.model.predict(case.X) == "below"
        colours = np.array(COLOURS)[below.astype(int)]
        ax.scatter(case.X["width"], case.X["height"], s=5, c=colours, alpha=0.5, linewidths=0)
    ax.set(xlabel="width", ylabel="height", xlim=(-1.8, 2.8), ylim=(-1.3, 1.8))


def maps(case: Case) -> None:
    """Draw the slopes of rows: which way the log-odds grow."""
    _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    ground(case, ax)
    across, up = np.meshgrid(np.linspace(-1.5, 2.5, 13), np.linspace(-1.0, 1.5, 9))
    places = pd.DataFrame({"width": across.ravel(), "height": up.ravel()})
    slopes = case.explainer(places).slopes_per_unit
    length = np.linalg.norm(slopes, axis=1, keepdims=True)
    ax.quiver(*places.to_numpy().T, *(slopes / length).T, length[:, 0], cmap="Greys", scale=26, width=0.005)
    ax.set_title("Which way the log-odds of 'below' grow; darker is steeper")


def latents(case: Case) -> None:
    """Draw the rows before and after their maps."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[1, 1.05])
    figure.get_layout_engine().set(wspace=0.06)
    ground(case, left)
    left.set_title("inputs x, and what the model decides")
    illume.plots.latent_map(case.explainer.latents(case.X), ax=right)
    right.set_title("latents z = W(x) x, and what the surrogate decides")


def refinement(case: Case) -> None:
    """Draw rows that were refined, with the training row that each was moved towards."""
    _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    ground(case, ax)
    attributions = case.explainer(case.X)
    points = case.X.to_numpy()
    for i in np.flatnonzero(attributions.refinement.refined):
        near = points[attributions.refinement.neighbour[i]]
        ax.annotate("", xy=near, xytext=points[i], arrowprops={"arrowstyle": "->", "color": "#262626"})
    refined = points[attributions.refinement.refined]
    ax.scatter(*refined.T, s=40, facecolors="none", edgecolors="#262626")
    ax.set_title(f"{len(refined)} of {len(points)} rows disagreed; each was refined towards a neighbour")


def rules(case: Case) -> None:
    """Draw the rules of some rows as boxes, the tree's own and polished."""
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    picked = case.X.iloc[[3, 11, 25, 40, 58]]
    for ax, polish in zip(axes, (False, True), strict=True):
        ground(case, ax)
        for rule, place in zip(case.explainer.rules(picked, polish=polish), picked.to_numpy(), strict=True):
            low, high = {"width": -1.8, "height": -1.3}, {"width": 2.8, "height": 1.8}
            for condition in rule.conditions:
                low[condition.name] = max(low[condition.name], condition.low)
                high[condition.name] = min(high[condition.name], condition.high)
            corner = low["width"], low["height"]
            sides = high["width"] - low["width"], high["height"] - low["height"]
            colour = COLOURS[rule.decision == "below"]
            ax.add_patch(plt.Rectangle(corner, *sides, fill=False, edgecolor=colour, lw=1.6))
            ax.plot(*place, "o", color=colour, markeredgecolor="white")
        ax.set_title("polished for precision and coverage" if polish else "the tree's own, pulled back")


def counterfactuals(case: Case) -> None:
    """Draw from some rows to their counterfactuals."""
    _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    ground(case, ax)
    picked = case.X.iloc[:14]
    found = case.explainer.counterfactuals(picked, n=1)
    ends = found.examples[["width", "height"]].to_numpy()
    for row, end in zip(found.row, ends, strict=True):
        start = picked.iloc[row].to_numpy()
        ax.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": "#262626"})
        ax.plot(*start, "o", color="#262626", markersize=4)
    ax.set_title("From rows to the nearest change that the model decides otherwise")


PICTURES: tuple[Callable[[Case], None], ...] = (maps, latents, refinement, rules, counterfactuals)


def main(folder: Path) -> None:
    """Write all pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    case = Case.moons()
    sys.stdout.write(f"{case.explainer.quality_}\n")
    for draw in PICTURES:
        draw(case)
        plt.savefig(folder / f"{draw.__name__}.png", dpi=100)
        plt.close("all")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
